package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/internal/process"
	"github.com/seed-d9ad8ee0/trinity/rl/outside"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// World is the agents that a run starts. It implements outside.World and workflow.Carrier.
type World struct {
	folder func(world string) string
	log    func(outside.Line)
	guard  *process.Guard
	slots  workflow.Slots // of the programs of one command

	mu      sync.Mutex
	cleared map[string]error // by the folder of a job
}

const name = "agent" // of the world, and of the workflow's By

// Claims implements outside.World.
func (w *World) Claims(n outside.Named) bool {
	return slices.ContainsFunc(n.Workflows, workflow.Carried{By: name}.Named)
}

// Open implements outside.World. Nothing is started before the first rollout.
func (w *World) Open(_ context.Context, _ outside.Named, s outside.Site) (outside.Parts, error) {
	w.folder, w.log, w.guard, w.cleared = s.Folder, s.Log(name), process.NewGuard(), map[string]error{}
	return outside.Parts{Carriers: map[string]workflow.Carrier{name: w}}, nil
}

// Close implements outside.World. It ends all programs that still run.
func (w *World) Close() error {
	if w.guard == nil {
		return nil
	}
	err := w.guard.Close()
	for folder := range w.cleared {
		err = errors.Join(err, os.RemoveAll(folder))
	}
	return err
}

// here is the folder of the job that is open, in which each program gets a folder of its own. The remains of a killed
// run there are deleted. "" is the system's folder for temporary files, and nothing is deleted.
func (w *World) here() (string, error) {
	folder := w.folder(name)
	if folder == "" {
		return "", nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	err, done := w.cleared[folder]
	if !done {
		err = errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o700))
		w.cleared[folder] = err
	}
	return folder, err
}

// Check implements workflow.Carrier.
func (w *World) Check(values map[string]any) (workflow.Carrying, error) {
	read, err := readArgs(values)
	if err != nil {
		return nil, err
	}
	return &carrying{world: w, args: read}, nil
}

// carrying implements workflow.Carrying.
type carrying struct {
	world *World
	args
}

// Limits implements workflow.Carrying.
func (c *carrying) Limits() workflow.Limits { return c.limits }

// Carry implements workflow.Carrying.
func (c *carrying) Carry(ctx context.Context, w workflow.Work) ([]workflow.Part, error) {
	key := fmt.Sprint(c.concurrency, "\x00", strings.Join(c.command, "\x00"))
	leave, err := c.world.slots.Enter(ctx, key, c.concurrency)
	if err != nil {
		return nil, err
	}
	defer leave()
	parts, err := c.run(ctx, w)
	if err != nil {
		return nil, fmt.Errorf("agent: rollout %s: %w", w.ID, err)
	}
	return parts, nil
}
