package trainer

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// update sends the gradient of one batch, the optimizer step right after it, both Epochs times, and, when weights are
// due to be published, their save after that, which it does not wait for: published is nil when none is due. It fills
// in the step's metrics.
func (t *Trainer) update(ctx context.Context, step int, seq *int64, sampled []*experience.Experience,
	metrics map[string]float64) (
	published *tinker.Future[tinker.SaveOutput], err error) {
	begin := time.Now()
	batch, known, onPolicy, err := t.anchor(ctx, step, seq, sampled)
	if err != nil {
		return nil, err
	}
	fetched, err := t.fetch(ctx, seq, batch)
	if err != nil {
		return nil, err
	}
	scored, learned, err := t.assignAdvantages(ctx, step, batch, fetched)
	if err != nil {
		return nil, err
	}
	adam := t.adam(step)
	if step <= t.Method.CriticWarmup() {
		adam.LearningRate = 0
	}
	passes := make([]*pass, max(1, t.Epochs))
	for i := range passes {
		if passes[i], err = t.send(ctx, step, seq, batch, fetched, known, adam); err != nil {
			return nil, err
		}
		if t.Method.Needs().Logprobs {
			known = nil // the weights have changed
		}
	}
	if published, err = t.sendPublished(ctx, step, seq); err != nil {
		return nil, err
	}
	first, outcome, err := t.finishAll(ctx, step, passes, batch, fetched)
	if err != nil {
		return nil, err
	}
	if t.exact && step > t.Again {
		trained, err := joined(sampled, recorded(passes[0].trained, tinker.Logprobs), 1)
		if err != nil {
			return nil, err
		}
		checked, err := checkExact(sampled, onPolicy, passes[0].left, trained)
		if err != nil {
			return nil, err
		}
		metrics["train/gap_checked_tokens"] = float64(checked)
	}
	ofCritic, err := learned(ctx)
	if err != nil {
		return nil, err
	}
	collect(metrics, scored, ofCritic, outcome)
	metrics["actor/lr"] = adam.LearningRate
	for i, e := range sampled {
		first[i].Old = e.Logprobs
	}
	batchMetrics(metrics, batch, first, time.Since(begin).Seconds())
	t.tellEntropies(step, batch, first)
	if t.Method.Schema != "dpo" { // whose worse answers end too
		t.ending = endingOf(t.Ends, batch, first)
	}
	if s := t.Method.Schema; s == "sft" || s == "cpt" {
		if nll, ok := meanNLL(first); ok {
			metrics["actor/nll"] = nll
		}
	}
	return published, nil
}

func (t *Trainer) adam(step int) tinker.AdamParams {
	adam := t.Adam
	adam.LearningRate = t.Schedule.At(step)
	return adam
}

func collect(into map[string]float64, from ...map[string]float64) {
	for _, m := range from {
		for k, v := range m {
			into[k] = v
		}
	}
}

// gradient evaluates the algorithm's loss at logprobs, [L−1] per datum, and returns d loss/d logprob, [L−1] per
// experience.
func (t *Trainer) gradient(step int, batch []*experience.Experience, logprobs [][]float32,
	fetched []algorithm.Fetched) ([][]float32, map[string]float64, error) {
	logprobs, err := joined(batch, logprobs, 1)
	if err != nil {
		return nil, nil, err
	}
	outs, metrics, err := t.Method.Objective.Evaluate(sequences(step, batch, logprobs, fetched))
	if err != nil {
		return nil, nil, err
	}
	grad := make([][]float32, len(batch))
	for i, e := range batch {
		grad[i] = make([]float32, len(e.Tokens)-1)
		copy(grad[i][e.PromptLength-1:], outs[i].Gradient)
	}
	return grad, metrics, nil
}

// sequences shows the responses of a step's batch to the algorithm, an episode of several sequences as one.
func sequences(step int, batch []*experience.Experience, logprobs [][]float32,
	fetched []algorithm.Fetched) []algorithm.Sequence {
	seqs := make([]algorithm.Sequence, len(batch))
	for i, e := range batch {
		seqs[i] = algorithm.Sequence{Logprobs: logprobs[i][e.PromptLength-1:], Old: e.Logprobs,
			Advantages: e.Advantages, Mask: e.ActionMask,
			Expert: e.Info.IsExpert, Step: step}
		if fetched != nil {
			seqs[i].Ref = fetched[i].Ref
		}
	}
	return seqs
}

// checkExact compares, bit for bit, what the sampler said of its tokens with what training computed for them. It
// returns the number of tokens. Experiences that were left out were not computed.
func checkExact(batch []*experience.Experience, onPolicy, left []bool, trained [][]float32) (checked int, err error) {
	for i, e := range batch {
		if !onPolicy[i] || left != nil && left[i] {
			continue
		}
		got := trained[i][e.PromptLength-1:]
		for j, want := range e.Logprobs {
			if !e.ActionMask[j] && want == 0 {
				continue // shown to the model in the middle of an episode, not sampled
			}
			if math.Float32bits(got[j]) != math.Float32bits(want) {
				return checked, fmt.Errorf("trainer: token %d of sample %s was sampled with logprob %v, but the "+
					"weights it claims to come from (version %d) give %v: the samples are not on-policy; the sampler "+
					"served other weights, or a checkpoint was changed", j, e.EID, want, e.Info.ModelVersion, got[j])
			}
			checked++
		}
	}
	return checked, nil
}
