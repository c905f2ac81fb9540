package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/checkpoint"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/lifetime"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/queue"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/training"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// CreateModel implements tinker.Service.
func (e *Engine) CreateModel(ctx context.Context, req tinker.CreateModelRequest) (tinker.TrainingClient, error) {
	d := queue.NewHasher("create_model").Create(req)
	return e.create(ctx, req.SessionID, req.ModelSeqID, d, func(id string) (*training.Run, error) {
		return e.trainer.Create(id, d, req, tinker.IsPromised(ctx))
	})
}

// CreateModelFromState implements tinker.Service.
func (e *Engine) CreateModelFromState(ctx context.Context,
	req tinker.CreateFromStateRequest) (tinker.TrainingClient, error) {
	h := queue.NewHasher("create_from_state")
	h.Optimizer(req.OptimizerType)
	d := h.Load(req.Path, req.Optimizer)
	return e.create(ctx, req.SessionID, req.ModelSeqID, d, func(id string) (*training.Run, error) {
		return e.trainer.CreateFromState(id, d, req, tinker.IsPromised(ctx))
	})
}

// create returns the run of a session and SeqID, which it makes if there is none.
func (e *Engine) create(ctx context.Context, session string, seq int64, d queue.Digest,
	begin func(id string) (*training.Run, error)) (tinker.TrainingClient, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if session == "" {
		session = fmt.Sprintf("%016x%016x", e.draw(), e.draw())
	}
	if err := checkSession(session, seq); err != nil {
		return nil, err
	}
	e.making.Lock() // one at a time: two requests with one key make one model
	defer e.making.Unlock()
	id := modelID(session, seq)
	if r, err := e.find(id); err != nil {
		return nil, err
	} else if r != nil {
		if r.CreatedBy() != d {
			return nil, tinker.Userf("engine: model %s was created with other settings; use another model_seq_id", id)
		}
		return r, nil
	}
	r, err := begin(id)
	if err == nil {
		err = e.add(r)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

func checkSession(session string, seq int64) error {
	bad := strings.ContainsFunc(session, func(c rune) bool {
		return c == '/' || unicode.IsControl(c) || c == unicode.ReplacementChar
	})
	if bad || len(checkpoint.Escape(modelID(session, seq))) > 240 || seq < 0 {
		return tinker.Userf("engine: session_id %q with model_seq_id %d is invalid; use a short name without "+
			"a slash, and a number of 0 or more", session, seq)
	}
	return nil
}

// modelID is the id of a session's model, in the form that the protocol's clients rely on.
func modelID(session string, seq int64) string { return fmt.Sprintf("%s:train:%d", session, seq) }

// find returns the run of that id, nil if there is none.
func (e *Engine) find(id string) (*training.Run, error) {
	if e.group.Ended() {
		return nil, lifetime.Closed()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.unloaded[id] {
		return nil, queue.Unloaded(id)
	}
	return e.runs[id], nil
}

// model returns the run of that id.
func (e *Engine) model(id string) (*training.Run, error) {
	r, err := e.find(id)
	if err == nil && r == nil {
		err = tinker.Userf("engine: model %s: %w", id, tinker.ErrNotFound)
	}
	return r, err
}

// add registers a run.
func (e *Engine) add(r *training.Run) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.group.Ended() { // under the lock: Close ends the runs that were added before
		r.Release()
		return lifetime.Closed()
	}
	e.runs[r.ID()] = r
	return nil
}

// OpenModel returns the client of an existing model.
func (e *Engine) OpenModel(_ context.Context, modelID string) (tinker.TrainingClient, error) {
	r, err := e.model(modelID)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Models lists the ids of the models in memory, sorted.
func (e *Engine) Models() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Sorted(maps.Keys(e.runs))
}
