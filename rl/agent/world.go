package agent

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/rl/outside"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// World is the agents that a run starts. It implements outside.World and workflow.Carrier.
type World struct {
	site outside.Site
	log  func(outside.Line)

	mu     sync.Mutex
	agents map[string]*Agents // by the folder of a job
}

const name = "agent" // of the world, and of the workflow's By

// Claims implements outside.World.
func (w *World) Claims(n outside.Named) bool {
	return slices.ContainsFunc(n.Workflows, workflow.Carried{By: name}.Named)
}

// Open implements outside.World.
func (w *World) Open(_ context.Context, _ outside.Named, s outside.Site) (outside.Parts, error) {
	w.site, w.log, w.agents = s, s.Log(name), map[string]*Agents{}
	return outside.Parts{Carriers: map[string]workflow.Carrier{name: w}}, nil
}

// Close implements outside.World.
func (w *World) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var errs []error
	for _, a := range w.agents {
		errs = append(errs, a.Close())
	}
	return errors.Join(errs...)
}

// Check implements workflow.Carrier.
func (w *World) Check(values map[string]any) (workflow.Carrying, error) {
	read, err := readArgs(values)
	if err != nil {
		return nil, err
	}
	return inJob{w, read}, nil
}

// inJob implements workflow.Carrying, in the folder of the job that is open then.
type inJob struct {
	world *World
	args
}

// Limits implements workflow.Carrying.
func (c inJob) Limits() workflow.Limits { return c.limits }

// Carry implements workflow.Carrying.
func (c inJob) Carry(ctx context.Context, work workflow.Work) ([]workflow.Part, error) {
	return (&carrying{agents: c.world.here(), args: c.args}).Carry(ctx, work)
}

// here are the agents of the job that is open.
func (w *World) here() *Agents {
	folder := w.site.Folder(name)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.agents[folder] == nil {
		w.agents[folder] = New(Options{Folder: folder, Log: func(task, line string) {
			w.log(outside.Line{Text: line, Task: task})
		}})
	}
	return w.agents[folder]
}
