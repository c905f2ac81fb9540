package fleet_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet"
)

// slowly computes square in some milliseconds, or ends with its context.
func slowly(d time.Duration) fleet.Function {
	return func(ctx context.Context, t fleet.Task, have func(string) (string, error)) ([]byte, error) {
		select {
		case <-time.After(d):
			return square(ctx, t, have)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// during runs a fault while tasks are computed and checks every answer.
func during(t *testing.T, h *fleet.Head, tasks int, fault func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		doAll(t, h, 0, tasks)
	}()
	fault()
	select {
	case <-done:
	case <-time.After(3 * time.Minute):
		t.Fatalf("tasks hang: %+v", h.Status())
	}
	if s := h.Status(); s.Done != int64(tasks) || s.Open != 0 {
		t.Errorf("%d tasks done and %d open; want %d and 0", s.Done, s.Open, tasks)
	}
}

func TestWorkersAreKilledAndComeBack(t *testing.T) {
	t.Parallel()
	h, _ := newHead(t, impatient)
	r := rand.New(rand.NewPCG(1, 2))
	hands := make([]*hand, 3)
	for i := range hands {
		hands[i] = join(t, h, string(rune('a'+i)), slowly(10*time.Millisecond))
	}
	during(t, h, 200, func() {
		for n := range int64(6) {
			answered(t, h, 25*n)
			i := r.IntN(len(hands))
			hands[i].stop() // without a word, as a killed process
			hands[i] = join(t, h, string(rune('a'+i)), slowly(10*time.Millisecond))
		}
	})
}

func TestTheStoreIsDeletedInMidRun(t *testing.T) {
	for name, wreck := range map[string]func(t *testing.T, h *fleet.Head, dir string){
		"streams":    func(t *testing.T, h *fleet.Head, _ string) { fleet.DeleteStreams(t, h) },
		"the folder": func(t *testing.T, _ *fleet.Head, dir string) { removeAll(t, filepath.Join(dir, "nats")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "fleet")
			h, _ := openHead(t, dir, "127.0.0.1:0")
			large := func(ctx context.Context, k fleet.Task, have func(string) (string, error)) ([]byte, error) {
				b, err := slowly(10*time.Millisecond)(ctx, k, have)
				return bytes.Repeat(b, 1<<20/len(b)), err
			}
			join(t, h, "a", large)
			join(t, h, "b", large)
			done := make(chan struct{})
			go func() {
				defer close(done)
				for i := range 30 {
					k := task(i)
					r, err := h.Do(t.Context(), k)
					if err != nil || !bytes.Equal(r.Payload[:32], want(k)) {
						t.Errorf("task %d: %v", i, err)
					}
				}
			}()
			for n := range int64(2) {
				answered(t, h, 10*(n+1))
				wreck(t, h, dir)
			}
			select {
			case <-done:
			case <-time.After(3 * time.Minute):
				t.Fatalf("tasks hang: %+v", h.Status())
			}
		})
	}
}

func removeAll(t *testing.T, dir string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil && !strings.Contains(err.Error(), "not empty") {
		t.Error(err)
	}
}

func TestTheHeadIsRestarted(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "fleet")
	h, _ := openHead(t, dir, "127.0.0.1:0")
	join(t, h, "a", slowly(5*time.Millisecond))
	join(t, h, "b", slowly(5*time.Millisecond))
	eventually(t, "two workers", func() bool { return here(h) == 2 })
	listen := strings.TrimPrefix(h.URL(), "nats://")
	ended := make(chan error)
	go func() {
		_, err := h.Do(t.Context(), fleet.NewTask("square", make([]byte, 100), 1e9))
		for err == nil {
			_, err = h.Do(t.Context(), fleet.NewTask("square", []byte(time.Now().String()), 1))
		}
		ended <- err
	}()
	answered(t, h, 10)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != fleet.ErrClosed {
		t.Errorf("Do of a closed head: %v", err)
	}
	again, _ := openHead(t, dir, listen)
	eventually(t, "two workers are back", func() bool { return here(again) == 2 })
	doAll(t, again, 0, 50)
}

