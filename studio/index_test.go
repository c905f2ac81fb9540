package studio

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// slow is a folder that indexes nothing but the first step before a gate opens.
type slow struct {
	rollout.Dir
	gate chan struct{}
}

func (s slow) Scan(ctx context.Context, f rollout.File) (*rollout.Segment, error) {
	if f.Name != "step_000001.jsonl" {
		<-s.gate
	}
	return s.Dir.Scan(ctx, f)
}

// A step, its groups and its samples are there although the index is not, and the whole table says that it is not.
func TestStepBeforeTheIndex(t *testing.T) {
	root := t.TempDir()
	dir := job(t, root, "a")
	s, server := opened(t, Options{Dirs: []string{root}})
	e := s.runs.all()[0]
	folder := slow{Dir: rollout.Dir(filepath.Join(dir, "rollouts")), gate: make(chan struct{})}
	e.folder = folder
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.lookUp(context.Background(), s.events)
	}()
	run := "/api/runs/" + e.id
	var wait sync.WaitGroup
	wait.Go(func() {
		if got := get[rows](t, server, run+"/samples?step=1", 200); len(got.Samples) != 16 {
			t.Errorf("the first step has %d samples, want 16", len(got.Samples))
		}
	})
	wait.Go(func() {
		if got := get[struct{ Samples []Sample }](t, server, run+"/groups/1/0", 200); len(got.Samples) != 8 {
			t.Errorf("the group has %d samples, want 8", len(got.Samples))
		}
	})
	wait.Go(func() { get[Sample](t, server, run+"/samples/step_000001.0", 200) })
	wait.Go(func() {
		got := get[struct{ Indexed float64 }](t, server, run+"/samples", 200)
		if got.Indexed >= 1 {
			t.Errorf("%g of the run is indexed, and nothing can be", got.Indexed)
		}
	})
	wait.Wait()
	close(folder.gate)
	<-ended
	if got := get[rows](t, server, run+"/samples", 200); len(got.Samples) != 32 {
		t.Errorf("the run has %d samples, want 32", len(got.Samples))
	}
}
