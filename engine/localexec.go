package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/engine/executor"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// local computes what package executor describes on a compute loop and a scheduler. It loads weights when a call names
// them, and drops the least recently used ones.
type local struct {
	localOptions

	mu    sync.Mutex
	bases map[string]*base // by fingerprint
	known []*localWeights  // most recently used last
}

// localOptions configure a local.
type localOptions struct {
	memory    *memory
	loop      *computeLoop
	scheduler *scheduler
	numerics  string // full name of the arithmetic
	limit     int64  // bytes of versions in memory
	named     bool   // its base models are those that the memory serves
}

func newLocal(o localOptions) *local { return &local{localOptions: o, bases: map[string]*base{}} }

// localWeights is a version in memory.
type localWeights struct {
	name  executor.Version
	users int
	ready chan struct{} // closed when the rest is there
	err   error

	v      *version
	held   *memoryUse     // of the base model
	shapes []model.Tensor // names and shapes of what it trains, sorted by name
	queue  *samplingQueue
}

// Source gives an executor the weights that it lacks.
type Source interface {
	executor.Blobs
	// Base returns the folder of a version's base model.
	Base(ctx context.Context, v executor.Version) (dir string, err error)
}

// with returns the executor for calls whose weights a source gives.
func (l *local) with(s Source) executor.Executor { return localCalls{l, s} }

// localCalls is a local with a source.
type localCalls struct {
	l    *local
	from Source
}

// Sample implements executor.Executor.
func (c localCalls) Sample(ctx context.Context, v executor.Version,
	t executor.Sample) ([]tinker.SampledSequence, error) {
	w, err := c.l.use(ctx, v, c.from)
	if err != nil {
		return nil, err
	}
	defer c.l.leave(w)
	var tokens TokenBytes
	if len(t.StopStrings) > 0 {
		if tokens, err = c.tokens(ctx, t.Tokens); err != nil {
			return nil, err
		}
	}
	s, err := newTask(w.v, w.queue, t, tokens)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return c.l.scheduler.sample(ctx, s)
}

// tokens reads the table of tokens of that hash.
func (c localCalls) tokens(ctx context.Context, hash string) (t executor.TokenTable, err error) {
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
func (c localCalls) Forward(ctx context.Context, v executor.Version, b executor.Batch) ([]executor.Output, error) {
	outs, _, err := c.compute(ctx, v, b, false)
	return outs, err
}

// Gradient implements executor.Executor.
func (c localCalls) Gradient(ctx context.Context, v executor.Version,
	b executor.Batch) ([]executor.Output, executor.Gradient, error) {
	return c.compute(ctx, v, b, true)
}

func (c localCalls) compute(ctx context.Context, v executor.Version, b executor.Batch,
	backward bool) ([]executor.Output, executor.Gradient, error) {
	w, err := c.l.use(ctx, v, c.from)
	if err != nil {
		return nil, nil, err
	}
	defer c.l.leave(w)
	if backward && len(w.shapes) == 0 {
		return nil, nil, errors.New("engine: a gradient of weights that nothing is trained of")
	}
	m := newMember(w.name.Params, "", w.name.LoRA.Rank == 0)
	defer c.l.loop.idle(m)
	l, items, err := check(m.id, w.v.base, tinker.ForwardRequest{Data: b.Data, LossFn: b.Loss, LossFnConfig: b.Config})
	if err != nil {
		return nil, nil, err
	}
	var into *model.Grads
	if backward {
		into = model.NewGrads(w.shapes)
	}
	if err := c.l.loop.run(ctx, m, w.v, l, items, into); err != nil {
		return nil, nil, err
	}
	if !backward {
		return outputs(items), nil, nil
	}
	return outputs(items), into.Independent(), nil
}
