package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/engine/executor"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Local computes with the processors of this machine what package executor describes: on the compute loop and the
// scheduler of an engine that has no models and keeps nothing. It loads weights when a call names them, and drops the
// least recently used ones.
type Local struct {
	e     *Engine
	limit int64

	mu    sync.Mutex
	bases map[string]*base // by fingerprint
	known []*localWeights  // most recently used last
}

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

// OpenLocal opens an executor in the arithmetic of that name, such as trinity-4-blocked. Of the options it uses
// Threads, Kernel, CacheBytes, TapeBytes, MicroBatch, MaxSequences, IdleAfter, Log and Memory, which here limits the
// versions in memory and is 2 GiB by default.
func OpenLocal(o Options, numerics string) (*Local, error) {
	a, err := parseArithmetic(numerics)
	if err != nil {
		return nil, err
	}
	limit := cmp.Or(o.Memory, 2<<30)
	o.Dir, o.Models, o.Pool, o.Memory = "", nil, nil, 0
	o.defaults()
	e, err := newEngine(o, a)
	if err != nil {
		return nil, err
	}
	return &Local{e: e, limit: limit, bases: map[string]*base{}}, nil
}

// Arithmetics lists the names of all that this version computes on every processor.
func Arithmetics() []string {
	var names []string
	for name := range known() {
		for _, o := range orders() {
			names = append(names, arithmetic{name: name, order: o}.id())
		}
	}
	slices.Sort(names)
	return names
}

// Kernel names the kernel path in use.
func (l *Local) Kernel() string { return l.e.Kernel() }

// Close ends all calls with tinker.ErrClosed.
func (l *Local) Close() error { return l.e.Close() }

// With returns the executor for calls whose weights a source gives.
func (l *Local) With(s Source) executor.Executor { return localCalls{l, s} }

// localCalls is a Local with a source.
type localCalls struct {
	l    *Local
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
	s, err := c.request(ctx, w, t)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f, resolve := tinker.NewFuture[tinker.SampleResponse]()
	s.ctx, s.queue, s.resolve = ctx, w.queue, resolve
	if err := c.l.e.scheduler.submit(s, true); err != nil {
		return nil, err
	}
	<-f.Done() // also after ctx: the weights are in use until then
	out, err := f.Wait(ctx)
	return out.Sequences, err
}

// request checks a task.
func (c localCalls) request(ctx context.Context, w *localWeights, t executor.Sample) (*samplingRequest, error) {
	p := tinker.SamplingParams{MaxTokens: t.MaxTokens, Seed: &t.Seed, Temperature: t.Temperature, TopK: cmp.Or(t.TopK,
		-1),
		TopP: t.TopP, MinP: t.MinP, NoStop: true}
	if t.N < 1 || t.First < 0 || t.MaxTokens < 1 {
		return nil, fmt.Errorf("engine: a task for %d samples from %d of %d tokens", t.N, t.First, t.MaxTokens)
	}
	client := samplingClient{e: c.l.e, version: w.v}
	s, err := client.check(tinker.SampleRequest{Prompt: tinker.Text(t.Prompt), NumSamples: t.N, Params: p})
	if err != nil {
		return nil, err
	}
	s.first, s.seed = t.First, rng.New(t.Seed)
	s.stop.tokens = t.StopTokens
	if len(t.StopStrings) == 0 {
		return s, nil
	}
	table, err := c.tokens(ctx, t.Tokens)
	if err != nil {
		return nil, err
	}
	return s, s.stop.add(t.StopStrings, table)
}

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
	r := c.l.run(w)
	defer c.l.e.training.idle(r)
	l, items, err := r.check(tinker.ForwardRequest{Data: b.Data, LossFn: b.Loss, LossFnConfig: b.Config})
	if err != nil {
		return nil, nil, err
	}
	var into *model.Grads
	if backward {
		into = model.NewGrads(w.shapes)
	}
	if err := r.pass(ctx, l, items, into); err != nil {
		return nil, nil, err
	}
	if !backward {
		return outputsOf(items), nil, nil
	}
	return outputsOf(items), into.Independent(), nil
}

// run is a training run for one call.
func (l *Local) run(w *localWeights) *trainingRun {
	r := &trainingRun{e: l.e, id: w.name.Params, base: w.v.base, lora: w.name.LoRA, bf16: w.name.BF16,
		share: newShare("")}
	r.version = w.v
	return r
}

// outputsOf are the results of computed items.
func outputsOf(items []checkedDatum) []executor.Output {
	outs := make([]executor.Output, len(items))
	for i, it := range items {
		outs[i] = executor.Output{Logprobs: it.logp, Entropy: it.h, Centre: it.mid, Loss: it.sum}
	}
	return outs
}
