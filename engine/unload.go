package engine

import (
	"context"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/lifetime"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/training"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

var _ tinker.Unloader = (*Engine)(nil)

// UnloadModel implements tinker.Unloader.
func (e *Engine) UnloadModel(ctx context.Context, modelID string) (*tinker.Future[tinker.UnloadOutput], error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	out := tinker.UnloadOutput{ModelID: modelID}
	e.mu.Lock()
	r, gone, closed := e.runs[modelID], e.unloaded[modelID], e.group.Ended()
	e.mu.Unlock()
	switch {
	case closed:
		return nil, lifetime.Closed()
	case gone:
		return tinker.Resolved(out, nil), nil
	case r == nil:
		return nil, tinker.Userf("engine: model %s: %w", modelID, tinker.ErrNotFound)
	}
	f, resolve := tinker.NewFuture[tinker.UnloadOutput]()
	r.Retire(func(err error) {
		if err == nil {
			e.forget(r, true)
		}
		resolve(out, err)
	})
	return f, nil
}

// Evict releases a model's memory; Restore can make it again from a snapshot. A request that is still queued fails.
func (e *Engine) Evict(ctx context.Context, modelID string) error {
	r, err := e.find(modelID)
	if err != nil || r == nil {
		return err
	}
	done := make(chan error, 1)
	r.Retire(func(err error) {
		if err == nil {
			e.forget(r, false)
		}
		done <- err
	})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// forget releases a run's state. An unloaded run can never be opened again.
func (e *Engine) forget(r *training.Run, unloaded bool) {
	r.Release()
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.runs, r.ID())
	if unloaded {
		e.unloaded[r.ID()] = true
	}
}
