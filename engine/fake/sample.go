package fake

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// sampler is a tinker.SamplingClient: a base model with biases that never change.
type sampler struct {
	s       *Service
	base    *base
	factors [classes + 1]float64
	flight  *flight // of an in-flight sampler
}

// SamplingClient implements tinker.Service. A state can be sampled from as well, as on the engine.
func (s *Service) SamplingClient(ctx context.Context, req tinker.SamplingClientRequest) (tinker.SamplingClient, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed()
	}
	if req.ModelPath == "" {
		if req.Inflight {
			return nil, tinker.Userf("fake: an in-flight sampler begins with saved weights")
		}
		b, err := s.base(req.BaseModel)
		if err != nil {
			return nil, err
		}
		return newSampler(s, b, [classes + 1]float64{}), nil
	}
	c, err := s.saved(req.ModelPath)
	if err != nil || !req.Inflight {
		return c, err
	}
	return newMover(c, req.ModelPath), nil
}

// saved is a sampler of saved weights; s.mu is held.
func (s *Service) saved(path string) (*sampler, error) {
	c, err := s.read(path, "")
	if err != nil {
		return nil, err
	}
	b, err := s.base(c.BaseModel)
	if err != nil {
		return nil, err
	}
	return newSampler(s, b, c.State.bias()), nil
}

func newSampler(s *Service, b *base, bias [classes + 1]float64) *sampler {
	return &sampler{s: s, base: b, factors: b.table.factors(&bias)}
}

// maxCells limits the tokens with log-probabilities beside an answer, as in the engine.
const maxCells = 1 << 24

