package sampler

import (
	"math"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// maxCells limits the tokens with logprobs that one answer may have besides the samples themselves: 16 Mi, which are
// 128 MiB.
const maxCells = 1 << 24

// checkScores checks the scores that a request asks for; s.most is set.
func (s *Request) checkScores() error {
	b := s.version.Base
	for _, x := range []struct {
		name string
		k, n int // for n positions k tokens each
		less string
	}{
		{"topk_prompt_logprobs", s.promptTop, len(s.prompt), ""},
		{"prompt_alt_tokens_k", s.alternatives, len(s.prompt), ""},
		{"topk_sample_logprobs", s.sampleTop, s.n * s.most, ", a smaller max_tokens or fewer samples"},
	} {
		switch {
		case x.k < 0 || x.k > b.Config.Vocab:
			return tinker.Userf("engine: %s is %d; it must be 0 to %d, the tokens of base model %q", x.name, x.k,
				b.Config.Vocab, b.Name)
		case x.k > 0 && x.n > maxCells/x.k:
			return tinker.Userf(
				"engine: %s is %d for up to %d positions; the product must be at most %d: use a smaller k%s",
				x.name, x.k, x.n, maxCells, x.less)
		}
	}
	if s.targets == nil {
		return nil
	}
	return s.checkTargets()
}

func (s *Request) checkTargets() error {
	b := s.version.Base
	if err := s.targets.Check(); err != nil {
		return tinker.Userf("engine: target_prompt_logprobs: %w", err)
	}
	if rows := len(s.prompt) - 1; s.targets.Shape[0] != rows {
		return tinker.Userf("engine: target_prompt_logprobs has shape %v; a prompt of %d tokens needs %d rows",
			s.targets.Shape, len(s.prompt), rows)
	}
	if len(s.targets.Values) > maxCells {
		return tinker.Userf("engine: target_prompt_logprobs has %d cells; it may have at most %d",
			len(s.targets.Values), maxCells)
	}
	named := false
	for _, id := range s.targets.Values {
		if id < -1 || int(id) >= b.Config.Vocab {
			return tinker.Userf(
				"engine: target_prompt_logprobs names token %d; base model %q has tokens 0 to %d, and -1 is none",
				id,
				b.Name,
				b.Config.Vocab-1,
			)
		}
		named = named || id >= 0
	}
	if !named {
		return tinker.Userf("engine: target_prompt_logprobs names no token; leave it out")
	}
	return nil
}

// makeScores allocates the results.
func (s *Request) makeScores() {
	n := len(s.prompt)
	if s.promptLogprobs {
		s.out.PromptLogprobs = make([]float32, n)
		s.out.PromptLogprobs[0] = float32(math.NaN())
	}
	if s.promptTop > 0 {
		s.out.TopKPromptLogprobs = make([][]tinker.TokenLogprob, n)
	}
	if t := s.targets; t != nil {
		s.out.TargetPromptLogprobs = &tinker.Matrix[float32]{
			Shape:   t.Shape,
			Values:  make([]float32, len(t.Values)),
			Start:   t.Start,
			Columns: t.Columns,
		}
	}
	if s.alternatives > 0 {
		s.out.PromptAltTokens = make([][]tinker.TokenLogprob, n)
	}
}

// wantsPrompt reports whether positions of the prompt must be scored.
func (s *Request) wantsPrompt() bool {
	return s.promptLogprobs || s.promptTop > 0 || s.targets != nil || s.alternatives > 0
}

// scores reports whether position next of the prompt must be scored.
func (s *Request) scores(next int) bool {
	if s.promptLogprobs || s.promptTop > 0 || s.alternatives > 0 {
		return true
	}
	if s.targets == nil || next >= len(s.prompt) {
		return false
	}
	ids, _ := s.targets.Row(next - 1)
	return slices.ContainsFunc(ids, func(id int32) bool { return id >= 0 })
}

// scorePrompt records the scores of position next of the prompt from row [V], whose log-sum-exp is lse.
func (s *Request) scorePrompt(c *Scheduler, next int, row []float32, lse float32) {
	if s.promptLogprobs {
		s.out.PromptLogprobs[next] = logprob(row, lse, s.prompt[next])
	}
	if s.promptTop > 0 {
		s.out.TopKPromptLogprobs[next] = likeliest(row, lse, s.promptTop)
	}
	if s.targets != nil {
		ids, first := s.targets.Row(next - 1)
		for i, id := range ids {
			if id >= 0 {
				s.out.TargetPromptLogprobs.Values[first+i] = logprob(row, lse, id)
			}
		}
	}
	if s.alternatives > 0 {
		s.out.PromptAltTokens[next] = c.alternatives(row, lse, s, s.seed.Stream("prompt alternative", next))
	}
}

// likeliest is the k likeliest tokens, best first.
func likeliest(row []float32, lse float32, k int) []tinker.TokenLogprob {
	ids := make([]int32, len(row))
	for i := range ids {
		ids[i] = int32(i)
	}
	top := make([]tinker.TokenLogprob, 0, k)
	for _, id := range best(ids, row, k) {
		top = append(top, tinker.TokenLogprob{Token: id, Logprob: logprob(row, lse, id)})
	}
	return top
}

// alternatives draws tokens from a row, with replacement, at the request's temperature. The logprobs are raw, as
// everywhere.
func (c *Scheduler) alternatives(row []float32, lse float32, s *Request, stream rng.Stream) []tinker.TokenLogprob {
	d := c.drawers.Get().(*drawer)
	defer c.drawers.Put(d)
	if s.temperature > 0 {
		d.weigh(c.Compute.K, row, s.temperature)
	}
	out := make([]tinker.TokenLogprob, s.alternatives)
	for i := range out {
		var token int32
		if s.temperature > 0 {
			token = d.pick(stream.Float64At(uint64(i)))
		} else {
			token = argmax(row)
		}
		out[i] = tinker.TokenLogprob{Token: token, Logprob: logprob(row, lse, token)}
	}
	return out
}

// top is the likeliest tokens of a row that a sample's token was drawn from; nil unless asked for.
func (s *Request) top(row []float32, lse float32) []tinker.TokenLogprob {
	if s.sampleTop == 0 {
		return nil
	}
	return likeliest(row, lse, s.sampleTop)
}
