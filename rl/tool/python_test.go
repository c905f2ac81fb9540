package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/sandbox"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// What hostile or broken code is answered with, word for word as the model reads it.
func TestPythonSurvives(t *testing.T) {
	t.Parallel()
	p := python(t, sandbox.Namespaces)
	p.limits.Wall, p.limits.CPU = time.Minute, time.Minute
	p.limits.Memory, p.limits.Disk = 256<<20, 8<<20
	home, _ := os.UserHomeDir()
	for name, c := range map[string]struct{ code, want string }{
		"hello": {"print('hello')", "hello\n"},
		"network": {"import socket\ntry: socket.create_connection(('1.1.1.1', 80), 1)\nexcept OSError as e: print(e)",
			"Network is unreachable"},
		"home":       {fmt.Sprintf("import os; print(os.path.exists(%q + '/.bashrc'))", home), "False"},
		"passwords":  {"open('/etc/shadow')", "FileNotFoundError"},
		"the system": {"open('/usr/x', 'w')", "OSError: [Errno 30] Read-only file system"},
		"memory":     {"x = 'x' * (1 << 40)", "MemoryError"},
		"memory of several": {"import os, time\nfor i in range(8):\n  if os.fork() == 0:\n" +
			"    x = bytearray(os.urandom(1) * (60 << 20)); time.sleep(20)\ntime.sleep(20)",
			"MemoryError: the program was stopped at more than 256 MiB of memory, the limit.\n"},
		"fork bomb": {"import os\nwhile True: os.fork()",
			"BlockingIOError: [Errno 11] Resource temporarily unavailable"},
		"disk": {"f = open('/tmp/x', 'wb')\nwhile True: f.write(bytes(1 << 20))",
			"OSError: [Errno 27] File too large"},
		"many files": {"for i in range(10**6): open(f'/tmp/{i}', 'w')", "OSError: [Errno 28] No space left on device"},
		"a signal": {"import os; os.kill(os.getpid(), 11)",
			"Code execution result: The program ended by signal 11.\n"},
		"the watcher": {"import os; os.kill(1, 9)", "PermissionError: [Errno 1] Operation not permitted"},
		"a subprocess": {"import subprocess as s; print(s.run(['echo', 'sub'], capture_output=True, text=True).stdout)",
			"sub"},
		"no UTF-8":   {"import sys; sys.stdout.buffer.write(b'a\\xff')", "Code execution result: a\uFFFD\n"},
		"an import":  {"print(isqrt(17), Counter('aab').most_common(1))", "4 [('a', 2)]"},
		"long code":  {"x = '" + strings.Repeat("y", 200_000) + "'\nprint(len(x))", "200000"},
		"null bytes": {"print('\x00')", "SyntaxError: source code cannot contain null bytes"},
		"multiprocessing": {"from concurrent.futures import ProcessPoolExecutor\nif __name__ == '__main__':\n" +
			"  import multiprocessing as m\n  with m.get_context('fork').Pool(2) as p: print(p.map(abs, [-1, -2]))",
			"[1, 2]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			use, err := p.Use(t.Context(), "<python>"+c.code+"</python>")
			if err != nil {
				t.Fatal(err)
			}
			if !use.Called || !strings.Contains(use.Text, c.want) {
				t.Errorf("%.500q (failed: %v), want %q", use.Text, use.Failed, c.want)
			}
		})
	}
}

// Output is cut and says so.
func TestPythonSaysThatOutputIsCut(t *testing.T) {
	t.Parallel()
	p := python(t, sandbox.Namespaces)
	p.limits.Wall, p.limits.CPU = time.Minute, time.Minute
	use, err := p.Use(t.Context(), "<python>x = 'y' * (1 << 20)\nfor i in range(50): print(x)</python>")
	if err != nil {
		t.Fatal(err)
	}
	if len(use.Text) > p.limits.Output+200 || use.Failed ||
		!strings.HasSuffix(use.Text, fmt.Sprintf("\n[the output was cut: %d bytes are left out]\n", 50*(1<<20+1)-
			p.limits.Output)) {
		t.Errorf("%d characters: …%q", len(use.Text), use.Text[max(0, len(use.Text)-200):])
	}
}

