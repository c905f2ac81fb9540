package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// interpreter is a Python that the user has.
type interpreter struct {
	Executable string   `json:"executable"`
	Version    string   `json:"version"`
	Prefixes   []string `json:"prefixes"` // where it is installed: its own place, and that which a venv is based on
	Path       []string `json:"path"`     // where it looks for modules
	Home       string   `json:"home"`

	folders []string // that a sandbox must show besides the system's
}

// describe makes a Python describe itself. It ends in a line of JSON.
const describe = `import json, os, sys
print(json.dumps({"executable": sys.executable, "version": "%d.%d.%d" % sys.version_info[:3],
"prefixes": [sys.prefix, sys.base_prefix, os.path.realpath(sys.prefix), os.path.realpath(sys.base_prefix)],
"path": [p for p in sys.path if p and os.path.exists(p)], "home": os.path.expanduser("~")}))`

// findPython runs a Python once to learn where it lives. name is a program or a path.
func findPython(ctx context.Context, name string) (*interpreter, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, "-E", "-c", describe)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("tool: there is no %q; install Python 3, or name one with python=PATH", name)
	case errors.As(err, &exit):
		return nil, fmt.Errorf("tool: %s does not work as a Python: %w: %s", name, err,
			strings.TrimSpace(string(exit.Stderr)))
	case err != nil:
		return nil, fmt.Errorf("tool: %s: %w", name, err)
	}
	p := new(interpreter)
	if err := json.Unmarshal(out, p); err != nil || p.Executable == "" {
		return nil, fmt.Errorf("tool: %s does not describe itself as a Python would: %.200q", name, out)
	}
	p.folders, err = p.toShow()
	return p, err
}

// toShow are the folders of an interpreter that a sandbox does not show anyway. A Python that lives in the home folder
// itself would show all of that, and is refused.
func (p *interpreter) toShow() ([]string, error) {
	var list []string
	for _, dir := range p.Prefixes {
		dir = filepath.Clean(dir)
		if covers(dir, p.Home) {
			return nil, fmt.Errorf("tool: %s is installed in %s itself, which a sandbox must not show; name a Python "+
				"in a folder of its own with python=PATH", p.Executable, dir)
		}
		list = append(list, dir)
	}
	for _, dir := range p.Path {
		if dir = filepath.Clean(dir); !covers(dir, p.Home) {
			list = append(list, dir)
		}
	}
	slices.Sort(list) // a folder comes before its contents
	var kept []string
	for _, dir := range list {
		in := func(of string) bool { return covers(of, dir) }
		if !slices.ContainsFunc(kept, in) && !slices.ContainsFunc([]string{"/usr", "/bin", "/sbin", "/lib", "/lib64",
			"/nix/store", "/gnu/store"}, in) {
			kept = append(kept, dir)
		}
	}
	return kept, nil
}

// covers reports whether a path lies in a folder or is the folder.
func covers(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}
