package gem

import (
	"context"
	"fmt"
	"math"

	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// adam are the seed's settings of the optimizer.
func (c *Config) adam() tinker.AdamParams {
	return tinker.AdamParams{LearningRate: c.LearningRate, Beta1: 0.9, Beta2: 0.95, Eps: 1e-8}
}

// update sends the gradient of one batch and the optimizer step right behind it.
func (t *Trainer) update(ctx context.Context, step int, next *state, batch []scored, m monitor.Metrics) error {
	data := make([]tinker.Datum, len(batch))
	for i, s := range batch {
		data[i] = datum(s)
	}
	f, used, err := tinker.Submit(ctx, t.client, tinker.ForwardRequest{SeqID: next.NextSeqID, Data: data, LossFn: tinker.ImportanceSampling}, true)
	next.NextSeqID += used
	if err != nil {
		return err
	}
	o, err := t.client.OptimStep(ctx, tinker.OptimStepRequest{SeqID: next.NextSeqID, Adam: t.Config.adam()})
	next.NextSeqID++
	if err != nil {
		return err
	}
	out, err := f.Wait(ctx)
	if err != nil {
		return err
	}
	opt, err := o.Wait(ctx)
	if err != nil {
		return err
	}
	if len(out.LossFnOutputs) != len(batch) {
		return fmt.Errorf("the service returned %d results for %d turns", len(out.LossFnOutputs), len(batch))
	}
	trained := make([][]float32, len(batch))
	for i, s := range batch {
		if trained[i], err = t.trained(step, s.turn, out.LossFnOutputs[i][tinker.Logprobs].Float); err != nil {
			return err
		}
	}
	policyMetrics(m, batch, trained)
	for _, from := range []map[string]float64{out.Metrics, opt.Metrics} {
		for k, v := range from {
			m["train/"+k] = v
		}
	}
	return nil
}

// datum lays a turn out: input x₁ … x_{L−1}, targets x₂ … x_L; logprobs and advantages are 0 where the target is of the prompt.
func datum(s scored) tinker.Datum {
	tokens, zeros := s.turn.Tokens, max(0, s.turn.PromptLength-1)
	n := len(tokens) - 1
	logprobs, advantages := make([]float32, n), make([]float32, n)
	copy(logprobs[zeros:], s.turn.Logprobs)
	for i := zeros; i < n; i++ {
		advantages[i] = s.advantage
	}
	return tinker.Datum{ModelInput: tinker.Text(tokens[:n]), LossFnInputs: map[string]tinker.Tensor{
		tinker.TargetTokens: tinker.TokenInts(tokens[1:]), tinker.Logprobs: tinker.Floats(logprobs), tinker.Advantages: tinker.Floats(advantages),
	}}
}

// trained are the logprobs that training computed for a turn's answer. Where the service promises it they are the sampler's, bit
// for bit.
func (t *Trainer) trained(step int, turn *experience.Experience, logprobs []float32) ([]float32, error) {
	if len(logprobs) != len(turn.Tokens)-1 {
		return nil, fmt.Errorf("the service returned %d logprobs for the %d targets of turn %s", len(logprobs), len(turn.Tokens)-1, turn.EID)
	}
	got := logprobs[len(logprobs)-len(turn.Logprobs):]
	if !t.exact || step < t.behind {
		return got, nil
	}
	for i, want := range turn.Logprobs {
		if math.Float32bits(got[i]) != math.Float32bits(want) {
			return nil, fmt.Errorf("token %d of turn %s was sampled with logprob %v, but the weights it claims to come from give %v: "+
				"the samples are not on-policy; the sampler served other weights, or a checkpoint was changed", i, turn.EID, want, got[i])
		}
	}
	return got, nil
}
