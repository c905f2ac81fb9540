package engine

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// A client's single request does not wait for another client's thousand.
func TestThousandRequestsWaitForOne(t *testing.T) {
	e := open(t, Options{})
	release := hold(e)
	big, small := create(t, e, 0, lora(2)), create(t, e, 1, lora(2))
	var last *tinker.Future[tinker.ForwardOutput]
	for range 1000 {
		f, err := big.ForwardBackward(testContext(t), batch(mixed[1]))
		if err != nil {
			t.Fatal(err)
		}
		last = f
	}
	f, err := small.ForwardBackward(testContext(t), batch(mixed[1]))
	if err != nil {
		t.Fatal(err)
	}
	seen, between := int64(-1), e.loop.runner.Between
	e.loop.runner.Between = func() error {
		select {
		case <-f.Done():
			if q := big.(*trainingRun).q; seen < 0 {
				q.mu.Lock()
				seen = q.done
				q.mu.Unlock()
			}
		default:
		}
		return between()
	}
	release(2)
	value(t, last, nil)
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
			e.turn.take(forTraining)
			send("a", requests, 300/requests)
			send("b", 3, 1)
			e.scheduler.runner.Between = watch(names, futures, &order)
			e.turn.done(forTraining)
			for _, done := range futures {
				<-done
			}
			e.scheduler.runner.Between()
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
		e.scheduler.runner.Between = func() error { time.Sleep(time.Millisecond); return nil }
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
		layers, between, first := 0, e.loop.runner.Between, e.scheduler.counters.steps.Load()
		var begun, ended [2]time.Duration
		e.loop.runner.Between = func() error {
			time.Sleep(3 * time.Millisecond)
			err := between()
			c := &e.turn.clock
			c.mu.Lock()
			if ended = c.owners[""].sides; layers == 0 {
				begun = ended
			}
			c.mu.Unlock()
			layers++
			return err
		}
		var data [][]int32
		for i := range 5 {
			data = append(data, tokens(i, 100))
		}
		f, err := c.ForwardBackward(testContext(t), batch(data...))
		value(t, f, err)
		steps, sampling, training := e.scheduler.counters.steps.Load()-first, ended[forSamples]-begun[forSamples],
			ended[forTraining]-begun[forTraining]
		if layers < 10 || steps < 5 || (sampling-training).Abs() > 10*time.Millisecond {
			t.Errorf("%d layers of training had %v, %d steps of sampling %v", layers, training, steps, sampling)
		}
	})
}

// A model whose next request takes long to read does not delay the others.
func TestLongPauseHoldsNobodyUp(t *testing.T) {
	e := open(t, Options{})
	c := create(t, e, 0, lora(2))
	pause := func(n int) {
		e.loop.mu.Lock()
		defer e.loop.mu.Unlock()
		e.loop.coming += n
		e.loop.changed.Signal()
	}
	pause(1) // as if its next job were here in a moment
	defer pause(-1)
	f, err := c.ForwardBackward(testContext(t), batch(mixed...))
	value(t, f, err)
}

// A step has no more tokens of any other tenant than of its leader. So the steps of a small sample stay small beside
// another tenant's hundred samples, whose own steps still have all of them.
func TestStepsOfOneOwnerStaySmall(t *testing.T) {
	e := open(t, Options{})
	client := func(owner string) tinker.SamplingClient {
		c, err := e.SamplingClient(testContext(t), tinker.SamplingClientRequest{BaseModel: baseName, Owner: owner})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	many, few := client("many"), client("few")
	led, most, wrong := map[string]int{}, 0, ""
	both := false
	e.scheduler.runner.Between = func() error {
		rows := map[string]int{}
		for _, l := range e.scheduler.batch {
			rows[l.owner().name] += l.take
		}
		if most = max(most, rows["many"]); rows["few"] > 0 {
			both = true
		}
		led[e.scheduler.leader]++
		if n := rows[e.scheduler.leader]; n == 0 || rows["many"] > n || rows["few"] > n {
			wrong = fmt.Sprintf("%s leads %v", e.scheduler.leader, rows)
		}
		return nil
	}
	e.turn.take(forTraining)
	f, err := many.Sample(testContext(t), sampleRequest(100, 60, 1, mixed[0]))
	if err != nil {
		t.Fatal(err)
	}
	g, err := few.Sample(testContext(t), sampleRequest(1, 30, 2, mixed[1]))
	e.turn.done(forTraining)
	value(t, g, err)
	value(t, f, nil)
	if wrong != "" || led["few"] == 0 || led["many"] == 0 || most < 90 || !both {
		t.Errorf("steps led by %v, with at most %d tokens of the many; %s", led, most, wrong)
	}
	until(func() bool { // no tenant is active when nothing is in progress
		c := &e.turn.clock
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.owners) == 0
	})
}