// Sample implements tinker.SamplingClient.
func (c *sampler) Sample(ctx context.Context, req tinker.SampleRequest) (*tinker.Future[tinker.SampleResponse], error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	prompt, err := c.base.text("the prompt", req.Prompt)
	if err != nil {
		return nil, err
	}
	if err := c.check(&req, len(prompt)); err != nil {
		return nil, err
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.s.closed {
		return nil, errClosed()
	}
	f, resolve := tinker.NewFuture[tinker.SampleResponse]()
	one, err := c.takeOff(req)
	if err != nil {
		return nil, err
	}
	c.s.drawing.Go(func() { resolve(one.answer(ctx, prompt, req)) })
	return f, nil
}

// check refuses what the contract refuses, and fills in what is left open.
func (c *sampler) check(req *tinker.SampleRequest, prompt int) error {
	p, vocab := &req.Params, c.base.table.vocab
	req.NumSamples = max(req.NumSamples, cmp.Or(req.NumSamples, 1))
	switch {
	case req.NumSamples < 0 || p.MaxTokens < 0 || prompt+max(1, p.MaxTokens) > c.base.context,
		!(p.Temperature >= 0) || math.IsInf(p.Temperature, 0), p.TopK < -1 || p.TopK == 0,
		!(p.TopP > 0 && p.TopP <= 1), !(p.MinP >= 0 && p.MinP <= 1),
		p.NoStop && len(p.StopTokens)+len(p.StopStrings) > 0:
		return tinker.Userf("fake: %d samples of %d + %d tokens with %+v are not possible", req.NumSamples, prompt,
			p.MaxTokens, *p)
	}
	if p.Guide != nil {
		return tinker.Userf("fake: samples have the model's own distribution; leave the guide out")
	}
	p.MaxTokens = cmp.Or(p.MaxTokens, c.base.context-prompt)
	for _, k := range []int{req.TopKPromptLogprobs, req.TopKSampleLogprobs, req.PromptAltTokens} {
		if k < 0 || k > vocab {
			return tinker.Userf("fake: %d log-probabilities of a vocabulary of %d", k, vocab)
		}
	}
	if req.TopKSampleLogprobs*req.NumSamples*p.MaxTokens > maxCells {
		return tinker.Userf("fake: topk_sample_logprobs %d for too many positions", req.TopKSampleLogprobs)
	}
	if m := req.TargetPromptLogprobs; m != nil {
		if err := m.Check(); err != nil {
			return err
		}
		if m.Shape[0] != prompt-1 || slices.Min(m.Values) < -1 || int(slices.Max(m.Values)) >= vocab ||
			slices.Max(m.Values) < 0 {
			return tinker.Userf("fake: target_prompt_logprobs of shape %v for %d tokens", m.Shape, prompt)
		}
	}
	if p.Seed == nil {
		seed := rng.New(0).Stream("unseeded", prompt).At(0)
		p.Seed = &seed
	}
	return nil
}

// answer draws all samples of a request, until ctx or the service ends.
func (c *sampler) answer(ctx context.Context, prompt []int32, req tinker.SampleRequest) (out tinker.SampleResponse,
	err error) {
	ends := func() error {
		if c.s.alive.Err() != nil {
			return errClosed()
		}
		return context.Cause(ctx)
	}
	at := c.base.table.start()
	if err := c.score(prompt, req, &out, ends); err != nil {
		return tinker.SampleResponse{}, err
	}
	for _, t := range prompt {
		at = c.base.table.then(at, t)
	}
	for i := range req.NumSamples {
		q, err := c.draw(at, req, i, ends)
		if err != nil {
			return tinker.SampleResponse{}, err
		}
		out.Sequences = append(out.Sequences, q)
	}
	return out, ends()
}

// draw draws sample i.
func (c *sampler) draw(at prefix, req tinker.SampleRequest, i int, ends func() error) (q tinker.SampledSequence,
	err error) {
	p, u := req.Params, rng.New(*req.Params.Seed).Stream("sample", i)
	text := ""
	for q.StopReason == "" {
		if err := ends(); err != nil {
			return q, err
		}
		r := c.base.table.row(at, c.flight.weights(c, i, &q))
		t := r.draw(p, u.Float64())
		q.Tokens, q.Logprobs = append(q.Tokens, t), append(q.Logprobs, r.of(t))
		if req.TopKSampleLogprobs > 0 {
			q.TopKLogprobs = append(q.TopKLogprobs, r.top(req.TopKSampleLogprobs))
		}
		if len(p.StopStrings) > 0 && c.base.tokens != nil {
			text += string(c.base.tokens.Bytes(t))
		}
		switch {
		case c.stops(t, p, text):
			q.StopReason = tinker.StopStop
		case len(q.Tokens) == p.MaxTokens:
			q.StopReason = tinker.StopLength
		}
		at = c.base.table.then(at, t)
	}
	return q, nil
}

// stops says whether a sample that ends with a token ends there.
func (c *sampler) stops(t int32, p tinker.SamplingParams, text string) bool {
	if p.NoStop {
		return false
	}
	for _, s := range p.StopStrings {
		if strings.Contains(text, s) {
			return true
		}
	}
	if len(p.StopTokens)+len(p.StopStrings) > 0 {
		return slices.Contains(p.StopTokens, t)
	}
	return c.base.table.ends[t]
}

// score fills in what the request asks of its prompt.
func (c *sampler) score(prompt []int32, req tinker.SampleRequest, out *tinker.SampleResponse, ends func() error) error {
	targets := req.TargetPromptLogprobs
	if !req.PromptLogprobs && req.TopKPromptLogprobs == 0 && req.PromptAltTokens == 0 && targets == nil {
		return nil
	}
	if targets != nil {
		out.TargetPromptLogprobs = &tinker.Matrix[float32]{Shape: targets.Shape, Start: targets.Start,
			Columns: targets.Columns, Values: make([]float32, len(targets.Values))}
	}
	first, at := float32(math.NaN()), c.base.table.start()
	var r *row
	for j, t := range prompt {
		if err := ends(); err != nil {
			return err
		}
		if req.PromptLogprobs && j == 0 {
			out.PromptLogprobs = append(out.PromptLogprobs, first)
		} else if req.PromptLogprobs {
			out.PromptLogprobs = append(out.PromptLogprobs, r.of(t))
		}
		if k := req.TopKPromptLogprobs; k > 0 {
			out.TopKPromptLogprobs = append(out.TopKPromptLogprobs, r.top(k))
		}
		if k := req.PromptAltTokens; k > 0 {
			out.PromptAltTokens = append(out.PromptAltTokens, r.alternatives(req.Params, j, k))
		}
		if targets != nil && j > 0 {
			ids, from := targets.Row(j - 1)
			for i, id := range ids {
				if id >= 0 {
					out.TargetPromptLogprobs.Values[from+i] = r.of(id)
				}
			}
		}
		at = c.base.table.then(at, t)
		r = c.base.table.row(at, &c.factors)
	}
	return nil
}

// top has the k likeliest tokens, best first and equal ones by id; nil before the first token.
func (r *row) top(k int) (list []tinker.TokenLogprob) {
	if r == nil {
		return nil
	}
	var logs [classes + 1]float32
	for c := range logs {
		logs[c] = float32(r.log(c))
	}
	for v := range int32(r.t.vocab) {
		list = append(list, tinker.TokenLogprob{Token: v, Logprob: logs[r.t.class[v]]})
	}
	slices.SortStableFunc(list, func(a, b tinker.TokenLogprob) int { return cmp.Compare(b.Logprob, a.Logprob) })
	return list[:k:k]
}

// alternatives draws k tokens at position j; nil at the first.
func (r *row) alternatives(p tinker.SamplingParams, j, k int) (list []tinker.TokenLogprob) {
	if r == nil {
		return nil
	}
	u := rng.New(*p.Seed).Stream("alternatives", j)
	p.TopK, p.TopP, p.MinP = -1, 1, 0
	for range k {
		t := r.draw(p, u.Float64())
		list = append(list, tinker.TokenLogprob{Token: t, Logprob: r.of(t)})
	}
	return list
}

// draw picks the token at u of the cumulative distribution, cut to min_p, top_k and top_p.
func (r *row) draw(p tinker.SamplingParams, u float64) int32 {
	if p.Temperature == 0 {
		return r.top(1)[0].Token
	}
	if p.MinP == 0 && p.TopK < 0 && p.TopP == 1 {
		return r.drawClass(p.Temperature, u)
	}
	list := r.top(r.t.vocab)
	weights, total := make([]float64, len(list)), 0.0
	for i, x := range list {
		weights[i] = math.Exp(float64(x.Logprob-list[0].Logprob) / p.Temperature)
		if weights[i] < p.MinP || p.TopK > 0 && i >= p.TopK {
			weights[i] = 0
		}
		total += weights[i]
	}
	limit, sum := p.TopP*total, 0.0
	for i, w := range weights {
		if sum += w; p.TopP < 1 && sum >= limit {
			total = sum
			clear(weights[i+1:])
			break
		}
	}
	rest := u * total
	for i, w := range weights {
		if rest -= w; rest < 0 && w > 0 {
			return list[i].Token
		}
	}
	return list[0].Token
}

// drawClass is draw from the whole distribution: first a class, then one of its tokens.
func (r *row) drawClass(temperature, u float64) int32 {
	mass, total := r.mass, 1.0
	if temperature != 1 {
		total = 0
		for c, p := range r.p {
			mass[c] = float64(float64(len(r.t.members[c])) * elementary.Pow(p, 1/temperature))
			total += mass[c]
		}
	}
	rest, last := u*total, 0
	for c, m := range mass {
		if m == 0 {
			continue
		}
		if last = c; rest < m {
			break
		}
		rest -= m
	}
	members := r.t.members[last]
	return members[min(int(rest/mass[last]*float64(len(members))), len(members)-1)]
}
