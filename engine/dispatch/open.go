package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/seed-d9ad8ee0/trinity/engine/executor"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet"
)

// Fleet is the pool of a process with its fleet of workers.
type Fleet struct {
	*Pool
	Head *fleet.Head

	numerics atomic.Pointer[string]
	own      atomic.Pointer[func(executor.Blobs) executor.Executor]
}

// Engine is the part of the engine that a fleet needs.
type Engine interface {
	Executor(executor.Blobs) executor.Executor
	Speed() float64
	NumericsID() string
}

// Open starts the head of a fleet. The engine of this process, which Bind names, decides about answers that differ.
func Open(ctx context.Context, o fleet.HeadOptions) (*Fleet, error) {
	f := &Fleet{}
	o.Local = f.compute
	o.Version = WorkerVersion(o.Version)
	o.Admit = func(a fleet.About) error {
		if n := f.numerics.Load(); n != nil && !computes(a.Numerics, *n) {
			return fmt.Errorf("the job computes in the arithmetic %s and this worker in %s; install the head's "+
				"version of trinity there", *n, a.Numerics)
		}
		return nil
	}
	head, err := fleet.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	f.Head, f.Pool = head, New(Over(head), 1)
	return f, nil
}

// computes reports whether a worker's list of arithmetics, see engine.Arithmetics, has one: its name, or its name
// without the dtype of frozen weights at its end, and that dtype.
func computes(list, numerics string) bool {
	known := strings.Split(list, ",")
	name, dtype := numerics, numerics
	if i := strings.LastIndexByte(numerics, '-'); !slices.Contains(known, numerics) && i >= 0 {
		name, dtype = numerics[:i], numerics[i+1:]
	}
	return slices.Contains(known, name) && slices.Contains(known, dtype)
}

// Bind names the engine. Workers that cannot compute its arithmetic are refused from now on.
func (f *Fleet) Bind(e Engine) {
	n, compute := e.NumericsID(), e.Executor
	f.SetSpeed(e.Speed())
	f.numerics.Store(&n)
	f.own.Store(&compute)
}

// Close ends the head.
func (f *Fleet) Close() error { return f.Head.Close() }

// compute answers a task in this process.
func (f *Fleet) compute(ctx context.Context, t fleet.Task, have func(string) (string, error)) ([]byte, error) {
	own := f.own.Load()
	if own == nil {
		return nil, errors.New("dispatch: the engine is not open yet")
	}
	return executor.Answer(ctx, t.Payload, func(string) (executor.Executor, error) { return (*own)(blobs(have)), nil })
}

// blobs lets an executor get blobs as the fleet does.
type blobs func(hash string) (string, error)

// Path implements executor.Blobs.
func (b blobs) Path(_ context.Context, hash string) (string, error) { return b(hash) }

// WorkerVersion is the version that a worker announces for a version of the program.
func WorkerVersion(program string) string { return fmt.Sprintf("%s (%s)", program, executor.Protocol) }
