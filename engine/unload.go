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

// Evict lets go of a model's memory; Restore can make it again from a snapshot. A request that is still queued fails.
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

// forget lets go of a run's state; for good if it was unloaded.
func (e *Engine) forget(r *trainingRun, unloaded bool) {
	r.state = state{}
	e.memory.release(r.id)
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.runs, r.id)
	if unloaded {
		e.unloaded[r.id] = true
	}
}

// errUnloaded is the answer to whatever is asked of a model that is gone.
func errUnloaded(modelID string) error {
	return tinker.Userf("engine: model %s: %w; create another from one of its checkpoints", modelID, tinker.ErrUnloaded)
}

// retire takes no more requests. When all that can run have, the rest, which wait for one that never came, fail, and f
// is called: with an error if the engine closes before.
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
