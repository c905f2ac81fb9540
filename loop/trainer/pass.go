package trainer

import (
	"context"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// pass is one gradient of a batch with the optimizer step after it, on their way.
type pass struct {
	gradient *tinker.Future[tinker.ForwardOutput]
	step     *tinker.Future[tinker.OptimStepOutput]
	trained  tinker.ForwardOutput
	outcome  map[string]float64 // metrics
	left     []bool             // by experience: it has no gradient and was not sent
}

// send sends a pass. known are the logprobs that its forward would return, [L−1] per experience, or nil.
func (t *Trainer) send(ctx context.Context, step int, seq *int64, batch []*experience.Experience,
	fetched []algorithm.Fetched, known [][]float32, adam tinker.AdamParams) (*pass, error) {
	req, p := tinker.ForwardRequest{SeqID: *seq}, &pass{}
	var err error
	if req.Data, err = data(batch); err != nil {
		return nil, err
	}
	f, used, err := t.sendGradient(ctx, step, req, p, batch, fetched, known)
	*seq += used
	if err != nil {
		return nil, err
	}
	p.gradient = f
	p.step, err = sendStep(ctx, t.client, seq, adam)
	return p, err
}

// sendStep asks for an optimizer step, with the next SeqID.
func sendStep(ctx context.Context, c tinker.TrainingClient, seq *int64, adam tinker.AdamParams) (
	*tinker.Future[tinker.OptimStepOutput], error) {
	return tinker.Numbered(seq, func(n int64) (*tinker.Future[tinker.OptimStepOutput], error) {
		return c.OptimStep(ctx, tinker.OptimStepRequest{SeqID: n, Adam: adam})
	})
}

// sendGradient asks for the gradient of the data in req: of the service's loss function, or of the Method's loss.
func (t *Trainer) sendGradient(ctx context.Context, step int, req tinker.ForwardRequest, p *pass,
	batch []*experience.Experience, fetched []algorithm.Fetched, known [][]float32) (
	*tinker.Future[tinker.ForwardOutput], int64, error) {
	if t.LossFn != "" {
		req.LossFn = t.LossFn
		withAdvantages(batch, req.Data)
		return tinker.Submit(ctx, t.client, req, true)
	}
	if known != nil {
		known = apart(batch, known, 1)
	}
	t.askEntropies(step, batch, &req)
	loss := func(logprobs [][]float32) (rows [][]float32, err error) {
		var grad [][]float32
		if grad, p.outcome, err = t.gradient(step, batch, logprobs, fetched); err != nil {
			return nil, err
		}
		p.left = make([]bool, len(batch))
		moves := func(g float32) bool { return g != 0 }
		for i := range batch {
			p.left[i] = t.silent && req.LossFnConfig == nil && !slices.ContainsFunc(grad[i], moves)
		}
		return withoutLeft(batch, apart(batch, grad, 1), p.left), nil
	}
	return tinker.ForwardBackwardCustom(ctx, t.client, req, known, loss)
}

// finishAll waits for the passes of a step. It returns what the algorithm saw in the first, and the means of their
// metrics.
func (t *Trainer) finishAll(ctx context.Context, step int, passes []*pass, batch []*experience.Experience,
	fetched []algorithm.Fetched) (
	first []algorithm.Sequence, outcome map[string]float64, err error) {
	outcomes := make([]map[string]float64, len(passes))
	for i, p := range passes {
		seqs, err := t.finish(ctx, step, p, batch, fetched)
		if err != nil {
			return nil, nil, err
		}
		if outcomes[i] = p.outcome; i == 0 {
			first = seqs
		}
	}
	return first, means(outcomes), nil
}

// finish waits for a pass and completes its metrics. It returns what the algorithm saw of the batch.
func (t *Trainer) finish(ctx context.Context, step int, p *pass, batch []*experience.Experience,
	fetched []algorithm.Fetched) (seqs []algorithm.Sequence, err error) {
	if p.trained, err = p.gradient.Wait(ctx); err != nil {
		return nil, err
	}
	opt, err := p.step.Wait(ctx)
	if err != nil {
		return nil, err
	}
	trained, err := joined(batch, recorded(p.trained, tinker.Logprobs), 1)
	if err != nil {
		return nil, err
	}
	seqs = sequences(step, batch, trained, fetched)
	entropies := takeEntropies(batch, seqs, p.trained)
	if !t.Method.Needs().Logprobs || entropies { // the gradient did not depend on them; the reported loss does
		if _, p.outcome, err = t.Method.Objective.Evaluate(seqs); err != nil {
			return nil, err
		}
	}
	all := map[string]float64{}
	if t.LossFn != "" {
		serviceMetrics(all, p.trained.Metrics, opt.Metrics)
	} else {
		collect(all, p.outcome, p.trained.Metrics, opt.Metrics)
	}
	p.outcome = all
	return seqs, nil
}

// means is the mean of each metric over the passes of a step, as verl reports them.
func means(passes []map[string]float64) map[string]float64 {
	if len(passes) == 1 {
		return passes[0]
	}
	out := map[string]float64{}
	for _, m := range passes {
		for k, v := range m {
			out[k] += v / float64(len(passes))
		}
	}
	return out
}
