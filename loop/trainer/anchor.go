package trainer

import (
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// knownLogprobs returns what a forward would return, when that is known without one: on a service with exact logprobs
// the samplers' logprobs of experiences that the present weights sampled; or anything for a loss whose gradient does
// not depend on them. onPolicy marks the experiences that the present weights sampled.
func (t *Trainer) knownLogprobs(step int, batch []*experience.Experience) (known [][]float32, onPolicy []bool) {
	all := t.exact
	known, onPolicy = make([][]float32, len(batch)), make([]bool, len(batch))
	for i, e := range batch {
		onPolicy[i] = !e.Info.IsExpert && e.Info.ModelVersion == step-1 && e.Logprobs != nil &&
			e.StopReason != experience.StopPromptTruncated
		all = all && (onPolicy[i] || e.TrainableTokens() == 0)
		known[i] = make([]float32, len(e.Tokens)-1)
		if e.Logprobs != nil {
			copy(known[i][e.PromptLength-1:], e.Logprobs)
		}
	}
	if all || !t.Method.Needs().Logprobs {
		return known, onPolicy
	}
	return nil, onPolicy
}

// anchor says which logprobs the loss compares the present ones with: the samplers' as they are or, with Recompute,
// those of the weights that the step begins with, in copies of the experiences. known and onPolicy are knownLogprobs'.
func (t *Trainer) anchor(ctx context.Context, step int, seq *int64,
	sampled []*experience.Experience) (batch []*experience.Experience, known [][]float32, onPolicy []bool, err error) {
	known, onPolicy = t.knownLogprobs(step, sampled)
	if !t.Recompute || !t.Method.Needs().Old {
		return sampled, known, onPolicy, nil
	}
	if known == nil || !t.exact || !t.Method.Needs().Logprobs { // anything but what the present weights say
		if known, err = t.forward(ctx, seq, sampled); err != nil {
			return nil, nil, nil, err
		}
	}
	batch = make([]*experience.Experience, len(sampled))
	for i, e := range sampled {
		own := *e
		if e.Logprobs != nil {
			own.Logprobs = known[i][e.PromptLength-1:]
		}
		batch[i] = &own
	}
	return batch, known, onPolicy, nil
}

// forward asks for the logprobs of a batch under the present weights, [L−1] per experience.
func (t *Trainer) forward(ctx context.Context, seq *int64, batch []*experience.Experience) ([][]float32, error) {
	req := tinker.ForwardRequest{SeqID: *seq, LossFn: tinker.CrossEntropy}
	var err error
	if req.Data, err = unweighted(batch); err != nil {
		return nil, err
	}
	f, used, err := tinker.Submit(ctx, t.client, req, false)
	*seq += used
	if err != nil {
		return nil, fmt.Errorf("logprobs to begin with: %w", err)
	}
	out, err := f.Wait(ctx)
	if err != nil {
		return nil, fmt.Errorf("logprobs to begin with: %w", err)
	}
	lp, err := joined(batch, recorded(out, tinker.Logprobs), 1)
	if err != nil {
		return nil, fmt.Errorf("logprobs to begin with: %w", err)
	}
	return lp, nil
}
