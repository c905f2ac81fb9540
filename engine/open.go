package engine

import (
	"context"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/lifetime"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/sampler"
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
	v, held, err := e.trainer.Open(req.ModelPath, tinker.IsPromised(ctx))
	if err != nil {
		return nil, err
	}
	weights, err := e.memory.Keep(v, req.Owner, "sampling from "+req.ModelPath)
	if err != nil {
		held.End()
		return nil, err
	}
	return sampler.NewClient(e.clients, v, req.Owner, held.And(weights)), nil
}

// EndTokens returns the tokens that end the samples of a base model when a request names none.
func (e *Engine) EndTokens(baseModel string) ([]int32, error) {
	b, err := e.memory.Base(baseModel)
	if err != nil {
		return nil, err
	}
	return slices.Clone(b.Ends), nil
}
