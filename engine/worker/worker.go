// Package worker is the compute side of a machine that works for others: it decodes tasks, gets the weights that they
// name, computes them with the engine's local executor, and encodes the results. It keeps nothing that matters.
//
// What arrives is checked: a task can make a worker compute, and fill its cache up to a limit, and nothing else.
package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/engine/executor"
)

// Options configure a worker. Cache is required.
type Options struct {
	Cache   string // folder of base models
	Threads int    // default all
	Kernel  string // as of engine.Options
	Memory  int64  // of adapters and full parameters in memory; default 2 GiB
	// CacheBytes limits the base models in Cache; default 100 GiB. The one that was used last always stays.
	CacheBytes int64
	// Hub returns the folder of a model of the hub at a commit; nil, or an error, asks the head for the files.
	Hub func(ctx context.Context, repo, revision string) (dir string, err error)
	Log *slog.Logger
}

// Worker computes tasks. It is safe for concurrent use.
type Worker struct {
	o      Options
	models models

	mu     sync.Mutex
	locals map[string]*engine.Local // by arithmetic
	closed bool
}

// New makes the folder of a worker's base models.
func New(o Options) (*Worker, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.CacheBytes <= 0 {
		o.CacheBytes = 100 << 30
	}
	dir := filepath.Join(o.Cache, "models")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	return &Worker{o: o, locals: map[string]*engine.Local{},
		models: models{dir: dir, limit: o.CacheBytes, hub: o.Hub, log: o.Log}}, nil
}

// Close ends the tasks in progress.
func (w *Worker) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	var errs []error
	for _, l := range w.locals {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

// Have returns the path of a blob, which stays at least until the task is computed.
type Have = func(hash string) (path string, err error)

// Compute returns the answer to a task: equal tasks give equal bytes.
func (w *Worker) Compute(ctx context.Context, payload []byte, have Have) ([]byte, error) {
	t, err := executor.DecodeTask(payload)
	if err != nil {
		return nil, err
	}
	l, err := w.local(t.Version.Numerics)
	if err != nil {
		return nil, err
	}
	return run(ctx, l.With(source{&w.models, have}), t)
}

// run computes a task with an executor.
func run(ctx context.Context, e executor.Executor, t executor.Task) ([]byte, error) {
	switch t.Kind {
	case executor.KindSample:
		out, err := e.Sample(ctx, t.Version, t.Sample)
		if err != nil {
			return nil, err
		}
		return executor.EncodeSamples(out), nil
	case executor.KindForward:
		out, err := e.Forward(ctx, t.Version, t.Batch)
		if err != nil {
			return nil, err
		}
		return executor.EncodeOutputs(t.Kind, out, nil), nil
	}
	out, g, err := e.Gradient(ctx, t.Version, t.Batch)
	if err != nil {
		return nil, err
	}
	return executor.EncodeOutputs(t.Kind, out, g), nil
}

// local returns the executor for an arithmetic, which it opens at the first task.
func (w *Worker) local(numerics string) (*engine.Local, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, errors.New("worker: closed")
	}
	if l := w.locals[numerics]; l != nil {
		return l, nil
	}
	l, err := engine.OpenLocal(engine.Options{Threads: w.o.Threads, Kernel: w.o.Kernel, Memory: w.o.Memory,
		IdleAfter: idleAfter, Log: w.o.Log}, numerics)
	if err != nil {
		return nil, err
	}
	w.locals[numerics] = l
	return l, nil
}

// source gives a task its weights.
type source struct {
	models *models
	have   Have
}

// Path implements executor.Blobs.
func (s source) Path(ctx context.Context, hash string) (string, error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	return s.have(hash)
}

// Base implements engine.Source.
func (s source) Base(ctx context.Context, v executor.Version) (string, error) {
	return s.models.folder(ctx, v, s.have)
}
