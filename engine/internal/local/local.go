// Package local is the executor that computes tasks of other machines with weights that they name by hash.
package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/engine/executor"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/compute"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/sampler"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/weights"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Executor computes what package executor describes on a compute loop and a scheduler. It loads weights when a call
// names them, and drops the least recently used ones.
type Executor struct {
	Options

	mu    sync.Mutex
	bases map[string]*weights.Base // by fingerprint
	known []*loaded                // most recently used last
}

// Options configure an executor.
type Options struct {
	Memory    *weights.Memory
	Loop      *compute.Loop
	Scheduler *sampler.Scheduler
	Numerics  string // full name of the arithmetic
	Limit     int64  // bytes of versions in memory
	Named     bool   // its base models are those that the memory serves
}

func New(o Options) *Executor { return &Executor{Options: o, bases: map[string]*weights.Base{}} }

// loaded is a version in memory.
type loaded struct {
	name  executor.Version
	users int
	ready chan struct{} // closed when the rest is there
	err   error

	v      *weights.Version
	held   *weights.Hold  // of the base model
	shapes []model.Tensor // names and shapes of what it trains, sorted by name
	queue  *sampler.Queue
}

// Source gives an executor the weights that it lacks.
type Source interface {
	executor.Blobs
	// Base returns the folder of a version's base model.
	Base(ctx context.Context, v executor.Version) (dir string, err error)
}

// With returns the executor for calls whose weights a source gives.
func (l *Executor) With(s Source) executor.Executor { return calls{l, s} }

// calls is an executor with a source.
type calls struct {
	l    *Executor
	from Source
}

// Sample implements executor.Executor.
func (c calls) Sample(ctx context.Context, v executor.Version, t executor.Sample) ([]tinker.SampledSequence, error) {
	w, err := c.l.use(ctx, v, c.from)
	if err != nil {
		return nil, err
	}
	defer c.l.leave(w)
	var tokens weights.TokenBytes
	if len(t.StopStrings) > 0 {
		if tokens, err = c.tokens(ctx, t.Tokens); err != nil {
			return nil, err
		}
	}
	s, err := sampler.NewTask(w.v, w.queue, t, tokens)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return c.l.Scheduler.Sample(ctx, s)
}

// tokens reads the table of tokens of that hash.
func (c calls) tokens(ctx context.Context, hash string) (t executor.TokenTable, err error) {
	path, err := c.from.Path(ctx, hash)
	if err != nil {
		return t, err
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return t, fmt.Errorf("engine: %w", err)
	}
	return executor.ParseTokenTable(raw)
}

// Forward implements executor.Executor.
func (c calls) Forward(ctx context.Context, v executor.Version, b executor.Batch) ([]executor.Output, error) {
	outs, _, err := c.compute(ctx, v, b, false)
	return outs, err
}

// Gradient implements executor.Executor.
func (c calls) Gradient(ctx context.Context, v executor.Version,
	b executor.Batch) ([]executor.Output, executor.Gradient, error) {
	return c.compute(ctx, v, b, true)
}

func (c calls) compute(ctx context.Context, v executor.Version, b executor.Batch,
	backward bool) ([]executor.Output, executor.Gradient, error) {
	w, err := c.l.use(ctx, v, c.from)
	if err != nil {
		return nil, nil, err
	}
	defer c.l.leave(w)
	if backward && len(w.shapes) == 0 {
		return nil, nil, errors.New("engine: a gradient of weights that nothing is trained of")
	}
	m := compute.NewMember(w.name.Params, "", w.name.LoRA.Rank == 0)
	defer c.l.Loop.Idle(m)
	l, items, err := compute.Check(m.ID, w.v.Base, tinker.ForwardRequest{Data: b.Data, LossFn: b.Loss,
		LossFnConfig: b.Config})
	if err != nil {
		return nil, nil, err
	}
	var into *model.Grads
	if backward {
		into = model.NewGrads(w.shapes)
	}
	if err := c.l.Loop.Run(ctx, m, w.v, l, items, into); err != nil {
		return nil, nil, err
	}
	if !backward {
		return compute.Outputs(items), nil, nil
	}
	return compute.Outputs(items), into.Independent(), nil
}
