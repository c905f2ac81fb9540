package engine

import (
	"context"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/lifetime"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/sampler"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/weights"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// SamplingClient implements tinker.Service.
func (e *Engine) SamplingClient(ctx context.Context, req tinker.SamplingClientRequest) (tinker.SamplingClient, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if (req.BaseModel == "") == (req.ModelPath == "") {
		return nil, tinker.Userf("engine: a sampling client needs a base_model or a model_path, not both: %q, %q",
			req.BaseModel, req.ModelPath)
	}
	if e.group.Ended() {
		return nil, lifetime.Closed()
	}
	open := func(ctx context.Context, path string) (*weights.Version, *weights.Hold, error) {
		return e.openSaved(ctx, path, req.Owner)
	}
	if req.Inflight {
		return e.openInflight(ctx, req, open)
	}
	if req.BaseModel != "" {
		b, err := e.memory.Base(req.BaseModel)
		if err != nil {
			return nil, err
		}
		v, held, err := e.memory.Use(b, tinker.IsPromised(ctx))
		if err != nil {
			return nil, err
		}
		return sampler.NewClient(e.clients, v, req.Owner, held), nil
	}
	v, held, err := open(ctx, req.ModelPath)
	if err != nil {
		return nil, err
	}
	return sampler.NewClient(e.clients, v, req.Owner, held), nil
}

// openInflight opens an in-flight sampler.
func (e *Engine) openInflight(ctx context.Context, req tinker.SamplingClientRequest,
	open sampler.Open) (tinker.SamplingClient, error) {
	if req.ModelPath == "" {
		return nil, tinker.Userf("engine: an in-flight sampler begins with saved weights; name their model_path")
	}
	c, err := sampler.NewInflight(ctx, e.clients, open, req.ModelPath, req.Owner)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// openSaved reads saved weights, whose memory is accounted for until the hold ends.
func (e *Engine) openSaved(ctx context.Context, path, owner string) (*weights.Version, *weights.Hold, error) {
	v, held, err := e.trainer.Open(path, tinker.IsPromised(ctx))
	if err != nil {
		return nil, nil, err
	}
	own, err := e.memory.Keep(v, owner, "sampling from "+path)
	if err != nil {
		held.End()
		return nil, nil, err
	}
	return v, held.And(own), nil
}

// EndTokens returns the tokens that end the samples of a base model when a request names none.
func (e *Engine) EndTokens(baseModel string) ([]int32, error) {
	b, err := e.memory.Base(baseModel)
	if err != nil {
		return nil, err
	}
	return slices.Clone(b.Ends), nil
}
