// Package worker is the compute side of a machine that works for others: it decodes tasks, gets the weights that they
// name, computes them with the engine's local executor, and encodes the results. It keeps nothing that matters.
//
// What arrives is checked: a task can make a worker compute, and fill its cache up to a limit, and nothing else.
package worker

import (
	"cmp"
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
	// MaxMemory limits weights, KV pages and activations in memory, about; 0 is no limit on base weights, 2 GiB of
	// adapters and full parameters, and the engine's defaults for the rest.
	MaxMemory int64
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
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.CacheBytes <= 0 {
		o.CacheBytes = 100 << 30
	}
	dir := filepath.Join(o.Cache, "models")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	return &Worker{o: o, locals: map[string]*engine.Local{}, models: models{dir: dir, limit: o.CacheBytes,
		memory: o.MaxMemory / 2, hub: o.Hub, log: o.Log}}, nil
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
	return executor.Answer(ctx, payload, func(numerics string) (executor.Executor, error) {
		l, err := w.local(numerics)
		if err != nil {
			return nil, err
		}
		return l.With(source{&w.models, have}), nil
	})
}

// Measure opens the executor for new jobs, whose kernels test themselves, and returns its kernel path and speed in
// GFLOP/s.
func (w *Worker) Measure() (kernels string, speed float64, err error) {
	l, err := w.local(engine.NewNumerics())
	if err != nil {
		return "", 0, err
	}
	return l.Kernel(), l.Speed(), nil
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
	o := engine.Options{Threads: w.o.Threads, Kernel: w.o.Kernel, IdleAfter: idleAfter, Log: w.o.Log}
	if m := w.o.MaxMemory; m > 0 {
		o.Memory, o.CacheBytes, o.TapeBytes = m/4, min(1<<30, m/8), min(1<<30, m/8)
	}
	l, err := engine.OpenLocal(o, numerics)
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
