package explorer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/loop/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// slow takes as long as its table says for each row of each step, and counts who runs at a time.
type slow struct {
	took func(t workflow.Task) time.Duration

	mu        sync.Mutex
	now, most int
}

func (w *slow) Run(ctx context.Context, r *workflow.Rollout, t workflow.Task) ([]*experience.Experience, error) {
	w.mu.Lock()
	w.now++
	w.most = max(w.most, w.now)
	w.mu.Unlock()
	defer func() { w.mu.Lock(); w.now--; w.mu.Unlock() }()
	select {
	case <-time.After(w.took(t)):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return work{mu: new(sync.Mutex), ran: map[string]int{}, with: map[string]string{}}.Run(ctx, r, t)
}

// result is what came of exploring.
type result struct {
	elapsed time.Duration
	metrics []map[string]float64
	sizes   []int
	warns   []string
	notes   []string
	ids     []string
}

// explore runs o over a taskset of steps and says what came of it.
func explore(t *testing.T, o Options, w workflow.Workflow, steps, repeat int) (result, error) {
	return exploreWindow(t, 1, o, w, steps, repeat)
}

// exploreWindow is explore with several steps under way.
func exploreWindow(t *testing.T, window int, o Options, w workflow.Workflow,
	steps, repeat int) (res result, err error) {
	t.Helper()
	store, err := buffer.OpenStore(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	sync_ := synchronizer.New(synchronizer.Schedule{Interval: 1, Offset: 99, Window: window}, time.Hour)
	sync_.Publish(0, "")
	var mu sync.Mutex
	o.Seed, o.First, o.Advantage, o.BaseModel = 5, 1, keep{}, "base"
	o.Warn = func(m string) { mu.Lock(); defer mu.Unlock(); res.warns = append(res.warns, m) }
	o.Note = func(event string, step int, detail string) error {
		mu.Lock()
		defer mu.Unlock()
		res.notes = append(res.notes, fmt.Sprint(event, " ", step, " ", detail))
		return nil
	}
	sink := metricSink(func(m map[string]float64, list []*experience.Experience) {
		res.metrics, res.sizes = append(res.metrics, m), append(res.sizes, len(list))
		for _, e := range list {
			res.ids = append(res.ids, e.EID.RID())
		}
	})
	begin := time.Now()
	err = New(o, service{}, sync_, store, sink, Taskset{Name: "n", Tasks: numbers(steps), Workflow: w, Repeat: repeat},
		nil).Run(t.Context(), context.Background())
	res.elapsed = time.Since(begin)
	return res, err
}

type metricSink func(m map[string]float64, list []*experience.Experience)

func (f metricSink) Explored(_ context.Context, _ int, m map[string]float64, list []*experience.Experience) error {
	f(m, list)
	return nil
}

func seconds(list ...int) func(workflow.Task) time.Duration {
	return func(t workflow.Task) time.Duration { return time.Duration(list[t.Index%10]) * time.Second }
}

// Tasks of 1, 1, 3 and 6 seconds, enough with two and three seconds more: the last one is left out.
func TestOverRollout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		res, err := explore(t, Options{BatchSize: 4, Runners: 4, MinTasks: 2, WaitAfterMin: 3 * time.Second},
			&slow{took: seconds(1, 1, 3, 6)}, 1, 1)
		if err != nil || res.elapsed != 4*time.Second {
			t.Fatalf("%v after %v, want 4 s", err, res.elapsed)
		}
		if res.sizes[0] != 3 || res.metrics[0]["rollout/finished_task_count"] != 3 ||
			res.metrics[0]["rollout/left_out_task_count"] != 1 {
			t.Errorf("%d samples, metrics %v", res.sizes[0], res.metrics[0])
		}
		if want := []string{"left_out 1 task 3"}; !slices.Equal(res.notes, want) {
			t.Errorf("noted %q, want %q", res.notes, want)
		}
	})
	synctest.Test(t, func(t *testing.T) { // nobody is late: nobody waits
		res, err := explore(t, Options{BatchSize: 4, Runners: 4, MinTasks: 2, WaitAfterMin: time.Hour},
			&slow{took: seconds(1, 1, 3, 6)}, 1, 1)
		if err != nil || res.elapsed != 6*time.Second || res.sizes[0] != 4 {
			t.Errorf("%v after %v with %v samples, want all 4 after 6 s", err, res.elapsed, res.sizes)
		}
	})
}

// repeats plays repetitions side by side that take as many seconds as its list says.
type repeats []int

func (w repeats) Run(ctx context.Context, r *workflow.Rollout, t workflow.Task) ([]*experience.Experience, error) {
	return workflow.Repeat(ctx, r, t.Repeat, func(ctx context.Context, run int) ([]*experience.Experience, error) {
		one := t
		one.Repeat = 1
		list, err := (&slow{took: func(t workflow.Task) time.Duration {
			return time.Duration(w[run]) * time.Second * time.Duration(1+t.Index%10)
		}}).Run(ctx, r, one)
		for _, e := range list {
			e.EID.Run = run
		}
		return list, err
	})
}

