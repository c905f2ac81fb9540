package run

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/monitor/console"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/pipeline"
)

// dropSteps is an operator of a program: it drops all experiences of some explore steps.
type dropSteps []string

func (d dropSteps) Process(_ context.Context,
	list []*experience.Experience) ([]*experience.Experience, map[string]float64, error) {
	return slices.DeleteFunc(list, func(e *experience.Experience) bool { return slices.Contains(d, e.EID.Batch) }), nil,
		nil
}

func dropping(steps ...string) map[string]pipeline.Make {
	return map[string]pipeline.Make{"drop_steps": func(map[string]any) (pipeline.Operator, error) {
		return dropSteps(steps), nil
	}}
}

func operatorsOf(list string) string {
	return "data_processor.experience_pipeline.operators=[" + list + "]"
}

// said runs a job, which must end well, and returns what it told the user.
func said(t *testing.T, o Options, args ...string) (*console.Summary, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	var out bytes.Buffer
	o.Out = &out
	sum, err := Run(ctx, load(t, t.TempDir(), args...), o)
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	return sum, out.String()
}

// When nothing is left to train on, the step says how many samples were dropped and by which rule, and the run comes
// to its end.
func TestNothingLeftToTrainOn(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"a reward filter": {[]string{operatorsOf("{name: reward_filter, args: {threshold: 5}}")},
			"all 4 samples were dropped (reward_filter 4)"},
		"equal rewards": {[]string{operatorsOf("{name: reward_std_filter, args: {threshold: 9}}")},
			"all 4 samples were dropped (reward_std_filter 4)"},
		"a threshold": {[]string{"algorithm.advantage_fn_args={std_threshold: 9}"},
			"all 4 samples were dropped (grpo 4)"},
		"a user's operator": {[]string{operatorsOf("{name: drop_steps}")}, "all 4 samples were dropped (drop_steps 4)"},
		"two of them": {[]string{operatorsOf("{name: reward_std_filter, args: {threshold: 0}}, {name: reward_filter, " +
			"args: {threshold: 5}}")},
			"all 4 samples were dropped (reward_"},
	} {
		for _, schedule := range []string{"", "synchronizer.sync_offset=1", "synchronizer.sync_interval=2",
			"synchronizer.sync_style=trainer_driven",
			"synchronizer.sync_style=explorer_driven", "buffer.trainer_input.experience_buffer={storage_type: sql}"} {
			t.Run(name+" "+schedule, func(t *testing.T) {
				args := append(and(tiny, tt.args...), "synchronizer.sync_timeout=30")
				if schedule != "" {
					args = append(args, schedule)
				}
				o := options()
				o.Plugins.Operators = dropping("1", "2", "3")
				sum, out := said(t, o, args...)
				for _, step := range []int{1, 2, 3} {
					if want := fmt.Sprintf("explore step %d: nothing is left to train on: %s", step,
						tt.want); !strings.Contains(out, want) {
						t.Errorf("it does not say %q:\n%s", want, out)
					}
				}
				if !strings.Contains(out, "ended after step 0 of 3: the tasks are done") || sum.Steps != 0 ||
					strings.Contains(out, "reward.svg") {
					t.Errorf("%d steps:\n%s", sum.Steps, out)
				}
			})
		}
	}
}

// Where no group has a signal the step says so, and is trained on as before.
func TestNoSignal(t *testing.T) {
	t.Parallel()
	o := options()
	o.Plugins.Operators = map[string]pipeline.Make{
		"level": func(map[string]any) (pipeline.Operator, error) { return level{}, nil }}
	sum, out := said(t, o, and(tiny, operatorsOf("{name: level}"))...)
	if !strings.Contains(out, "explore step 2: no group has a signal: the advantages (grpo) of all 4 samples are 0") ||
		sum.Steps != 3 {
		t.Errorf("%d steps:\n%s", sum.Steps, out)
	}
	if _, out := said(t, options(), tiny...); strings.Contains(out, "step 1: no group has a signal") &&
		strings.Contains(out, "step 2: no group has a signal") &&
		strings.Contains(out, "step 3: no group has a signal") {
		t.Errorf("every step is said to have no signal:\n%s", out)
	}
}

