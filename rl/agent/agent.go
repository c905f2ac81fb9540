package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/internal/process"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// Options set Agents up.
type Options struct {
	// Log gets the lines that programs print, each with the name of its task. It must not block for long. nil drops
	// them.
	Log func(task, line string)
	// Folder is where each program gets a folder of its own. The remains of a killed run there are
	// deleted. "" is the system's folder for temporary files, and nothing is deleted.
	Folder string
}

// Agents starts programs. It implements workflow.Carrier. Close it.
type Agents struct {
	opts  Options
	guard *process.Guard

	slots workflow.Slots // of the programs of one command
	clear func() error   // empties Options.Folder, once
}

// New returns Agents. Nothing is started before the first rollout.
func New(o Options) *Agents {
	if o.Log == nil {
		o.Log = func(string, string) {}
	}
	return &Agents{opts: o, guard: process.NewGuard(),
		clear: sync.OnceValue(func() error { return empty(o.Folder) })}
}

// empty replaces a folder by an empty one.
func empty(folder string) error {
	if folder == "" {
		return nil
	}
	return errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o700))
}

// Close ends all programs that still run.
func (a *Agents) Close() error {
	err := a.guard.Close()
	if a.opts.Folder != "" {
		err = errors.Join(err, os.RemoveAll(a.opts.Folder))
	}
	return err
}

// Check implements workflow.Carrier.
func (a *Agents) Check(values map[string]any) (workflow.Carrying, error) {
	read, err := readArgs(values)
	if err != nil {
		return nil, err
	}
	return &carrying{agents: a, args: read}, nil
}

// carrying implements workflow.Carrying.
type carrying struct {
	agents *Agents
	args
}

// Limits implements workflow.Carrying.
func (c *carrying) Limits() workflow.Limits { return c.limits }

// Carry implements workflow.Carrying.
func (c *carrying) Carry(ctx context.Context, w workflow.Work) ([]workflow.Part, error) {
	key := fmt.Sprint(c.concurrency, "\x00", strings.Join(c.command, "\x00"))
	leave, err := c.agents.slots.Enter(ctx, key, c.concurrency)
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
