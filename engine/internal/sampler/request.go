package sampler

import (
	"cmp"
	"context"
	"math"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/cache"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/weights"
	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// maxSamples bounds the continuations of one request.
const maxSamples = 1 << 16

// Request is one sampling request and its state.
type Request struct {
	version *weights.Version // that computes the prompt
	flight  *flight          // of an in-flight sampler's request; nil: the version computes everything
	queue   *Queue
	scope   cache.Scope // of the prefixes that it shares
	looked  bool        // it has looked for the prefix of its prompt
	prompt  []int32
	first   int // index of the first sample; of a range of a request's samples not 0
	n       int // samples
	left    int // samples not finished
	next    int // first sample not begun
	most    int // tokens of a sample

	temperature, topP, minP float64
	topK                    int // 0 is off
	seed                    rng.Seed
	stop                    stops
	guide                   tinker.Guide // nil: the model's own distribution

	promptLogprobs bool
	promptTop      int
	sampleTop      int
	targets        *tinker.Matrix[int32] // nil is none
	alternatives   int                   // tokens drawn at each position of the prompt

	out     tinker.SampleResponse
	ctx     context.Context // the request is cancelled when it ends
	resolve func(tinker.SampleResponse, error)
	drawn   func(tinker.Drawn) // nil: not streamed
	begun   bool               // it has left its queue
	closed  bool               // resolved
}

// newRequest reads a request to sample from v; everything wrong with it is a User error. draw gives the seed of a
// request that names none.
func newRequest(v *weights.Version, req tinker.SampleRequest, draw func() uint64) (*Request, error) {
	b, p := v.Base, req.Params
	prompt, err := b.Text("the prompt", req.Prompt)
	if err != nil {
		return nil, err
	}
	s := &Request{version: v, scope: cache.Scope{Version: v.ID}, prompt: prompt,
		n: max(1, req.NumSamples), most: p.MaxTokens,
		temperature: p.Temperature, topP: p.TopP, minP: p.MinP,
		topK: max(0, p.TopK), guide: p.Guide, promptLogprobs: req.PromptLogprobs, promptTop: req.TopKPromptLogprobs,
		sampleTop: req.TopKSampleLogprobs,
		targets:   req.TargetPromptLogprobs, alternatives: req.PromptAltTokens}
	s.left = s.n
	switch {
	case req.NumSamples < 0 || req.NumSamples > maxSamples:
		return nil, tinker.Userf("engine: num_samples is %d; it must be 1 to %d", req.NumSamples, maxSamples)
	case p.MaxTokens < 0:
		return nil, tinker.Userf(
			"engine: max_tokens is %d; it must be 1 or more, or 0 for as many as the context takes", p.MaxTokens)
	case len(prompt)+max(1, p.MaxTokens) > b.Context:
		return nil, tinker.Userf("engine: a prompt of %d tokens and max_tokens %d do not fit into the context of "+
			"base model %q, %d tokens", len(prompt), p.MaxTokens, b.Name, b.Context)
	case !(p.Temperature >= 0) || math.IsInf(p.Temperature, 0):
		return nil, tinker.Userf("engine: temperature is %v; it must be 0, which is greedy, or a positive number",
			p.Temperature)
	case p.TopK < -1 || p.TopK == 0:
		return nil, tinker.Userf("engine: top_k is %d; it must be 1 or more, or -1, which is off", p.TopK)
	case !(p.TopP > 0 && p.TopP <= 1):
		return nil, tinker.Userf("engine: top_p is %v; it must be above 0 and at most 1, which is off", p.TopP)
	case !(p.MinP >= 0 && p.MinP <= 1):
		return nil, tinker.Userf("engine: min_p is %v; it must be 0, which is off, to 1", p.MinP)
	}
	s.most = cmp.Or(s.most, b.Context-len(prompt))
	if err := s.checkScores(); err != nil {
		return nil, err
	}
	if s.stop, err = newStops(b, p); err != nil {
		return nil, err
	}
	if p.Seed != nil {
		s.seed = rng.New(*p.Seed)
	} else {
		s.seed = rng.New(draw())
	}
	s.out.Sequences = make([]tinker.SampledSequence, s.n)
	s.makeScores()
	return s, nil
}

// End resolves the request.
func (s *Request) End(err error) {
	s.closed = true
	if err != nil {
		s.resolve(tinker.SampleResponse{}, tinker.Brief(err))
		return
	}
	s.resolve(s.out, nil)
}
