//go:build unix

package verifiers

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// A server that was started and dies, or hangs, fails its episode with what it printed; the next episode starts
// another. The program that is started is a script that names the test's server as its own.
func TestStartedAgain(t *testing.T) {
	frames := recorded(t)
	for what, c := range map[string]struct {
		first func(m message)
		want  []string
	}{
		"dies":  {func(m message) { m.conn.Close() }, []string{"the connection is lost"}},
		"hangs": {func(message) {}, []string{"did not end within 200ms (workflow_args.timeout)"}},
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
		v.host.patience = 200 * time.Millisecond
		carrying, err := v.Check(map[string]any{"env_id": "verifiers:sums", "timeout": 0.2})
		if err != nil {
			t.Fatal(err)
		}
		work := workflow.Work{ID: "3-7-0-ab", Params: tinker.DefaultSampling(),
			Task: workflow.Task{Row: dataset.Row{{Key: "data", Value: map[string]any{"idx": 7}}}}}
		parts, err := carrying.Carry(t.Context(), work)
		for _, want := range c.want {
			if err == nil || parts != nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, %v; want %q", what, parts, err, want)
			}
		}
		v.wait.Wait() // until the server that hangs is killed
		mu.Lock()
		runs++ // the next one is well
		mu.Unlock()
		if parts, err = carrying.Carry(t.Context(), work); err != nil || len(parts) != 1 || parts[0].Reward != 1 {
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
