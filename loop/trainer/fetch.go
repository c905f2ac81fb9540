package trainer

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// fetch asks for what the method reads of other models: the logprobs of the responses under the reference and the
// teacher, [R] each, and entropies. It uses up the SeqIDs of what it asks the trained model itself.
func (t *Trainer) fetch(ctx context.Context, seq *int64, batch []*experience.Experience) ([]algorithm.Fetched, error) {
	need := t.Method.Needs()
	ref, err := t.askIf(ctx, need.Ref, t.reference, "reference", batch)
	if err != nil {
		return nil, err
	}
	teacher, err := t.askIf(ctx, need.Teacher, t.teacher, "teacher", batch)
	if err != nil {
		return nil, err
	}
	fetched := make([]algorithm.Fetched, len(batch))
	if need.Entropy || need.Centre {
		if err := t.fetchEntropies(ctx, seq, batch, fetched); err != nil {
			return nil, err
		}
	}
	for i, e := range batch {
		fetched[i].Baseline = e.Info.Baseline
		if fetched[i].Ref, err = ref(i); err != nil {
			return nil, err
		}
		if fetched[i].Teacher, err = teacher(i); err != nil {
			return nil, err
		}
	}
	return fetched, nil
}

// askIf sends all sequences of a batch to a model, or none. The function it returns waits for the i-th response's
// logprobs.
func (t *Trainer) askIf(ctx context.Context, wanted bool, model tinker.SamplingClient, who string,
	batch []*experience.Experience) (func(i int) ([]float32, error), error) {
	if !wanted {
		return func(int) ([]float32, error) { return nil, nil }, nil
	}
	p := tinker.DefaultSampling()
	p.MaxTokens = 1
	p.Seed = new(uint64)
	what := who + " logprobs"
	results, err := askPrompts(ctx, model, what, batch,
		tinker.SampleRequest{NumSamples: 1, Params: p, PromptLogprobs: true})
	if err != nil {
		return nil, err
	}
	return func(i int) ([]float32, error) {
		all, err := results(i)
		if err != nil {
			return nil, err
		}
		var row []float32
		for k, s := range batch[i].Spans() {
			lp := all[k].PromptLogprobs
			if len(lp) != s[1]-s[0] {
				return nil, fmt.Errorf("%s of sample %s: the service returned %d for %d tokens", what, batch[i].EID,
					len(lp), s[1]-s[0])
			}
			row = append(row, lp...)
		}
		return row[batch[i].PromptLength:], nil
	}, nil
}

// promptsAtOnce is how many prompts are on their way to a server at a time: sending one takes a round trip, and writing
// down there what it promises.
const promptsAtOnce = 64

// askPrompts sends each sequence of a batch to a model as a prompt. The function it returns waits for what the
// model says of the i-th experience's sequences.
func askPrompts(ctx context.Context, model tinker.SamplingClient, what string, batch []*experience.Experience,
	req tinker.SampleRequest) (
	func(i int) ([]tinker.SampleResponse, error), error) {
	futures := make([][]*tinker.Future[tinker.SampleResponse], len(batch))
	var sending errgroup.Group // without a context of its own, which would end with the sending
	sending.SetLimit(promptsAtOnce)
	for i, e := range batch {
		spans := e.Spans()
		futures[i] = make([]*tinker.Future[tinker.SampleResponse], len(spans))
		for k, s := range spans {
			sending.Go(func() (err error) {
				own := req
				own.Prompt = tinker.Text(e.Tokens[s[0]:s[1]])
				if futures[i][k], err = model.Sample(ctx, own); err != nil {
					return fmt.Errorf("%s of sample %s: %w", what, e.EID, err)
				}
				return nil
			})
		}
	}
	if err := sending.Wait(); err != nil {
		return nil, err
	}
	return func(i int) ([]tinker.SampleResponse, error) {
		all := make([]tinker.SampleResponse, len(futures[i]))
		for k, f := range futures[i] {
			var err error
			if all[k], err = f.Wait(ctx); err != nil {
				return nil, fmt.Errorf("%s of sample %s: %w", what, batch[i].EID, err)
			}
		}
		return all, nil
	}, nil
}

// openOthers makes the sampling clients of the models that fetch asks.
func (t *Trainer) openOthers(ctx context.Context) (err error) {
	need := t.Method.Needs()
	if need.Ref {
		req := tinker.SamplingClientRequest{ModelPath: t.Reference}
		if t.Reference == "" {
			req.BaseModel = t.Create.BaseModel
		}
		if t.reference, err = t.service.SamplingClient(ctx, req); err != nil {
			return fmt.Errorf("reference model: %w", err)
		}
	}
	if need.Teacher {
		if t.teacher, err = t.service.SamplingClient(ctx, t.Teacher); err != nil {
			return fmt.Errorf("teacher model: %w", err)
		}
	}
	return nil
}

// assignAdvantages computes the advantages that are late, and sends the critic, if there is one, what it has to learn
// from the returns. learned waits for that and returns its metrics.
func (t *Trainer) assignAdvantages(ctx context.Context, step int, batch []*experience.Experience,
	fetched []algorithm.Fetched) (
	metrics map[string]float64, learned func(context.Context) (map[string]float64, error), err error) {
	learned = func(context.Context) (map[string]float64, error) { return nil, nil }
	if t.critic == nil {
		if metrics, err = t.Method.Score(batch, fetched); err == nil && !t.entropies && t.Method.Needs().Entropy {
			metrics[fmt.Sprintf("actor/entropy_estimate_top%d", topTokens)] = meanEstimate(batch, fetched)
		}
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
	learned, err = t.critic.learn(ctx, t.adam(step), batch, v, t.CriticEpochs)
	return out, learned, err
}

// Fetches says what this trainer can fetch of what a method may need.
func Fetches() algorithm.Needs {
	return algorithm.Needs{Old: true, Advantages: true, Logprobs: true, Pairs: true, Reward: true, Ref: true,
		Teacher: true, Values: true, Baseline: true, Entropy: true, Centre: true}
}
