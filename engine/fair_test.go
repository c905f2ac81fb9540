package engine

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/fair"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// A client's single request does not wait for another client's thousand.
func TestThousandRequestsWaitForOne(t *testing.T) {
	e := open(t, Options{})
	release := hold(e)
	big, small := create(t, e, 0, lora(2)), create(t, e, 1, lora(2))
	var many []*tinker.Future[tinker.ForwardOutput]
	for range 1000 {
		f, err := big.ForwardBackward(testContext(t), batch(mixed[1]))
		if err != nil {
			t.Fatal(err)
		}
		many = append(many, f)
	}
	f, err := small.ForwardBackward(testContext(t), batch(mixed[1]))
	if err != nil {
		t.Fatal(err)
	}
	seen, between := -1, e.loop.Runner.Between
	e.loop.Runner.Between = func() error {
		select {
		case <-f.Done():
			if seen < 0 {
				seen = slices.IndexFunc(many, func(f *tinker.Future[tinker.ForwardOutput]) bool { return !done(f) })
			}
		default:
		}
		return between()
	}
	release(2)
	value(t, many[len(many)-1], nil)
	if seen < 0 || seen > 10 {
		t.Errorf("%d requests of the big client were done when the small one's was seen to be", seen)
	}
}

// Three samples of a tenant do not wait for another's thousand, in a thousand requests or in one, also with little
// memory.
func TestSamplingIsFair(t *testing.T) {
	for name, o := range map[string]Options{"room": {MaxSequences: 8},
		"little memory": {MaxSequences: 8, CacheBytes: 200 << 10}, "two at a time": {MaxSequences: 2}} {
		for _, requests := range []int{300, 1} {
			e := open(t, o)
			names, futures, order := []string(nil), map[string]<-chan struct{}{}, []string(nil)
			send := func(owner string, requests, n int) {
				s, err := e.SamplingClient(testContext(t),
					tinker.SamplingClientRequest{BaseModel: baseName, Owner: owner})
				if err != nil {
					t.Fatal(err)
				}
				for i := range requests {
					r := sampleRequest(n, 12, uint64(i), tokens(i, 40))
					f, err := s.Sample(testContext(t), r)
					if err != nil {
						t.Fatal(err)
					}
					name := fmt.Sprintf("%s.%d", owner, i)
					names, futures[name] = append(names, name), f.Done()
				}
			}
			e.turn.Take(fair.ForTraining)
			send("a", requests, 300/requests)
			send("b", 3, 1)
			e.scheduler.Runner.Between = watch(names, futures, &order)
			e.turn.Done(fair.ForTraining)
			for _, done := range futures {
				<-done
			}
			e.scheduler.Runner.Between()
			for i := range 3 {
				// every sample of a has 12 steps: the first eight may end before, and those that began beside b's
				if at := slices.Index(order, fmt.Sprintf("b.%d", i)); at < 0 || at > 20 {
					t.Errorf("%s, %d requests: b's request %d was number %d to end: %v", name, requests, i, at,
						order[:min(len(order), 30)])
				}
			}
			if s := e.Stats(); s.Waiting[tinker.Sampling] != (tinker.Queue{}) {
				t.Errorf("%s: %+v still waits", name, s.Waiting)
			}
		}
	}
}

// Endless samples do not stop training, and endless training does not stop samples: both get the same time of one
// tenant.
func TestNeitherSideStarves(t *testing.T) {
	kernels() // their self-test polls the clock, which does not pass in a bubble
	models := deep(t)
	synctest.Test(t, func(t *testing.T) {
		e := open(t, Options{Models: models, MicroBatch: 4096, Threads: 1}) // one pass
		c := create(t, e, 0, lora(2))
		s, err := e.SamplingClient(testContext(t), tinker.SamplingClientRequest{BaseModel: baseName})
		if err != nil {
			t.Fatal(err)
		}
		var slept stopwatch
		e.scheduler.Runner.Between = func() error { slept.sleep(time.Millisecond); return nil }
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() { // always three more
			for i := uint64(0); ctx.Err() == nil; i++ {
				var f *tinker.Future[tinker.SampleResponse]
				for range 3 {
					var err error
					if f, err = s.Sample(ctx, sampleRequest(2, 30, i, mixed[0])); err != nil {
						return
					}
				}
				f.Wait(ctx)
			}
		}()
		synctest.Wait()
		layers, between, first := 0, e.loop.Runner.Between, e.Stats().Steps
		var training, before, sampling time.Duration // the times that have passed in both
		e.loop.Runner.Between = func() error {
			time.Sleep(3 * time.Millisecond)
			err := between()
			if training += 3 * time.Millisecond; layers == 0 {
				training, before = 0, slept.total()
			}
			sampling = slept.total() - before
			layers++
			return err
		}
		var data [][]int32
		for i := range 5 {
			data = append(data, tokens(i, 100))
		}
		f, err := c.ForwardBackward(testContext(t), batch(data...))
		value(t, f, err)
		steps := e.Stats().Steps - first
		if layers < 10 || steps < 5 || (sampling-training).Abs() > 10*time.Millisecond {
			t.Errorf("%d layers of training had %v, %d steps of sampling %v", layers, training, steps, sampling)
		}
	})
}

// stopwatch adds up the time that it slept.
type stopwatch struct{ ns atomic.Int64 }

func (s *stopwatch) sleep(d time.Duration) {
	time.Sleep(d)
	s.ns.Add(int64(d))
}

func (s *stopwatch) total() time.Duration { return time.Duration(s.ns.Load()) }

func done[T any](f *tinker.Future[T]) bool {
	select {
	case <-f.Done():
		return true
	default:
		return false
	}
}
