package python_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/python"
)

// TestManyEpisodes: a thousand episodes are open at once in two processes, each of several turns; sync ones wait on
// threads, async ones in the loop. No turn is answered before all have begun, so they are really open together.
func TestManyEpisodes(t *testing.T) {
	const n, turns = 1000, 3
	for _, kind := range []string{"sync", "async"} {
		h := open(t, func(o *python.Options) { o.Processes = 2 })
		var begun atomic.Int64
		all := make(chan struct{})
		up := func(ctx context.Context, _ string, raw json.RawMessage) (any, error) {
			var in struct{ Episode, Turn int }
			if err := json.Unmarshal(raw, &in); err != nil {
				return nil, err
			}
			if in.Turn == 0 && begun.Add(1) == n {
				t.Logf("%s: %s", kind, memory(h))
				close(all)
			}
			select {
			case <-all:
				return in.Episode * (in.Turn + 1), nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				var sum int
				err := h.Call(t.Context(), "test.episode_"+kind, args{"episode": i, "turns": turns}, &sum, up)
				if err != nil || sum != 6*i {
					t.Errorf("%s %d: %d, %v", kind, i, sum, err)
				}
			})
		}
		wg.Wait()
		h.Close()
	}
}

// memory tells threads and resident memory of the processes, where the system does.
func memory(h *python.Host) string {
	var all []string
	for _, pid := range h.Processes() {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		var words []string
		for line := range strings.Lines(string(status)) {
			if strings.HasPrefix(line, "VmRSS") || strings.HasPrefix(line, "Threads") {
				words = append(words, strings.Fields(line)...)
			}
		}
		all = append(all, strings.Join(words, " "))
	}
	return strings.Join(all, "; ")
}
