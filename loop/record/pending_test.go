package record

import (
	"context"
	"io"
	"path/filepath"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/monitor/console"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// forever is an exchange that keeps what it gets.
type forever struct {
	buffer.Exchange
	last int
}

func (f *forever) Put(_ context.Context, step int, _ []*experience.Experience) error {
	f.last = step
	return nil
}

func (f *forever) Explored() (step int, kept bool) { return f.last, true }

// opened is an Explored with two explore steps in a line, of a job in dir whose lines up to written are there.
func opened(t *testing.T, dir string, to buffer.Exchange, written int) *Explored {
	t.Helper()
	progress, err := console.Open(console.Options{Out: io.Discard, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	m, err := monitor.Open(monitor.Config{Dir: dir, Keep: written})
	if err != nil {
		t.Fatal(err)
	}
	store, err := buffer.OpenStore(filepath.Join(dir, "pending"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { progress.Close(); m.Close(); store.Close() })
	lines := PlannedLines{Explored: 4, Trained: 8}
	r := &Explored{Rollouts: buffer.Rollouts{FS: disk.OS(), Dir: filepath.Join(dir, "rollouts")}, Monitor: m,
		Progress: progress, To: to, Lines: lines, Pending: &Pending{Store: store, Lines: lines}}
	last, _ := to.Explored()
	if err := r.Resume(last, max(0, written)); err != nil {
		t.Fatal(err)
	}
	return r
}

// The metrics of explore steps that a table keeps come through a restart: those of the steps that are not explored
// again, and what the steps of a line count. A step that was not handed on is explored again, and counts once.
func TestPendingMetrics(t *testing.T) {
	const failed, reward = "rollout/failed_task_count", "rollout/reward/mean"
	dir, to := t.TempDir(), &forever{}
	explore := func(r *Explored, step int) {
		t.Helper()
		err := r.Explored(t.Context(), step, map[string]float64{failed: 1, reward: float64(step)}, nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	commit := func(r *Explored, line, reach, n int) {
		t.Helper()
		m, err := r.Monitor.Commit(line)
		if err != nil || m[reward] != float64(reach) || m[failed] != float64(n) {
			t.Errorf("line %d is %v, %v; want the rewards of step %d and %d failed tasks", line, m, err, reach, n)
		}
		if err := r.Pending.letGo(line); err != nil {
			t.Fatal(err)
		}
	}
	r := opened(t, dir, to, -1)
	for step := 1; step <= 5; step++ {
		explore(r, step)
	}
	commit(r, 1, 2, 2)
	to.last = 4 // killed before it handed on the fifth

	r = opened(t, dir, to, 1)
	if list := r.Pending.Store.Steps(); len(list) != 3 || list[0] != 3 {
		t.Errorf("the metrics of steps %v are kept, want 3 to 5", list)
	}
	for step := 4; step <= 7; step++ { // the fourth for what is learned from it
		explore(r, step)
	}
	commit(r, 2, 4, 2)
	commit(r, 3, 6, 2)
	commit(r, 4, 7, 1)
	if list := r.Pending.Store.Steps(); len(list) > 0 {
		t.Errorf("the metrics of steps %v are kept, and their lines are written", list)
	}
}

// Where the steps before had more to train on than was planned, a step is explored when its line is written already.
// Nothing is kept of it.
func TestPendingAfterItsLine(t *testing.T) {
	r := opened(t, t.TempDir(), &forever{}, -1)
	if err := r.Pending.letGo(2); err != nil {
		t.Fatal(err)
	}
	for step := 3; step <= 5; step++ {
		if err := r.Pending.keep(step, map[string]float64{"a": 1}); err != nil {
			t.Fatal(err)
		}
	}
	if list := r.Pending.Store.Steps(); len(list) != 1 || list[0] != 5 {
		t.Errorf("the metrics of steps %v are kept, want 5", list)
	}
}

// Stopped at any operation, the lines of metrics.jsonl are those of an unbroken run.
func TestPendingEveryCrash(t *testing.T) {
	const failed, reward = "rollout/failed_task_count", "rollout/reward/mean"
	disktest.EveryCrash(t, func(t *testing.T, work string) (disktest.Job, func()) {
		t.Parallel()
		dir, to, committed := filepath.Join(work, "job"), &forever{}, -1
		job := func(fs disk.FS) error {
			progress, err := console.Open(console.Options{Out: io.Discard, Dir: work})
			if err != nil {
				return err
			}
			defer progress.Close()
			store, err := buffer.OpenStore(filepath.Join(dir, "pending"), fs)
			if err != nil {
				return err
			}
			defer store.Close()
			m, err := monitor.OpenOn(fs, monitor.Config{Dir: dir, Keep: committed})
			if err != nil {
				return err
			}
			defer m.Close()
			lines := PlannedLines{Explored: 4, Trained: 8}
			r := &Explored{Rollouts: buffer.Rollouts{FS: fs, Dir: filepath.Join(dir, "rollouts")}, Monitor: m,
				Progress: progress, To: to, Lines: lines, Pending: &Pending{Store: store, Lines: lines}}
			if err := r.Resume(to.last, max(0, committed)); err != nil {
				return err
			}
			for line := max(0, committed) + 1; line <= 2; line++ {
				for step := to.last + 1; step <= 2*line; step++ {
					metrics := map[string]float64{failed: 1, reward: float64(step)}
					if err := r.Explored(t.Context(), step, metrics, nil); err != nil {
						return err
					}
				}
				if _, err := m.Commit(line); err != nil {
					return err
				}
				committed = line
				if err := r.Pending.letGo(line); err != nil {
					return err
				}
			}
			return nil
		}
		return job, func() {
			lines, err := monitor.ReadLog(filepath.Join(dir, "metrics.jsonl"))
			if err != nil || len(lines) != 2 {
				t.Fatalf("the lines are %v, %v", lines, err)
			}
			for i, l := range lines {
				if l.Metrics[reward] != float64(2*i+2) || l.Metrics[failed] != 2 {
					t.Errorf("line %d is %v", i+1, l.Metrics)
				}
			}
		}
	})
}
