package trainer

import (
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/algorithm"
	"github.com/seed-d9ad8ee0/trinity/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// referenceLogprobs asks the base model for the logprobs of the responses, [R] each; nil when the method does not need them.
func (t *Trainer) referenceLogprobs(ctx context.Context, batch []*experience.Experience) ([][]float32, error) {
	if !t.Method.Needs().Ref {
		return nil, nil
	}
	if t.reference == nil { // a KL penalty needs it, the loss does not
		var err error
		if t.reference, err = t.service.SamplingClient(ctx, tinker.SamplingClientRequest{BaseModel: t.Create.BaseModel}); err != nil {
			return nil, fmt.Errorf("reference model: %w", err)
		}
	}
	p := tinker.DefaultSampling()
	p.MaxTokens = 1
	p.Seed = new(uint64)
	futures := make([]*tinker.Future[tinker.SampleResponse], len(batch))
	for i, e := range batch {
		f, err := t.reference.Sample(ctx, tinker.SampleRequest{Prompt: tinker.Text(e.Tokens), NumSamples: 1, Params: p, PromptLogprobs: true})
		if err != nil {
			return nil, fmt.Errorf("reference logprobs of sample %s: %w", e.EID, err)
		}
		futures[i] = f
	}
	refs := make([][]float32, len(batch))
	for i, e := range batch {
		r, err := futures[i].Wait(ctx)
		if err != nil {
			return nil, fmt.Errorf("reference logprobs of sample %s: %w", e.EID, err)
		}
		refs[i] = r.PromptLogprobs[e.PromptLength:]
	}
	return refs, nil
}

// score computes the advantages that are late, and sends the critic, if there is one, what it has to learn from the returns.
// learned waits for that and returns its metrics.
func (t *Trainer) score(ctx context.Context, step int, batch []*experience.Experience, refs [][]float32) (
	metrics map[string]float64, learned func(context.Context) (map[string]float64, error), err error) {
	fetched := make([]algorithm.Fetched, len(batch))
	for i := range refs {
		fetched[i].Ref = refs[i]
	}
	for i, e := range batch {
		fetched[i].Baseline = e.Info.Baseline
	}
	learned = func(context.Context) (map[string]float64, error) { return nil, nil }
	if t.critic == nil {
		metrics, err = t.Method.Score(batch, fetched)
		return metrics, learned, err
	}
	v, err := t.critic.values(ctx, batch)
	if err != nil {
		return nil, nil, err
	}
	for i := range v.values {
		fetched[i].Values = v.values[i]
	}
	if metrics, err = t.Method.Score(batch, fetched); err != nil {
		return nil, nil, err
	}
	returns, masks := make([][]float32, len(batch)), make([][]bool, len(batch))
	for i, e := range batch {
		returns[i], masks[i] = e.Returns, e.ActionMask
	}
	out := algorithm.CriticMetrics(returns, v.values, masks)
	collect(out, metrics)
	learned, err = t.critic.train(ctx, t.adam(step), batch, v.logprobs)
	return out, learned, err
}

// Fetches says what this trainer can fetch of what a method may need.
func Fetches() algorithm.Needs {
	return algorithm.Needs{Old: true, Advantages: true, Logprobs: true, Reward: true, Ref: true, Values: true, Pairs: true, Baseline: true}
}
