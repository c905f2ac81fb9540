package engine

import (
	"context"
	"io"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Snapshot writes the complete state of a model between two of its requests, and returns the SeqID of the last request
// included. Requests that have been accepted but not executed are not included.
func (e *Engine) Snapshot(ctx context.Context, modelID string, w io.Writer) (applied int64, err error) {
	r, err := e.model(modelID)
	if err != nil {
		return 0, err
	}
	return r.Snapshot(ctx, w)
}

// Restore makes the model of a snapshot, which must not exist yet, and returns its id and the SeqID of the last request
// in it.
func (e *Engine) Restore(ctx context.Context, from io.Reader) (modelID string, applied int64, err error) {
	if ctx.Err() != nil {
		return "", 0, context.Cause(ctx)
	}
	s, err := e.trainer.OpenSnapshot(from)
	if err != nil {
		return "", 0, err
	}
	e.making.Lock()
	defer e.making.Unlock()
	if r, err := e.find(s.ModelID()); err != nil {
		return "", 0, err
	} else if r != nil {
		return "", 0, tinker.Userf("engine: snapshot of model %s: %w", s.ModelID(), tinker.ErrExists)
	}
	r, err := s.Restore(tinker.IsPromised(ctx))
	if err != nil {
		return "", 0, err
	}
	return r.ID(), s.Applied(), e.add(r)
}