// level is an operator that gives all experiences one reward.
type level struct{}

func (level) Process(_ context.Context, list []*experience.Experience) ([]*experience.Experience, map[string]float64,
	error) {
	for _, e := range list {
		e.SetReward(1)
	}
	return list, nil, nil
}

// A run in which some steps are dropped whole continues with the others, under every schedule and with explorer and
// trainer apart, and a killed one comes to the same bits.
func TestDroppedStepsInBetween(t *testing.T) {
	t.Parallel()
	base := and(tiny, "buffer.total_steps=5", "trainer.total_steps=5", operatorsOf("{name: drop_steps}"),
		"synchronizer.sync_timeout=30")
	o := options()
	o.Plugins.Operators = dropping("1", "3")
	trained := []string{"actor/", "critic/", "sample/", "response_length/"}
	for _, schedule := range []string{"synchronizer.sync_offset=0", "synchronizer.sync_offset=1",
		"synchronizer.sync_interval=2"} {
		t.Run(schedule, func(t *testing.T) {
			args := append(and(base), schedule)
			want := runs(t, load(t, t.TempDir(), args...), o)
			if len(want) != 3 || want[2].Step != 3 {
				t.Fatalf("%d lines; want 3 steps of 5 that are explored", len(want))
			}
			dir := t.TempDir()
			for n := 1; ; n++ {
				stop := make(chan struct{})
				again := o
				again.Out, again.Stop = &atStep{stop: stop}, stop
				_, err := Run(t.Context(), load(t, dir, args...), again)
				if err == nil {
					break
				}
				if !errors.Is(err, ErrInterrupted) || n > 10 {
					t.Fatalf("start %d: %v", n, err)
				}
			}
			same(t, "stopped and started again", runs(t, load(t, dir, args...), o), want)
			got, err := apart(t, t.TempDir(), o, args...)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "apart", only(got, trained...), only(want, trained...))
		})
	}
}

// twice is an operator that makes two samples of each.
type twice struct{}

func (twice) Process(_ context.Context,
	list []*experience.Experience) ([]*experience.Experience, map[string]float64, error) {
	var all []*experience.Experience
	for _, e := range list {
		other := *e
		other.EID.Run += 1000
		all = append(all, e, &other)
	}
	return all, nil, nil
}

// A run whose rollouts give more than it plans to train on says how many samples were left.
func TestMoreThanPlanned(t *testing.T) {
	t.Parallel()
	o := options()
	o.Plugins.Operators = map[string]pipeline.Make{"twice": func(map[string]any) (pipeline.Operator, error) {
		return twice{}, nil
	}}
	sum, out := said(t, o, and(tiny, operatorsOf("{name: twice}"))...)
	// the explorer may be at its third step when the trainer ends
	if sum.Steps != 3 || !strings.Contains(out, "samples were not trained: rollouts gave more than the 4 of") {
		t.Errorf("%d steps:\n%s", sum.Steps, out)
	}
	if _, out = said(t, options(), tiny...); strings.Contains(out, "were not trained") {
		t.Errorf("as planned:\n%s", out)
	}
}

// atStep presses Ctrl-C when the first step is shown, or another line by its beginning.
type atStep struct {
	line string
	stop chan struct{}
	once sync.Once
}

func (w *atStep) Write(p []byte) (int, error) {
	if strings.HasPrefix(string(p), cmp.Or(w.line, "step ")) {
		w.once.Do(func() { close(w.stop) })
	}
	return len(p), nil
}

// A stage in which nothing is left to train on hands the weights on that it began with.
func TestStageWithNothingLeft(t *testing.T) {
	t.Parallel()
	stages := "stages=[{stage_name: empty, mode: both, data_processor: {experience_pipeline: {operators: [{name: " +
		"reward_filter, args: {threshold: 5}}]}}}, {stage_name: full, mode: both}]"
	sum, out := said(t, options(), and(tiny, stages)...)
	if sum.Steps != 3 || !strings.Contains(out, "ended after step 0 of 3") {
		t.Errorf("%d steps:\n%s", sum.Steps, out)
	}
}
