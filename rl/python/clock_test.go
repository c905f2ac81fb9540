package python_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/rl/python"
)

var errSlow = errors.New("too slow")

// pid is the id of the process that answers the next call.
func pid(t *testing.T, h *python.Host) (pid int) {
	t.Helper()
	if err := h.Call(t.Context(), "fail.remember", args{}, &pid, nil); err != nil {
		t.Fatal(err)
	}
	return pid
}

// TestLimit: a limit counts the time that a call runs, not the time that it waits for a thread.
func TestLimit(t *testing.T) {
	t.Parallel()
	h := open(t, func(o *python.Options) { o.Threads = 1 })
	ctx := python.WithLimit(t.Context(), 2*time.Second, errSlow)
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			if err := h.Call(ctx, "test.sleep", args{"seconds": 0.2}, nil, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := h.Call(ctx, "fail.wait", args{"seconds": 60}, nil, nil); !errors.Is(err, errSlow) {
		t.Errorf("a call that runs too long: %v", err)
	}
}

// TestCancelledBeforeItBegan: a call that is given up while it waits, for a thread or for the event loop, is not run,
// and its process is not taken for one that hangs.
func TestCancelledBeforeItBegan(t *testing.T) {
	t.Parallel()
	const grace = 2 * time.Second
	h := open(t, func(o *python.Options) { o.Threads, o.Grace = 1, grace })
	first := pid(t, h)
	for _, tt := range []struct {
		busy    string
		seconds float64
		waits   string
	}{
		{"test.sleep", 3, "fail.exit_at_once"}, // longer than the grace
		{"fail.block_the_loop", 0.5, "fail.wait"},
	} {
		other := begin(t.Context(), t, h, tt.busy, tt.seconds)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		err := h.Call(ctx, tt.waits, args{"seconds": 60}, nil, nil)
		cancel()
		if !errors.As(err, new(*python.Cancelled)) {
			t.Errorf("behind %s: %v", tt.busy, err)
		}
		if err := <-other; err != nil {
			t.Errorf("%s: %v", tt.busy, err)
		}
		longer := args{"seconds": grace.Seconds() + 0.1} // until the grace is over
		if err := h.Call(t.Context(), "test.sleep", longer, nil, nil); err != nil {
			t.Errorf("after %s: %v", tt.busy, err)
		}
		if now := pid(t, h); now != first {
			t.Errorf("behind %s: the process was replaced", tt.busy)
		}
	}
}

// TestHungThread: where a call that was given up holds the only thread, those behind it are made in another process,
// and a session behind it is lost.
func TestHungThread(t *testing.T) {
	t.Parallel()
	h := open(t, func(o *python.Options) { o.Threads, o.Grace = 1, 200*time.Millisecond })
	s, err := h.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	first := pid(t, h)
	ctx := python.WithLimit(t.Context(), time.Second, errSlow)
	hung := begin(ctx, t, h, "test.sleep", 60)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() { works(t, h) })
	}
	wg.Go(func() {
		if err := s.Call(ctx, "test.echo", nil, nil, nil); !errors.As(err, new(*python.Lost)) {
			t.Errorf("the session behind it: %v", err)
		}
	})
	wg.Wait()
	if err := <-hung; !errors.Is(err, errSlow) {
		t.Errorf("the hung call: %v", err)
	}
	if now := pid(t, h); now == first {
		t.Error("the process was not replaced")
	}
}
