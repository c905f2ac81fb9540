package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf/gguftest"
	"github.com/seed-d9ad8ee0/trinity/internal/sandbox"
	"github.com/seed-d9ad8ee0/trinity/rl/python/pythontest"
	"github.com/seed-d9ad8ee0/trinity/rl/tool"
)

func TestMain(m *testing.M) {
	if code, is := tool.Stage(os.Args); is { // of the command, which is this program too
		os.Exit(code)
	}
	programs := map[string]func(){"trinity": main}
	for name, settle := range standIns {
		programs[name] = func() {
			s, err := settle()
			s.main(name, err)
		}
	}
	testscript.Main(m, programs)
}

// TestScripts runs the program as a user would, outside a clone: the example it carries is unpacked into a cache of its
// own. The scripts show the message for each mistake.
func TestScripts(t *testing.T) {
	pythontest.Direct()
	tiny := gguftest.Model{Arch: "llama", Type: gguf.Q8_0}.Bytes(t)
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("HF_HUB_OFFLINE", "1") // unless a script says otherwise
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, "cache"))
			release, err := filepath.Abs(filepath.Join("..", "release"))
			e.Setenv("RELEASE", release)
			return err
		},
		Condition: func(name string) (bool, error) { // sandbox: code can be kept apart from this machine
			if name != "sandbox" {
				return false, fmt.Errorf("no condition is named %s", name)
			}
			_, err := sandbox.Open(context.Background(), sandbox.Options{Staged: true})
			return err == nil, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"cut": cut, "flip": flip, "killed": killed, "interrupted": interrupted, "samemetrics": samemetrics,
			"serving": serving, "misused": misused,
			"gguf": func(ts *testscript.TestScript, _ bool, args []string) { // writes a small model
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), tiny, 0o644))
			},
		},
	})
}

// misused runs trinity with wrong usage, which exits with 2.
func misused(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec("trinity", args...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 {
		ts.Fatalf("trinity %s: %v, want the exit code 2", strings.Join(args, " "), err)
	}
}

// cut shortens a file to half its length.
func cut(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	st, err := os.Stat(path)
	ts.Check(err)
	ts.Check(os.Truncate(path, st.Size()/2))
}

// flip changes one bit of a file's header.
func flip(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	data, err := os.ReadFile(path)
	ts.Check(err)
	data[20] ^= 4
	ts.Check(os.WriteFile(path, data, 0o644))
}
