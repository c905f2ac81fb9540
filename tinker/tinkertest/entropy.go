package tinkertest

import (
	"math"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// entropic is a request for the entropies of a datum, with coef in the loss and the given weights.
func entropic(loss string, coef float64, weights []float32) tinker.ForwardRequest {
	d := datum(some...)
	if loss == tinker.CrossEntropy {
		d = crossEntropy(d).Data[0]
	}
	if weights != nil {
		d.LossFnInputs[tinker.EntropyWeights] = tinker.Floats(weights)
	}
	return tinker.ForwardRequest{Data: []tinker.Datum{d}, LossFn: loss,
		LossFnConfig: map[string]float64{tinker.EntropyCoef: coef}}
}

// entropy: a service with exact entropies returns them with every loss, subtracts them from the loss with their
// weights, and training on them alone changes them. A service without refuses the setting.
func (s *suite) entropy() {
	c := s.model(0)
	n := len(some) - 1
	plain := s.logprobs(c, some...)
	if !s.caps.ExactEntropy {
		f, err := c.Forward(s.ctx, entropic(tinker.CrossEntropy, 0, nil))
		if _, err := result(s, f, err); err == nil {
			s.Error("a service without exact entropies accepts entropy_coef")
		}
		return
	}
	weights := make([]float32, n)
	for i := range weights {
		weights[i] = float32(i%3) - 0.5
	}
	var first []float32
	for _, loss := range []string{tinker.CrossEntropy, tinker.ImportanceSampling, tinker.PPO, tinker.CISPO,
		tinker.DRO} {
		f, err := c.Forward(s.ctx, entropic(loss, 0, nil))
		without := wait(s, f, err)
		f, err = c.Forward(s.ctx, entropic(loss, 0.25, weights))
		with := wait(s, f, err)
		h, mid := without.LossFnOutputs[0][tinker.Entropy].Float, without.LossFnOutputs[0][tinker.EntropyCentre].Float
		if len(h) != n || len(mid) != n {
			s.Fatalf("%s: %d entropies and %d centres for %d positions", loss, len(h), len(mid), n)
		}
		if first == nil {
			first = h
		}
		want := without.Metrics["loss:sum"]
		for i, v := range h {
			want -= float64(0.25 * float64(weights[i]) * float64(v))
			if !(v > 0 && v < 9) { // log 5000 is 8.5
				s.Errorf("%s: entropy %v at position %d", loss, v, i)
			}
			if s.caps.ExactLogprobs && v != first[i] {
				s.Errorf("%s: entropy %v at position %d, with another loss %v", loss, v, i, first[i])
			}
		}
		if got := with.Metrics["loss:sum"]; math.Abs(got-want) > 1e-4*math.Max(1, math.Abs(want)) {
			s.Errorf("%s: loss %v with weighed entropies, want %v", loss, got, want)
		}
		if lp := with.LossFnOutputs[0][tinker.Logprobs].Float; s.caps.ExactLogprobs && !sameBits(lp, plain) {
			s.Errorf("%s: logprobs %v, without entropies %v", loss, lp, plain)
		}
	}
	s.entropyOfTop(first)
	s.entropyMoves()
}

// entropyOfTop compares entropies with the range that follows from the likeliest tokens.
func (s *suite) entropyOfTop(h []float32) {
	// an untrained adapter changes nothing
	sampler, err := s.svc.SamplingClient(s.ctx, tinker.SamplingClientRequest{BaseModel: s.base})
	if err != nil {
		s.Fatal(err)
	}
	p := tinker.DefaultSampling()
	p.MaxTokens, p.Seed = 1, new(uint64)
	f, err := sampler.Sample(s.ctx, tinker.SampleRequest{Prompt: tinker.Text(some), Params: p, TopKPromptLogprobs: 100})
	r := wait(s, f, err)
	for i, v := range h {
		low, rest := 0.0, 1.0
		for _, t := range r.TopKPromptLogprobs[i+1] {
			q := math.Exp(float64(t.Logprob))
			low, rest = low-float64(q*float64(t.Logprob)), rest-q
		}
		high := low
		if rest > 0 {
			high += float64(rest * (math.Log(5000) - math.Log(rest)))
		}
		if float64(v) < low-1e-4 || float64(v) > high+1e-4 {
			s.Errorf("entropy %v at position %d; by the 100 likeliest tokens it is from %v to %v", v, i, low, high)
		}
	}
}

// entropyMoves trains on entropies alone, up and down.
func (s *suite) entropyMoves() {
	for seq, coef := range []float64{1, -1} {
		c := s.model(int64(seq + 1))
		var before, after float64
		for step := range 6 {
			r := entropic(tinker.ImportanceSampling, coef, nil)
			for i := range r.Data[0].LossFnInputs[tinker.Advantages].Float {
				r.Data[0].LossFnInputs[tinker.Advantages].Float[i] = 0
			}
			f, err := c.ForwardBackward(s.ctx, r)
			out := wait(s, f, err)
			after = -out.Metrics["loss:sum"] / coef
			if step == 0 {
				before = after
			}
			adam := tinker.DefaultAdam()
			adam.LearningRate = 0.01
			o, err := c.OptimStep(s.ctx, tinker.OptimStepRequest{Adam: adam})
			wait(s, o, err)
		}
		if (after-before)*coef < 0.01*before {
			s.Errorf("entropy_coef %v: the sum of entropies went from %v to %v", coef, before, after)
		}
	}
}
