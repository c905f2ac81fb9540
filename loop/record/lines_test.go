package record

import (
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// made is what an explore step hands on.
type made struct{ n, version int }

func (m made) list(step int) (list []*experience.Experience) {
	for range m.n {
		e := &experience.Experience{EID: experience.EID{Batch: strconv.Itoa(step)}}
		e.Info.ModelVersion = m.version
		list = append(list, e)
	}
	return list
}

// The lines of explore steps that hand on what each says, and the same lines when the run continues after any train
// step.
func TestTrainLines(t *testing.T) {
	fresh := func(sizes ...int) (steps []made) {
		for i, n := range sizes {
			steps = append(steps, made{n, i})
		}
		return steps
	}
	const n = 4
	for name, c := range map[string]struct {
		steps     []made
		staleness float64
		want      []int
	}{
		"as planned":                         {fresh(8, 8, 8), 9, []int{1, 3, 5}},
		"more, so that a step trains later":  {fresh(24, 8, 8), 9, []int{1, 7, 9}},
		"less, so that a step trains sooner": {fresh(0, 4, 8, 8), 9, []int{1, 1, 2, 4}},
		"the middle of a train step":         {fresh(10, 8, 8), 9, []int{1, 3, 5}},
		"first more, then nothing":           {fresh(24, 0, 0, 0, 0), 9, []int{1, 7, 7, 7, 7}},
		"two passed over, the third trained on": {
			[]made{{4, 0}, {4, 1}, {4, 2}, {4, 1}, {4, 1}, {4, 3}, {4, 4}, {4, 5}}, 0, []int{1, 2, 3, 4, 4, 4, 5, 6}},
		"passed over in the middle of a train step": {[]made{{6, 0}, {4, 0}, {2, 1}, {4, 2}}, 0, []int{1, 2, 2, 2}},
		"passed over from the middle of it on":      {[]made{{6, 0}, {4, 1}, {4, 2}, {4, 2}}, 0, []int{1, 2, 3, 4}},
		"nothing, then one passed over":             {[]made{{4, 0}, {0, 1}, {4, 0}, {4, 1}}, 0, []int{1, 2, 2, 2}},
		"passed over at the end":                    {[]made{{4, 0}, {4, 0}, {4, 0}}, 0, []int{1, 2, 2}},
	} {
		strategy := algorithm.SampleStrategy{MaxStaleness: c.staleness}
		lines := func(after trainer.State) (at []int) {
			l := NewTrainLines(after, n, strategy.MinVersion)
			for step := max(1, after.Position.Step); step <= len(c.steps); step++ {
				at = append(at, l.Line(step, c.steps[step-1].list(step)))
			}
			return at
		}
		if got := lines(trainer.State{}); !slices.Equal(got, c.want) {
			t.Errorf("%s: lines %v, want %v", name, got, c.want)
		}
		for _, state := range trains(t, c.steps, strategy, n, c.want) {
			want := slices.Clone(c.want[state.Position.Step-1:])
			if state.Position.Count > 0 {
				want[0] = 0
			}
			if got := lines(state); !slices.Equal(got, want) {
				t.Errorf("%s: restarted after train step %d at %+v the lines are %v, want %v", name, state.Step,
					state.Position, got, want)
			}
		}
	}
}

// deaf does not hear that the trainer waits.
type deaf struct{}

func (deaf) SetIdle(bool) {}

// trains reads what explore steps hand on as the trainer does, and returns the state after each train step. An explore
// step must have the line of the first train step that reads of it.
func trains(t *testing.T, steps []made, strategy algorithm.SampleStrategy, n int, lines []int) (after []trainer.State) {
	t.Helper()
	h := buffer.NewHandover(buffer.NewQueue(len(steps), 0), deaf{}, nil, buffer.Position{})
	for i, m := range steps {
		if err := h.Put(t.Context(), i+1, m.list(i+1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	from, first := buffer.Samples{From: h, Strategy: strategy}, map[string]int{}
	for step := 1; ; step++ {
		batch, err := from.Read(t.Context(), step, n)
		if errors.Is(err, dataset.ErrEnd) {
			return after
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range batch {
			i, _ := strconv.Atoi(e.EID.Batch)
			if first[e.EID.Batch] == 0 && lines[i-1] != step {
				t.Errorf("explore step %d has line %d, and train step %d is the first to read of it", i, lines[i-1],
					step)
			}
			first[e.EID.Batch] = step
		}
		after = append(after, trainer.State{Step: step, Position: h.Position()})
	}
}

// What explore steps of one line count is added up; of other metrics the last step's stand there.
func TestCountsOfALine(t *testing.T) {
	const failed, reward = "rollout/failed_task_count", "rollout/reward/mean"
	r := Explored{}
	for i, c := range []struct {
		line         int
		failed, want float64
	}{{1, 1, 1}, {1, 0, 1}, {1, 2, 3}, {2, 1, 1}} {
		m := map[string]float64{failed: c.failed, reward: float64(i)}
		if r.count(c.line, m); m[failed] != c.want || m[reward] != float64(i) {
			t.Errorf("explore step %d: %v, want %v failed tasks in its line", i+1, m, c.want)
		}
	}
}
