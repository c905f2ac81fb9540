package python_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/python"
	"github.com/seed-d9ad8ee0/trinity/rl/python/pythontest"
)

func TestFind(t *testing.T) {
	for _, tt := range []struct{ explicit, env, want string }{
		{"/opt/python3.12", "/venv", "/opt/python3.12"},
		{"", filepath.FromSlash("/venv"), filepath.FromSlash("/venv/bin/python")},
		{"", "", "python3"},
	} {
		if got := python.Find(tt.explicit, tt.env); got != tt.want {
			t.Errorf("Find(%q, %q) = %q, want %q", tt.explicit, tt.env, got, tt.want)
		}
	}
}

// script writes an executable.
func script(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(name, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestCannotOpen: what is wrong with the user's Python is said, with what to do, and nothing stays behind.
func TestCannotOpen(t *testing.T) {
	t.Parallel()
	pythontest.Needed(t)
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	old := script(t, `[ "$1" = -c ] && echo '{"hello":{"protocol":1,"python":"3.9.18","executable":"","pid":0}}'`)
	refuse := func(context.Context, python.Caller) error { return errors.New("no plug-ins") }
	for name, tt := range map[string]struct {
		opts python.Options
		want []string
	}{
		"none": {python.Options{Executable: "python3-that-is-not-there"},
			[]string{"no Python", "python3-that-is-not-there", "install Python 3.10 or newer", "--python"}},
		"old": {python.Options{Executable: old},
			[]string{old + " is Python 3.9.18", "3.10 or newer", "--python"}},
		"no Python": {python.Options{Executable: script(t, "exit 3")}, []string{"exit status 3"}},
		"import error": {python.Options{Dirs: []string{dir}, Imports: []string{"broken"}},
			[]string{"no_such_module_anywhere"}},
		"setup": {python.Options{Setup: refuse}, []string{"no plug-ins"}},
	} {
		h, err := python.Open(t.Context(), tt.opts)
		if err == nil {
			h.Close()
			t.Errorf("%s: no error", name)
			continue
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q is not in: %v", name, want, err)
			}
		}
		var raised *python.Error
		if errors.As(err, &raised) != (name == "import error") {
			t.Errorf("%s: %T", name, err)
		} else if raised != nil && !strings.Contains(raised.Traceback, "broken.py\", line 1") {
			t.Errorf("%s: no file and line in %s", name, raised.Traceback)
		}
	}
}

func TestOpenEnds(t *testing.T) {
	t.Parallel()
	pythontest.Needed(t)
	ctx, cancel := context.WithCancel(t.Context())
	setup := func(ctx context.Context, p python.Caller) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}
	if _, err := python.Open(ctx, python.Options{Setup: setup}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestInstalled: a trinity that is installed beside is not the one that files get, and that is said once.
func TestInstalled(t *testing.T) {
	t.Parallel()
	pythontest.Needed(t)
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "trinity"), 0o755); err != nil {
		t.Fatal(err)
	}
	theirs := filepath.Join(dir, "trinity", "__init__.py")
	if err := os.WriteFile(theirs, []byte("raise ImportError('this is the other one')\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var l logged
	h := open(t, func(o *python.Options) { o.Log = l.add; o.Processes = 2; o.Dirs = append([]string{dir}, o.Dirs...) })
	works(t, h)
	h.Call(t.Context(), "fail.exit_at_once", nil, nil, nil)
	works(t, h)
	h.Close()
	if got := strings.Count(l.text(""), "the package trinity at "+theirs+" is not used"); got != 1 {
		t.Errorf("said %d times: %q", got, l.text(""))
	}
}

// TestPrintsAtStart: files that run before the host (sitecustomize, .pth) may print.
func TestPrintsAtStart(t *testing.T) {
	t.Parallel()
	pythontest.Needed(t)
	var l logged
	h := open(t, func(o *python.Options) {
		o.Log = l.add
		o.Executable = script(t, `[ "$1" = -c ] && printf 'welcome\nto your environment'; exec python3 "$@"`)
	})
	works(t, h)
	if got := l.text(""); got != "welcome\nto your environment\n" {
		t.Errorf("logged %q", got)
	}
}

// TestUnpackTogether: several programs share a job's folder.
func TestUnpackTogether(t *testing.T) {
	t.Parallel()
	pythontest.Needed(t)
	folder := t.TempDir()
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			h, err := python.Open(t.Context(), python.Options{Folder: folder})
			if err != nil {
				t.Error(err)
				return
			}
			h.Close()
		})
	}
	wg.Wait()
	if found, err := filepath.Glob(filepath.Join(folder, "*")); err != nil || len(found) != 1 {
		t.Errorf("%v, %v", found, err)
	}
}

// TestUnpack: the library is written once, without leftovers, again when damaged, and the one of a job stays.
func TestUnpack(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "job", "python")
	list := func() (names []string) {
		found, err := filepath.Glob(filepath.Join(folder, "*"))
		if err != nil || len(found) != 1 {
			t.Fatalf("%v, %v", found, err)
		}
		return found
	}
	with := func(o *python.Options) { o.Folder = folder }
	open(t, with).Close()
	main := filepath.Join(list()[0], "trinity", "_host", "main.py")
	before, err := os.Stat(main)
	if err != nil {
		t.Fatal(err)
	}
	open(t, with).Close()
	if after, err := os.Stat(main); err != nil || !os.SameFile(before, after) {
		t.Errorf("written again: %v", err)
	}
	if err := os.Truncate(main, 10); err != nil {
		t.Fatal(err)
	}
	works(t, open(t, with))
	list()
}