// Code that computes or sleeps for too long is ended.
func TestPythonTimesOut(t *testing.T) {
	t.Parallel()
	p := python(t, sandbox.Namespaces)
	p.limits.CPU = time.Minute
	for code, wall := range map[string]time.Duration{"while True: pass": time.Second / 4,
		"import time; print('x', flush=True); time.sleep(100)": time.Second} {
		p.limits.Wall = wall
		use, err := p.Use(t.Context(), "<python>"+code+"</python>")
		want := fmt.Sprintf("Code execution result: Execution timed out after %v seconds.\n", wall.Seconds())
		if err != nil || !strings.Contains(use.Text, want) {
			t.Errorf("%s: %q, %v; want %q", code, use.Text, err, want)
		}
	}
}

// Ctrl-C ends code, and that is an error, not an observation.
func TestPythonEndsWithTheContext(t *testing.T) {
	t.Parallel()
	p := python(t, sandbox.Namespaces)
	p.limits.Wall, p.limits.CPU = time.Hour, time.Hour
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if use, err := p.Use(ctx, "<python>while True: pass</python>"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%+v, %v", use, err)
	}
}

func TestFindPython(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for want, name := range map[string]string{
		`there is no "python-nowhere"; install Python 3, or name one with python=PATH`: "python-nowhere",
		"does not work as a Python: exit status 3: oh no": write("broken",
			"echo oh no >&2; exit 3"),
		"does not describe itself as a Python would": write("other", "echo hello"),
		"is installed in " + dir + " itself": write("homely", `echo '{"executable":"x","prefixes":["`+dir+
			`"],"home":"`+dir+`/me"}'`),
	} {
		if _, err := findPython(t.Context(), name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// Folders within others and those of the system are shown once.
func TestToShow(t *testing.T) {
	p := interpreter{Home: "/home/me", Prefixes: []string{"/usr", "/home/me/venv", "/opt/conda/"},
		Path: []string{"/usr/lib/python3", "/home/me/venv/lib", "/home/me/.local/lib/p", "/home/me", "/home",
			"/opt/conda2"}}
	got, err := p.toShow()
	want := "/home/me/.local/lib/p /home/me/venv /opt/conda /opt/conda2"
	if err != nil || strings.Join(got, " ") != want {
		t.Errorf("%v, %v; want %s", got, err, want)
	}
}

// The packages of a virtual environment are there, wherever it lies, and nothing beside it.
func TestVirtualEnvironment(t *testing.T) {
	t.Parallel()
	python(t, sandbox.Namespaces)
	dir := filepath.Join(t.TempDir(), "venv")
	if out, err := exec.Command("python3", "-m", "venv", "--without-pip", dir).CombinedOutput(); err != nil {
		t.Skipf("no virtual environment: %v: %s", err, out)
	}
	sites, err := filepath.Glob(filepath.Join(dir, "lib", "python3*", "site-packages"))
	if err != nil || len(sites) == 0 {
		t.Fatalf("no site-packages: %v", err)
	}
	if err := os.WriteFile(filepath.Join(sites[0], "ours.py"), []byte("answer = 42\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	spec := env.ToolSpec{Tools: "python", Python: filepath.Join(dir, "bin", "python3")}
	p, _, err := openPython(t.Context(), spec, true)
	if err != nil {
		t.Fatal(err)
	}
	code := fmt.Sprintf("import os, sys, ours; print(ours.answer, sys.prefix != sys.base_prefix, os.listdir(%q))",
		filepath.Dir(dir))
	use, err := p.Use(t.Context(), "<python>"+code+"</python>")
	if err != nil || use.Text != "Code execution result: 42 True ['venv']\n\n" {
		t.Errorf("%+v, %v", use, err)
	}
}
