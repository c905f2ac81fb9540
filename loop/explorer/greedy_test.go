package explorer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// warm is work whose greedy runs have reward 0.25 and may fail.
type warm struct {
	work
	greedy error
}

func (w warm) Run(ctx context.Context, r *workflow.Rollout, t workflow.Task) ([]*experience.Experience, error) {
	list, err := w.work.Run(ctx, r, t)
	if r.Params.Temperature != 0 || err != nil {
		return list, err
	}
	if len(list) != 1 {
		return nil, errors.New("a greedy rollout has one repetition")
	}
	list[0].SetReward(0.25)
	return list, w.greedy
}

// Each task has one greedy rollout: its reward stands at every sample of the task and survives a restart, and it is no
// sample itself.
func TestGreedyBaseline(t *testing.T) {
	dir := t.TempDir()
	for start, ran := range []int{2, 0} { // at first both kinds; the second time the groups are stored
		f, w := newFixture(t, dir, 0), warm{work: newWork()}
		set := Taskset{Name: "n", Tasks: numbers(1), Workflow: w, Repeat: 2}
		set.Rollout.Params.Temperature = 1
		var got []*experience.Experience
		sink := sinkFunc(func(list []*experience.Experience) { got = append(got, list...) })
		x := New(Options{Seed: 5, First: 1, BatchSize: 3, Runners: 2, Greedy: true, Advantage: keep{},
			BaseModel: "base", Warn: func(string) {}},
			service{}, f.sync, f.store, sink, set, nil)
		if err := x.Run(t.Context(), context.Background()); err != nil {
			t.Fatal(err)
		}
		if len(got) != 6 {
			t.Fatalf("start %d: %d samples, want 6: the greedy rollouts are none", start, len(got))
		}
		for _, e := range got {
			if b := e.Info.Baseline; b == nil || *b != 0.25 || e.Metrics["greedy_reward"] != 0.25 {
				t.Errorf("start %d: sample %s has baseline %v and metrics %v", start, e.EID, b, e.Metrics)
			}
		}
		if w.ran["1/0"] != ran {
			t.Errorf("start %d: task 0 ran %d times, want %d", start, w.ran["1/0"], ran)
		}
		f.store.Close()
	}
}

// Without its greedy rollout a task cannot be scored, so it is left out like one that failed.
func TestGreedyFailure(t *testing.T) {
	f, w := newFixture(t, t.TempDir(), 0), warm{work: newWork(), greedy: errors.New("no answer")}
	set := Taskset{Name: "n", Tasks: numbers(1), Workflow: w, Repeat: 2}
	set.Rollout.Params.Temperature = 1
	var warns []string
	x := New(Options{Seed: 5, First: 1, BatchSize: 1, Runners: 1, Greedy: true, Advantage: keep{}, BaseModel: "base",
		Warn: func(m string) { warns = append(warns, m) }},
		service{}, f.sync, f.store, f.sink, set, nil)
	err := x.Run(t.Context(), context.Background())
	if err == nil || !slices.ContainsFunc(warns,
		func(m string) bool { return strings.Contains(m, "greedy rollout: no answer") }) {
		t.Errorf("error %v, warnings %q", err, warns)
	}
}

type sinkFunc func(list []*experience.Experience)

func (f sinkFunc) Explored(_ context.Context, _ int, _ map[string]float64, list []*experience.Experience) error {
	f(list)
	return nil
}
