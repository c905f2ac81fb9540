package engine

import (
	"context"

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
	r, gone, closed := e.runs[modelID], e.unloaded[modelID], e.closed
	e.mu.Unlock()
	switch {
	case closed:
		return nil, errClosed()
	case gone:
		return tinker.Resolved(out, nil), nil
	case r == nil:
		return nil, tinker.Userf("engine: model %s: %w", modelID, tinker.ErrNotFound)
	}
	f, resolve := tinker.NewFuture[tinker.UnloadOutput]()
	r.q.retire(func(err error) {
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
	r.q.retire(func(err error) {
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
func (e *Engine) forget(r *trainingRun, unloaded bool) {
	r.trainingState = trainingState{}
	e.memory.release(r.id)
	r.held.end()
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.runs, r.id)
	if unloaded {
		e.unloaded[r.id] = true
	}
}

// errUnloaded is the error of every request to an unloaded model.
func errUnloaded(modelID string) error {
	return tinker.Userf("engine: model %s: %w; create another from one of its checkpoints", modelID, tinker.ErrUnloaded)
}

// retire accepts no more requests. When every request that can run has run, those that wait for a missing one fail,
// and f is called. f gets an error if the engine closes before that.
func (q *queue) retire(f func(error)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		f(errClosed())
	case q.retired:
		f(nil)
	default:
		q.leaving = append(q.leaving, f)
		q.kick()
	}
}

// depart ends a queue in which nothing can run any more; q.mu is held.
func (q *queue) depart() {
	q.retired = true
	for seq, e := range q.requests.All() {
		if seq > q.done {
			e.fail(errUnloaded(q.id))
		}
	}
	q.requests.ForgetAll()
	q.bytes = 0
	for _, f := range q.leaving {
		f(nil)
	}
	q.leaving = nil
}
