package explorer

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/loop/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// pipe is an explorer beside a trainer that trains one step on each explore step, and what happened when.
type pipe struct {
	style    synchronizer.Style
	window   int
	explores []int // seconds that the tasks of a step take: the first of each step; the second takes one
	trains   int   // seconds of a train step
	runners  int
	before   int // train steps that were done before

	mu     sync.Mutex
	events []string
	began  time.Time

	sync  *synchronizer.Synchronizer
	order *synchronizer.Order
	fed   chan int
}

func (p *pipe) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events = append(p.events, fmt.Sprintf("%v ", time.Since(p.began))+fmt.Sprintf(format, args...))
}

// Run implements workflow.Workflow: it notes when the first task of a step begins, and its weights.
func (p *pipe) Run(ctx context.Context, r *workflow.Rollout, t workflow.Task) ([]*experience.Experience, error) {
	step, _ := strconv.Atoi(t.Batch)
	took := time.Second
	if t.ID == "0" {
		p.say("explore %d at version %d", step, r.Version)
		took = time.Duration(p.explores[step-1]) * time.Second
	}
	w := &slow{took: func(workflow.Task) time.Duration { return took }}
	return w.Run(ctx, r, t)
}

// Explored implements Sink.
func (p *pipe) Explored(_ context.Context, step int, _ map[string]float64, _ []*experience.Experience) error {
	p.say("handed over %d", step)
	p.fed <- step
	return p.order.Fed(step, synchronizer.Feed{Trained: step})
}

func (p *pipe) train(ctx context.Context) {
	for step := range p.fed {
		select {
		case <-time.After(time.Duration(p.trains) * time.Second):
			p.sync.Publish(step, "v"+strconv.Itoa(step))
		case <-ctx.Done():
			return
		}
	}
}

// run explores all steps.
func (p *pipe) run(t *testing.T, first int, path string) (time.Duration, error) {
	t.Helper()
	store, err := buffer.OpenStore(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if p.order, err = synchronizer.OpenOrder(disk.OS(), path, time.Now); err != nil {
		t.Fatal(err)
	}
	defer p.order.Close()
	s := synchronizer.Schedule{Interval: 1, Window: p.window}
	if p.style == synchronizer.FullyAsync {
		s.Offset = p.window
	}
	p.sync = synchronizer.NewStyle(p.style, s, time.Hour, p.order)
	for v := range p.before + 1 {
		p.sync.Publish(v, "v"+strconv.Itoa(v))
	}
	p.fed, p.began = make(chan int, len(p.explores)), time.Now()
	var trainer sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	trainer.Go(func() { p.train(ctx) })
	defer trainer.Wait()
	defer cancel()
	o := Options{Seed: 5, First: first, Steps: len(p.explores), BatchSize: 2, Runners: p.runners, Advantage: keep{},
		BaseModel: "base", Warn: func(m string) { t.Error(m) }}
	err = New(o, service{}, p.sync, store, p, Taskset{Name: "n", Tasks: numbers(len(p.explores)), Workflow: p,
		Repeat: 1}, nil).Run(t.Context(), context.Background())
	took := time.Since(p.began)
	close(p.fed)
	return took, err
}

// Two steps are under way at a time. Step 3 begins when step 1 is handed over; step 4 also waits for version 1, step 5
// for version 2. What is published meanwhile changes nothing for a step under way. A step that ends before the one
// before it is handed over after it.
func TestTimeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipe{style: synchronizer.FullyAsync, window: 2, explores: []int{4, 5, 2, 9, 1}, trains: 3, runners: 4}
		if _, err := p.run(t, 1, filepath.Join(t.TempDir(), "order.jsonl")); err != nil {
			t.Fatal(err)
		}
		want := []string{"0s explore 1 at version 0", "0s explore 2 at version 0", "4s handed over 1",
			"4s explore 3 at version 0", "5s handed over 2", "7s explore 4 at version 1", "7s handed over 3",
			"10s explore 5 at version 2", "16s handed over 4", "16s handed over 5"}
		slices.Sort(want) // some are at the same time
		slices.Sort(p.events)
		if !slices.Equal(p.events, want) {
			t.Errorf("events\n%q\nwant\n%q", p.events, want)
		}
	})
}

// Runners that a step leaves idle work on the next one, and never before the tasks of the earlier step have theirs.
// With one step at a time the long tasks come one after another.
func TestWindowFillsRunners(t *testing.T) {
	for window, want := range map[int]time.Duration{1: 24 * time.Second, 2: 12 * time.Second, 4: 8 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			p := &pipe{style: synchronizer.FullyAsync, window: window, explores: []int{6, 6, 6, 6}, runners: 4}
			took, err := p.run(t, 1, filepath.Join(t.TempDir(), "order.jsonl"))
			if err != nil || took != want {
				t.Errorf("%d at a time: %v, %v; want %v; %q", window, took, err, want, p.events)
			}
		})
	}
}

// In style newest a step takes what is published when it begins, waits for nothing, and repeats its choice.
func TestNewest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "order.jsonl")
	for _, first := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			p := &pipe{style: synchronizer.Newest, window: 2, explores: []int{4, 5, 3, 9, 1}, trains: 2, runners: 4}
			if first > 1 { // a trainer that is further by now changes nothing for steps that had begun
				p.before = 2
			}
			if _, err := p.run(t, first, path); err != nil {
				t.Fatal(err)
			}
			var versions []int
			for step := range p.explores {
				v, _ := p.order.Version(step + 1)
				versions = append(versions, v)
			}
			if want := []int{0, 0, 0, 0, 1}; !slices.Equal(versions, want) {
				t.Errorf("begun at step %d: versions %v, want %v; %q", first, versions, want, p.events)
			}
		})
	}
}
