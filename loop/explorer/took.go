package explorer

import (
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/moment"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// The names under which upstream reports how long tasks take, in seconds: one workflow with all its repetitions, and
// the task with the attempts that failed before. Where a task is run in parts, both are the mean over its parts.
const (
	runTime  = "time/run_execution"
	taskTime = "time/task_execution"
)

// gradeTime is how long answers of the successful attempt were being graded, in seconds: by the reward function, a
// judge or the step of an environment. Upstream does not report it.
const gradeTime = "time/grade"

// took is how long the parts of one task took, in seconds. It is safe for several goroutines; the nil one forgets.
type took struct {
	mu        sync.Mutex
	run, task []float64
	grade     []float64 // of the parts that graded something
}

func (t *took) add(run, task time.Duration, grading *workflow.Clock) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.run, t.task = append(t.run, run.Seconds()), append(t.task, task.Seconds())
	if d, ok := grading.Graded(); ok {
		t.grade = append(t.grade, d.Seconds())
	}
}

// rolloutTimes adds mean, max and min over the tasks that this process ran: one read back from the store took no time.
func rolloutTimes(m monitor.Metrics, tasks []took) {
	var run, task, grade []float64
	for i := range tasks {
		if t := &tasks[i]; len(t.run) > 0 {
			run, task = append(run, moment.Mean(t.run)), append(task, moment.Mean(t.task))
		}
		if t := &tasks[i]; len(t.grade) > 0 {
			grade = append(grade, moment.Mean(t.grade))
		}
	}
	m.Merge(monitor.Summary("rollout/"+runTime, run))
	m.Merge(monitor.Summary("rollout/"+taskTime, task))
	m.Merge(monitor.Summary("rollout/"+gradeTime, grade))
}
