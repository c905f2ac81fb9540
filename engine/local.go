package engine

import (
	"cmp"
	"context"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/executor"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/local"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/weights"
)

// Source gives an executor the weights that it lacks.
type Source = local.Source

// Local computes with the processors of this machine what package executor describes: on the compute loop and the
// scheduler of an engine that has no models and keeps nothing. It loads weights when a call names them, and drops the
// least recently used ones.
type Local struct {
	core
	calls *local.Executor
}

// OpenLocal opens an executor in the arithmetic of that name, such as trinity-5-blocked. Of the options it uses
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
	c, err := newCore(o, a)
	if err != nil {
		return nil, err
	}
	return &Local{c, local.New(local.Options{Memory: c.memory, Loop: c.loop, Scheduler: c.scheduler, Numerics: a.id(),
		Limit: limit})}, nil
}

// With returns the executor for calls whose weights a source gives.
func (l *Local) With(s Source) executor.Executor { return l.calls.With(s) }

// Close ends all calls with tinker.ErrClosed.
func (l *Local) Close() error {
	l.close(nil)
	return nil
}

// Executor returns this engine as an executor, for answers of others that are checked or that nobody else
// gives. It computes with the engine's base models and threads; blobs gives adapters and full parameters.
func (e *Engine) Executor(blobs executor.Blobs) executor.Executor {
	return e.self.With(ownSource{blobs, e.memory})
}

// ownSource gives an engine its own base models.
type ownSource struct {
	executor.Blobs
	memory *weights.Memory
}

// Base implements Source.
func (s ownSource) Base(_ context.Context, v executor.Version) (string, error) {
	b, err := s.memory.ByFingerprint(v)
	if err != nil {
		return "", err
	}
	return b.Dir, nil
}

// Kernel names the kernel path in use.
func (c core) Kernel() string { return c.compute.K.Path().String() }

// Speed is how fast the threads can multiply, in GFLOP/s; measuring takes about 0.1 s. Without vector kernels it is an
// estimate.
func (c core) Speed() float64 {
	const portable = 1 // about what portable Go reaches on one thread
	f32, bf16 := c.compute.Peaks(30 * time.Millisecond)
	if rate := max(f32, bf16); rate > 0 {
		return rate
	}
	return portable * float64(c.compute.P.N())
}
