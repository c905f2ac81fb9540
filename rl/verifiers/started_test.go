//go:build unix

package verifiers

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/process"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/python/pythontest"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// oneTask is an episode to play.
var oneTask = workflow.Work{ID: "3-7-0-ab", Params: tinker.DefaultSampling(),
	Task: workflow.Task{Row: dataset.Row{{Key: "data", Value: map[string]any{"idx": 7}}}}}

// A server that was started and dies, or hangs, fails its episode with what it printed; the next episode starts
// another. The program that is started is a script that names the test's server as its own.
func TestStartedAgain(t *testing.T) {
	frames := recorded(t)
	for what, c := range map[string]struct {
		first func(m message)
		want  []string
	}{
		"dies":  {func(m message) { m.conn.Close() }, []string{"the connection is lost"}},
		"hangs": {func(message) {}, []string{"did not end within 2s (workflow_args.timeout)"}},
	} {
		var mu sync.Mutex
		runs := 0
		s := serve(t, func(m message) {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case string(m.frames[1]) == "health" && runs != 1: // it hangs after the first run
				m.replay(frames["health"])
			case string(m.frames[1]) == "run":
				if runs++; runs == 1 {
					c.first(m)
					return
				}
				m.replay(frames["solved"])
			}
		})
		dir := t.TempDir()
		script, starts := filepath.Join(dir, "python"), filepath.Join(dir, "starts")
		text := "#!/bin/sh\necho start >> " + starts + "\necho 'trinity: address " + s.address + "'\nexec sleep 60\n"
		if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		v := New(Options{Executable: script})
		v.host.patience = 2 * time.Second
		carrying, err := v.Check(map[string]any{"env_id": "verifiers:sums", "timeout": 2})
		if err != nil {
			t.Fatal(err)
		}
		parts, err := carrying.Carry(t.Context(), oneTask)
		for _, want := range c.want {
			if err == nil || parts != nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, %v; want %q", what, parts, err, want)
			}
		}
		v.wait.Wait() // until the server that hangs is killed
		mu.Lock()
		runs++ // the next one is well
		mu.Unlock()
		if parts, err = carrying.Carry(t.Context(), oneTask); err != nil || len(parts) != 1 || parts[0].Reward != 1 {
			t.Errorf("%s: the next episode: %v, %v", what, parts, err)
		}
		if data, err := os.ReadFile(starts); err != nil || strings.Count(string(data), "start") != 2 {
			t.Errorf("%s: %v, it was started so often: %s", what, err, data)
		}
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestCloseWhileStarting: the end of a run does not wait for a server that is not ready yet.
func TestCloseWhileStarting(t *testing.T) {
	dir := t.TempDir()
	script, starts := filepath.Join(dir, "python"), filepath.Join(dir, "starts")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n: > "+starts+"\nexec sleep 600\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	v := New(Options{Executable: script})
	carrying, err := v.Check(map[string]any{"env_id": "verifiers:sums"})
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() {
		_, err := carrying.Carry(t.Context(), oneTask)
		failed <- err
	}()
	eventually(t, "the server starts", func() bool { _, err := os.Stat(starts); return err == nil })
	if err := v.Close(); err != nil {
		t.Error(err)
	}
	if err := <-failed; !errors.Is(err, process.ErrClosed) {
		t.Errorf("the episode that waited: %v", err)
	}
}

// chatty is a package verifiers that prints without newlines. Its server is the one whose address is in the taskset.
var chatty = map[string]string{
	"__init__.py":          "print('loading', end='')\n",
	"v1/__init__.py":       "",
	"v1/utils/__init__.py": "",
	"v1/utils/loaders.py": `
class Config:
    model_fields = {}


def import_taskset(name):
    return Config


def env_config_type(*_):
    return Config


def default_harness_id(name):
    return ""
`,
	"v1/serve.py": `
import time


def serve_env(address_queue, config_data, **_):
    print("serving", end="")
    address_queue.put(config_data["taskset"]["address"])
    time.sleep(60)
`,
}

// TestPrintsWithoutNewline: a server is found, and a refusal is heard, behind what a package prints without a newline.
func TestPrintsWithoutNewline(t *testing.T) {
	pythontest.Needed(t)
	dir := t.TempDir()
	for name, text := range chatty {
		path := filepath.Join(dir, "verifiers", name)
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644))
		if err != nil {
			t.Fatal(err)
		}
	}
	frames := recorded(t)
	s := serve(t, func(m message) {
		if string(m.frames[1]) == "health" {
			m.replay(frames["health"])
		} else {
			m.replay(frames["solved"])
		}
	})
	v := New(Options{Path: []string{dir}})
	carrying, err := v.Check(map[string]any{"env_id": "verifiers:sums",
		"taskset": map[string]any{"address": s.address}})
	if err != nil {
		t.Fatal(err)
	}
	if parts, err := carrying.Carry(t.Context(), oneTask); err != nil || len(parts) != 1 {
		t.Errorf("an episode: %v, %v", parts, err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "verifiers", "v1")); err != nil {
		t.Fatal(err)
	}
	_, err = v.Rows(t.Context(), "verifiers:sums", nil)
	if err == nil || !strings.Contains(err.Error(), "install verifiers 0.3 or newer") {
		t.Errorf("a refusal: %v", err)
	}
	if err := v.Close(); err != nil {
		t.Error(err)
	}
}
