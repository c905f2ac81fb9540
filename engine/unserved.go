package engine

import (
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// unserved stands for a run whose base model is not there, or cannot be read. It keeps the run's place: requests that
// were accepted end with ErrClosed, so that a journal runs them in a later process, when the base model is back.
type unserved struct {
	info tinker.ModelInfo
	why  error
}

// setAside keeps a run out of use, if the engine keeps such runs; else why is the error.
func (e *Engine) setAside(r *run, base string, done int64, why error) (*unserved, error) {
	if !e.opts.KeepUnserved {
		return nil, why
	}
	u := &unserved{why: why, info: tinker.ModelInfo{ModelID: r.id, BaseModel: base, LoRA: r.lora, NextSeqID: done + 1,
		Unserved: why.Error()}}
	e.opts.Log.Error("a model cannot be used now; it waits until its base model is back", "model", r.id, "error", why)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, errClosed()
	}
	e.unserved[r.id] = u
	return u, nil
}

// standsOn finds and reads the base model of a run that comes from a snapshot or a checkpoint, which must be the one
// it was made with.
func (r *run) standsOn(m manifest, path string) (err error) {
	if r.base, err = r.e.base(m.BaseModel); err != nil {
		return err
	}
	if err := r.fits(m, path); err != nil {
		return err
	}
	_, err = r.root()
	return err
}

func (u *unserved) err() error {
	return fmt.Errorf("engine: model %s cannot be used now: %w: %w", u.info.ModelID, u.why, tinker.ErrClosed)
}

// Info implements tinker.TrainingClient.
func (u *unserved) Info(context.Context) (tinker.ModelInfo, error) { return u.info, nil }

// Forward implements tinker.TrainingClient.
func (u *unserved) Forward(context.Context, tinker.ForwardRequest) (*tinker.Future[tinker.ForwardOutput], error) {
	return nil, u.err()
}

// ForwardBackward implements tinker.TrainingClient.
func (u *unserved) ForwardBackward(context.Context, tinker.ForwardRequest) (*tinker.Future[tinker.ForwardOutput],
	error) {
	return nil, u.err()
}

// OptimStep implements tinker.TrainingClient.
func (u *unserved) OptimStep(context.Context, tinker.OptimStepRequest) (*tinker.Future[tinker.OptimStepOutput], error) {
	return nil, u.err()
}

// SaveState implements tinker.TrainingClient.
func (u *unserved) SaveState(context.Context, tinker.SaveRequest) (*tinker.Future[tinker.SaveOutput], error) {
	return nil, u.err()
}

// LoadState implements tinker.TrainingClient.
func (u *unserved) LoadState(context.Context, tinker.LoadRequest) (*tinker.Future[tinker.LoadOutput], error) {
	return nil, u.err()
}

// SaveWeightsForSampler implements tinker.TrainingClient.
func (u *unserved) SaveWeightsForSampler(context.Context, tinker.SaveRequest) (*tinker.Future[tinker.SaveOutput],
	error) {
	return nil, u.err()
}
