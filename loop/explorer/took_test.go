package explorer

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// metricsSink keeps each step's metrics.
type metricsSink struct{ steps []map[string]float64 }

func (s *metricsSink) Explored(_ context.Context, _ int, m map[string]float64, _ []*experience.Experience) error {
	s.steps = append(s.steps, m)
	return nil
}

// A task's time has its failed attempts in it, its run's time only the last one; what is read back took none. All of
// them are times, which two runs of one seed need not agree on.
func TestTimesOfTasks(t *testing.T) { synctest.Test(t, timesOfTasks) }

func timesOfTasks(t *testing.T) {
	const attempt = 20 * time.Second
	f, w, s := newFixture(t, t.TempDir(), 0), newWork(), &metricsSink{}
	w.fail = func(_ workflow.Task, n int) error {
		time.Sleep(attempt)
		if n == 1 {
			return errors.New("once")
		}
		return nil
	}
	o := Options{Seed: 5, First: 1, Steps: 1, BatchSize: 3, Runners: 3, Retries: 1, Advantage: keep{},
		BaseModel:    "base",
		EvalInterval: 1, EvalLast: true, Warn: func(string) {}}
	train := Taskset{Name: "n", Tasks: numbers(1), Workflow: w, Repeat: 2}
	held := Taskset{Name: "e", Tasks: numbers(1), Workflow: w, Repeat: 2}
	for range 2 { // the second run reads the groups back
		x := New(o, service{}, f.sync, f.store, s, train, []Taskset{held})
		if err := x.Run(t.Context(), context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	m := s.steps[0]
	runs := []string{"rollout/time/run_execution/min", "rollout/time/run_execution/max", "eval/e/time/run_execution"}
	for _, key := range runs {
		if v, ok := m[key]; !ok || v < attempt.Seconds() || !monitor.IsTime(key) {
			t.Errorf("%s is %v, want at least %v and a time", key, v, attempt)
		}
	}
	for _, key := range []string{"rollout/time/task_execution/mean", "eval/e/time/task_execution"} {
		if v := m[key]; v < 2*attempt.Seconds() || !monitor.IsTime(key) {
			t.Errorf("%s is %v, want both attempts and a time", key, v)
		}
	}
	if v := m["rollout/time/grade/min"]; v < attempt.Seconds() || v > m["rollout/time/run_execution/max"] {
		t.Errorf("rollout/time/grade/min is %v, want the last attempt's", v)
	}
	if m["rollout/time/run_execution/mean"] > m["rollout/time/task_execution/mean"] {
		t.Errorf("the last attempts took longer than all of them: %v", m)
	}
	for key := range s.steps[1] {
		if strings.HasPrefix(key, "rollout/time/") {
			t.Errorf("step 1 read back reports %s", key)
		}
	}
}