func TestASlowWorkersTasksAreGivenOutTwice(t *testing.T) {
	t.Parallel()
	h, _ := newHead(t)
	var hang atomic.Bool
	stuck := func(ctx context.Context, k fleet.Task, have func(string) (string, error)) ([]byte, error) {
		if hang.Load() {
			<-ctx.Done() // until the head no longer wants the answer
			return nil, ctx.Err()
		}
		return slowly(5*time.Millisecond)(ctx, k, have)
	}
	join(t, h, "stuck", stuck)
	join(t, h, "fine", slowly(5*time.Millisecond))
	eventually(t, "two workers", func() bool { return here(h) == 2 })
	doAll(t, h, 0, 20) // their speeds are known now
	hang.Store(true)
	for i := 20; h.Status().Copies == 0 && i < manyTasks; i += 20 { // the fine one may be first with all
		doAll(t, h, i, i+20)
	}
	if h.Status().Copies == 0 {
		t.Error("no task was given out twice")
	}
}

func TestAWorkerDrains(t *testing.T) {
	t.Parallel()
	h, _ := newHead(t)
	a := join(t, h, "a", slowly(20*time.Millisecond))
	b := join(t, h, "b", slowly(20*time.Millisecond))
	eventually(t, "two workers", func() bool { return here(h) == 2 })
	during(t, h, 40, func() {
		answered(t, h, 4)
		close(a.drain)
		if err := a.end(t); err != nil {
			t.Errorf("a drained worker ended with %v", err)
		}
	})
	if err := h.Drain("b"); err != nil {
		t.Error(err)
	}
	if err := b.end(t); err != nil {
		t.Errorf("a worker drained by the head ended with %v", err)
	}
	if err := h.Drain("c"); err == nil {
		t.Error("no error of draining a worker that is unknown")
	}
}

func TestADrainingWorkerDoesNotWaitForAHeadThatEnded(t *testing.T) {
	t.Parallel()
	h, _ := newHead(t)
	began := make(chan struct{})
	w := join(t, h, "a", func(ctx context.Context, _ fleet.Task, _ func(string) (string, error)) ([]byte, error) {
		close(began)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	go h.Do(context.Background(), task(0))
	<-began
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	close(w.drain)
	if err := w.end(t); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

func TestWithoutWorkersTheHeadSaysForWhomItWaits(t *testing.T) {
	t.Parallel()
	h, j := newHead(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := h.Do(ctx, task(0))
		done <- err
	}()
	eventually(t, "a line that says how to join", func() bool { return strings.Contains(j.String(), h.JoinLine()) })
	cancel()
	if err := <-done; err != context.Canceled {
		t.Errorf("a task given up: %v", err)
	}
	if s := h.Status(); s.Open != 0 {
		t.Errorf("%d tasks are open", s.Open)
	}
}

func TestBadNetworks(t *testing.T) {
	t.Parallel()
	h, _ := newHead(t, impatient)
	p := newProxy(t, strings.TrimPrefix(h.URL(), "nats://"))
	over := func(o *fleet.JoinOptions) { o.URL = p.url() }
	join(t, h, "a", slowly(5*time.Millisecond), over)
	eventually(t, "a worker", func() bool { return here(h) == 1 })
	at := 0
	step := func(name string, n int, fault func()) {
		t.Run(name, func(t *testing.T) {
			done := make(chan struct{})
			go func() {
				defer close(done)
				doAll(t, h, at, at+n)
			}()
			fault()
			<-done
		})
		at += n
	}
	step("delay", 40, func() { p.set(func() { p.delay = 30 * time.Millisecond }) })
	p.set(func() { p.delay = 0 })
	step("rate", 40, func() { p.set(func() { p.rate = 200_000 }) })
	p.set(func() { p.rate = 0 })
	step("cut", 100, func() {
		for n := range int64(3) {
			answered(t, h, 80+20*(n+1))
			p.cut()
		}
	})
	step("half-open", 100, func() {
		answered(t, h, 200)
		p.set(func() { p.silent = true })
		eventually(t, "the worker is thought to be lost", func() bool { return here(h) == 0 })
		p.cut()
		p.set(func() { p.silent = false })
	})
}