// The finished repetitions of a task that is left out count as a smaller group if that is wanted.
func TestPartialTasks(t *testing.T) {
	for _, tt := range []struct {
		partial bool
		ids     []string
		notes   []string
	}{
		{false, []string{"1/0/0", "1/0/1", "1/0/2"}, []string{"left_out 1 task 1"}},
		{true, []string{"1/0/0", "1/0/1", "1/0/2", "1/1/0", "1/1/1"}, []string{"partial 1 task 1: 2 of 3 repetitions"}},
	} {
		synctest.Test(t, func(t *testing.T) { // the first task is done after 5 s, the other is cut off at 7 s
			res, err := explore(t, Options{BatchSize: 2, Runners: 2, MinTasks: 1, WaitAfterMin: 2 * time.Second,
				Partial: tt.partial}, repeats{1, 3, 5}, 1, 3)
			if err != nil || res.elapsed != 7*time.Second || !slices.Equal(res.ids, tt.ids) ||
				!slices.Equal(res.notes, tt.notes) || res.metrics[0]["rollout/left_out_task_count"] != 1 {
				t.Errorf("%v after %v: %v, notes %q, metrics %v", err, res.elapsed, res.ids, res.notes, res.metrics)
			}
		})
	}
}

// A step is not cut off while an earlier one is under way.
func TestOverRolloutOfTheOldest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took := func(t workflow.Task) time.Duration {
			if t.Batch == "1" {
				return 5 * time.Second
			}
			return seconds(1, 4)(t)
		}
		res, err := exploreWindow(t, 2, Options{BatchSize: 2, Runners: 4, MinTasks: 1, WaitAfterMin: time.Second},
			&slow{took: took}, 2, 1)
		if err != nil || res.elapsed != 5*time.Second || !slices.Equal(res.sizes, []int{2, 2}) || len(res.notes) != 0 {
			t.Errorf("%v after %v: %v samples, notes %q", err, res.elapsed, res.sizes, res.notes)
		}
	})
}

// After four tasks of 1 s tasks of 4 s are given up at 3 s, and tasks of 2 s are not.
func TestDynamicTimeout(t *testing.T) {
	took := func(second int) func(workflow.Task) time.Duration {
		return func(t workflow.Task) time.Duration {
			if t.Batch == "1" {
				return time.Second
			}
			return time.Duration(second) * time.Second
		}
	}
	o := Options{BatchSize: 4, Runners: 4, Timeout: time.Hour, DynamicTimeout: 3, WarmupSteps: 1}
	synctest.Test(t, func(t *testing.T) {
		res, err := explore(t, o, &slow{took: took(4)}, 2, 1)
		if err == nil || !strings.Contains(err.Error(), "all 4 tasks failed") || res.elapsed != 4*time.Second {
			t.Errorf("%v after %v, want that all failed after 1+3 s", err, res.elapsed)
		}
		if len(res.warns) != 4 || !strings.Contains(res.warns[0], "no answer within 3s (explorer.dynamic_timeout)") {
			t.Errorf("warnings %q", res.warns)
		}
	})
	synctest.Test(t, func(t *testing.T) { // the mean does not count yet
		o := o
		o.WarmupSteps = 2
		if res, err := explore(t, o, &slow{took: took(4)}, 2, 1); err != nil || res.elapsed != 5*time.Second {
			t.Errorf("%v after %v, want no limit for 1+4 s", err, res.elapsed)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		res, err := explore(t, o, &slow{took: took(2)}, 2, 1)
		if err != nil || len(res.sizes) != 2 || res.sizes[1] != 4 {
			t.Errorf("%v: %v samples, want 4 of the second step", err, res.sizes)
		}
	})
}

// max_timeout is that of one attempt, and every retry has it anew.
func TestTimeoutPerAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		res, err := explore(t, Options{BatchSize: 2, Runners: 2, Timeout: 5 * time.Second, Retries: 2},
			&slow{took: seconds(1, 100)}, 1, 1)
		if err != nil || res.elapsed != 15*time.Second || res.sizes[0] != 1 {
			t.Errorf("%v after %v with %v samples, want one after 3 × 5 s", err, res.elapsed, res.sizes)
		}
	})
}

// A task's repetitions may run in parts: ids are as if they had not, and no more parts run at a time than there are
// runners.
func TestParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slow{took: seconds(1, 1)}
		res, err := explore(t, Options{BatchSize: 2, Runners: 3, MaxRepeat: 3}, w, 1, 8)
		if err != nil || res.sizes[0] != 16 || w.most != 3 {
			t.Fatalf("%v: %v samples, %d parts at a time; want 16 and 3", err, res.sizes, w.most)
		}
		var want []string
		for task := range 2 {
			for run := range 8 {
				want = append(want, fmt.Sprintf("1/%d/%d", task, run))
			}
		}
		if !slices.Equal(res.ids, want) {
			t.Errorf("ids %v, want %v", res.ids, want)
		}
	})
	synctest.Test(t, func(t *testing.T) { // one part fails
		res, err := explore(t, Options{BatchSize: 1, Runners: 3, MaxRepeat: 2}, failing{}, 1, 4)
		if err != nil || res.sizes[0] != 2 || len(res.warns) != 1 ||
			!strings.Contains(res.warns[0], "2 of 4 repetitions are left out") {
			t.Errorf("%v: %v samples, warnings %q", err, res.sizes, res.warns)
		}
	})
}

// failing fails every second part.
type failing struct{}

func (failing) Run(ctx context.Context, r *workflow.Rollout, t workflow.Task) ([]*experience.Experience, error) {
	first := workflow.Task{Batch: "1", ID: "0"}
	(&Explorer{Options: Options{Seed: 5}}).name(&first, "1", "0", 4)
	if t.Seed != first.Seed {
		return nil, errors.New("no answer")
	}
	return newWork().Run(ctx, r, t)
}
