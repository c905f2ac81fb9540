package explorer

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// holed returns a list with holes, with an error or without one, as a workflow that a program brings may do.
type holed struct {
	work
	err error
}

func (h holed) Run(ctx context.Context, r *workflow.Rollout, t workflow.Task) ([]*experience.Experience, error) {
	list, err := h.work.Run(ctx, r, t)
	if err == nil && t.Index%10 == 1 {
		list[0] = nil
		err = h.err
	}
	return list, err
}

// A task whose workflow fails, or returns holes, is a failed task: it is left out and counted, in whole and in
// parts, in training and evaluation.
func TestHolesAreFailures(t *testing.T) {
	for name, failure := range map[string]error{"with an error": errors.New("out of ice"), "without one": nil} {
		for way, parts := range map[string]int{"whole": 0, "in parts": 1} {
			t.Run(name+" "+way, func(t *testing.T) {
				res, err := explore(t, Options{BatchSize: 3, Runners: 2, MaxRepeat: parts},
					holed{newWork(), failure}, 1, 2)
				if err != nil {
					t.Fatal(err)
				}
				if got := res.metrics[0]["rollout/failed_task_count"]; got != 1 || res.sizes[0] != 4 {
					t.Errorf("%v failed tasks and %d experiences, want 1 and 4", got, res.sizes[0])
				}
				if len(res.warns) == 0 || !strings.Contains(strings.Join(res.warns, " "), "task 11") {
					t.Errorf("warnings %q, want one of task 11", res.warns)
				}
			})
		}
	}
}

func TestHolesInEvaluation(t *testing.T) {
	f := newFixture(t, t.TempDir(), 9)
	set := Taskset{Name: "held out", Tasks: numbers(1), Workflow: holed{newWork(), errors.New("out of ice")}, Repeat: 2}
	x := New(Options{Warn: func(string) {}, BaseModel: "base", BatchSize: 3}, service{}, f.sync, f.store, f.sink,
		Taskset{}, []Taskset{
			{Name: set.Name, Tasks: three{}, Workflow: set.Workflow, Repeat: 2}})
	m, err := x.Evaluate(t.Context(), 0, "", "eval/")
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := m["eval/held out/accuracy/mean@2"]; !ok || got != 0.5 {
		t.Errorf("metrics %v, want those of the tasks that did not fail", m)
	}
}

// three is a taskset of three tasks.
type three struct{}

func (three) Batch(step, _ int) ([]workflow.Task, error) { return numbers(1).Batch(step, 3) }

// together is a workflow whose tasks end when three of them run.
type together struct {
	work
	here *sync.WaitGroup
}

func (w together) Run(ctx context.Context, r *workflow.Rollout, t workflow.Task) ([]*experience.Experience, error) {
	w.here.Done()
	w.here.Wait()
	return w.work.Run(ctx, r, t)
}

// An evaluation has a number of tasks at a time of its own.
func TestEvaluationTasksAtATime(t *testing.T) {
	f := newFixture(t, t.TempDir(), 9)
	w := together{newWork(), new(sync.WaitGroup)}
	w.here.Add(3)
	x := New(Options{Warn: func(m string) { t.Error(m) }, BaseModel: "base", BatchSize: 3, Runners: 1, EvalRunners: 3,
		Timeout: time.Minute}, service{}, f.sync, f.store, f.sink, Taskset{},
		[]Taskset{{Name: "e", Tasks: three{}, Workflow: w, Repeat: 2}})
	if _, err := x.Evaluate(t.Context(), 0, "", "eval/"); err != nil {
		t.Fatal(err)
	}
}
