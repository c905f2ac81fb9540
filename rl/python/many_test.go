package python_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/rl/python"
)

// TestManyEpisodes: hundreds of episodes are open at once in two processes, each of several turns; sync ones wait on
// threads, async ones in the loop. No turn is answered before all have begun, so they are really open together.
func TestManyEpisodes(t *testing.T) {
	t.Parallel()
	const n, turns = 400, 3
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

// TestStorm: callers call, call back, are cancelled, crash processes, hang and hold sessions, all at once. Every result
// that comes is right, every error is one of the three, and what goes on at the end is as at the start.
func TestStorm(t *testing.T) {
	t.Parallel()
	h := open(t, func(o *python.Options) { o.Processes = 2; o.Grace = time.Second })
	var good, raised, lost, cancelled atomic.Int64
	count := func(err error) {
		switch {
		case err == nil:
			good.Add(1)
		case errors.As(err, new(*python.Error)):
			raised.Add(1)
		case errors.As(err, new(*python.Lost)):
			lost.Add(1)
		case errors.As(err, new(*python.Cancelled)) || errors.Is(err, context.DeadlineExceeded):
			cancelled.Add(1)
		default:
			t.Errorf("%T: %v", err, err)
		}
	}
	var wg sync.WaitGroup
	for worker := range 16 {
		random := rand.New(rand.NewPCG(1, uint64(worker)))
		wg.Go(func() {
			for i := range 50 {
				count(stormy(t, h, 50*worker+i, random))
			}
		})
	}
	wg.Wait()
	t.Logf("%d good, %d raised, %d lost, %d cancelled", good.Load(), raised.Load(), lost.Load(), cancelled.Load())
	for _, n := range []*atomic.Int64{&good, &raised, &lost, &cancelled} {
		if n.Load() == 0 {
			t.Error("some of it did not happen")
		}
	}
	works(t, h)
}

// stormy makes the call number of 800: some do harm, the others are drawn.
func stormy(t *testing.T, h *python.Host, number int, random *rand.Rand) error {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	a, b := random.IntN(1000), random.IntN(1000)
	kind := []string{"test.up", "test.up_async"}[random.IntN(2)]
	switch n := random.IntN(200); {
	case number%400 == 50:
		return h.Call(ctx, "fail.exit_at_once", nil, nil, nil)
	case number%400 == 150:
		ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		return h.Call(ctx, "test.sleep", args{"seconds": 60}, nil, nil)
	case n < 10:
		return h.Call(ctx, "fail.sys_exit", nil, nil, nil)
	case n < 20:
		ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		return h.Call(ctx, "fail.wait", args{"seconds": 5}, nil, nil)
	case n < 40:
		s, err := h.Session(ctx)
		if err != nil {
			return err
		}
		defer s.Close()
		return added(t, a, b, func(result any) error { return s.Call(ctx, kind, args{"a": a, "b": b}, result, add) })
	default:
		return added(t, a, b, func(result any) error { return h.Call(ctx, kind, args{"a": a, "b": b}, result, add) })
	}
}

func added(t *testing.T, a, b int, call func(result any) error) error {
	var sum int
	err := call(&sum)
	if err == nil && sum != a+b {
		t.Errorf("%d + %d = %d", a, b, sum)
	}
	return err
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
