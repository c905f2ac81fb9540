package trainer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// askEntropies adds the entropy term to a request on a service that computes it: the coefficient, and how much each
// token counts.
func (t *Trainer) askEntropies(step int, batch []*experience.Experience, req *tinker.ForwardRequest) {
	e := t.Method.Objective.Entropy
	if !e.Exact || !e.Measured() {
		return
	}
	req.LossFnConfig = map[string]float64{tinker.EntropyCoef: e.Coef}
	if e.Coef == 0 {
		return // asked for to be shown
	}
	seqs := make([]algorithm.Sequence, len(batch))
	for i, x := range batch {
		seqs[i] = algorithm.Sequence{Mask: x.ActionMask, Expert: x.Info.IsExpert, Step: step}
	}
	rows := make([][]float32, len(batch))
	for i, w := range t.Method.Objective.EntropyWeights(seqs) {
		rows[i] = make([]float32, len(batch[i].Tokens)-1)
		copy(rows[i][batch[i].PromptLength-1:], w)
	}
	for i, row := range apart(batch, rows, 1) {
		req.Data[i].LossFnInputs[tinker.EntropyWeights] = tinker.Floats(row)
	}
}

// takeEntropies shows the responses' entropies, if the service gave any, to the algorithm.
func takeEntropies(batch []*experience.Experience, seqs []algorithm.Sequence, out tinker.ForwardOutput) bool {
	h, err := joined(batch, recorded(out, tinker.Entropy), 1)
	if err != nil {
		return false // it gave none
	}
	for i, e := range batch {
		seqs[i].Entropy = h[i][e.PromptLength-1:]
	}
	return true
}

// tellEntropies hands on what a step's first pass computed.
func (t *Trainer) tellEntropies(step int, batch []*experience.Experience, seqs []algorithm.Sequence) {
	if t.Measured == nil || !t.entropies {
		return
	}
	h := make([][]float32, len(seqs))
	for i, s := range seqs {
		h[i] = s.Entropy
	}
	t.Measured(step, batch, h)
}

// fetchEntropies asks for the entropy and its centre where each response token is predicted, before the update: the
// model itself, where the service computes them, else the sampler whose weights were published last.
func (t *Trainer) fetchEntropies(ctx context.Context, seq *int64, batch []*experience.Experience,
	into []algorithm.Fetched) error {
	if !t.entropies {
		return t.estimateEntropies(ctx, batch, into)
	}
	req := tinker.ForwardRequest{SeqID: *seq, LossFn: tinker.CrossEntropy, LossFnConfig: map[string]float64{
		tinker.EntropyCoef: 0}}
	var err error
	if req.Data, err = unweighted(batch); err != nil {
		return err
	}
	f, used, err := tinker.Submit(ctx, t.client, req, false)
	*seq += used
	if err != nil {
		return fmt.Errorf("entropies: %w", err)
	}
	out, err := f.Wait(ctx)
	if err != nil {
		return fmt.Errorf("entropies: %w", err)
	}
	h, err := joined(batch, recorded(out, tinker.Entropy), 1)
	if err != nil {
		return fmt.Errorf("entropies: %w", err)
	}
	centre, err := joined(batch, recorded(out, tinker.EntropyCentre), 1)
	if err != nil {
		return fmt.Errorf("centres of entropies: %w", err)
	}
	for i, e := range batch {
		into[i].Entropy, into[i].Centre = h[i][e.PromptLength-1:], centre[i][e.PromptLength-1:]
	}
	return nil
}

// topTokens is how many of the likeliest tokens an estimate of an entropy is made of; servers give 20.
const topTokens = 20

// estimateEntropies estimates entropies from the likeliest tokens. All others count as one token, so they come out low.
func (t *Trainer) estimateEntropies(ctx context.Context, batch []*experience.Experience,
	into []algorithm.Fetched) error {
	sampler, err := t.published(ctx)
	if err != nil {
		return err
	}
	p := tinker.DefaultSampling()
	p.MaxTokens, p.Seed = 1, new(uint64)
	results, err := askPrompts(ctx, sampler, "likeliest tokens", batch,
		tinker.SampleRequest{NumSamples: 1, Params: p, TopKPromptLogprobs: topTokens})
	if err != nil {
		return err
	}
	for i, e := range batch {
		all, err := results(i)
		if err != nil {
			return err
		}
		var tops [][]tinker.TokenLogprob
		for k, s := range e.Spans() {
			top := all[k].TopKPromptLogprobs
			if len(top) != s[1]-s[0] {
				return fmt.Errorf("trainer: the service returned the likeliest tokens of %d positions for %d tokens",
					len(top), s[1]-s[0])
			}
			tops = append(tops, top...)
		}
		for _, top := range tops[e.PromptLength:] {
			h, centre := ofTop(top)
			into[i].Entropy, into[i].Centre = append(into[i].Entropy, h), append(into[i].Centre, centre)
		}
	}
	return nil
}

// ofTop is the entropy and its centre of a distribution of which the likeliest tokens are known, the rest taken for one
// token.
func ofTop(top []tinker.TokenLogprob) (entropy, centre float32) {
	h, squares, weighted, rest := 0.0, 0.0, 0.0, 1.0
	add := func(p, lp float64) {
		h, squares, weighted = h-float64(p*lp), squares+float64(p*p), weighted+float64(p*p*lp)
	}
	for _, x := range top {
		p := elementary.Exp(float64(x.Logprob))
		rest -= p
		add(p, float64(x.Logprob))
	}
	if rest > 1e-6 {
		add(rest, elementary.Log(rest))
	}
	return float32(h), float32(weighted + float64(h*squares))
}

// meanEstimate is the mean of what estimateEntropies found, over the trained tokens.
func meanEstimate(batch []*experience.Experience, fetched []algorithm.Fetched) float64 {
	sum, n := 0.0, 0
	for i, e := range batch {
		for k, h := range fetched[i].Entropy {
			if e.ActionMask[k] {
				sum, n = sum+float64(h), n+1
			}
		}
	}
	return sum / float64(max(1, n))
}

// published is a sampler of the weights that were published last; before any are, of those that the run begins with.
func (t *Trainer) published(ctx context.Context) (tinker.SamplingClient, error) {
	path, err := t.newest()
	if err != nil {
		return nil, fmt.Errorf("trainer: weights published last: %w", err)
	}
	req := tinker.SamplingClientRequest{ModelPath: cmp.Or(path, t.Sampler)}
	if req.ModelPath == "" {
		req.BaseModel = t.Create.BaseModel
	}
	c, err := t.service.SamplingClient(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("weights published last: %w", err)
	}
	return c, nil
}

// newest is the path of the newest weights that were published and not deleted since, "" if there are none: a run that
// went back has deleted those of the steps that it trains again.
func (t *Trainer) newest() (string, error) {
	for step := t.state.Step; step > 0; step-- {
		path, err := t.Notes.Path(Sampler, step)
		if !errors.Is(err, fs.ErrNotExist) {
			return path, err
		}
	}
	return "", nil
}
