package tinkertest

import (
	"math"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// losses compares each loss's value with its formula, computed here from the returned logprobs.
func (s *suite) losses() {
	c := s.model(0)
	d := datum(some...)
	w, q, a := d.LossFnInputs[tinker.Weights].Float, d.LossFnInputs[tinker.Logprobs].Float,
		d.LossFnInputs[tinker.Advantages].Float
	clamp := func(r, lo, hi float64) float64 { return math.Min(math.Max(r, lo), hi) }
	for _, tt := range []struct {
		name   string
		config map[string]float64
		term   func(lp, w, q, a float64) float64
	}{
		{tinker.CrossEntropy, nil, func(lp, w, q, a float64) float64 { return -w * lp }},
		{tinker.ImportanceSampling, nil, func(lp, w, q, a float64) float64 { return -math.Exp(lp-q) * a }},
		{tinker.PPO, nil, func(lp, w, q, a float64) float64 {
			r := math.Exp(lp - q)
			return -math.Min(r*a, clamp(r, 0.8, 1.2)*a)
		}},
		{tinker.PPO, map[string]float64{"clip_low_threshold": 0.5, "clip_high_threshold": 3},
			func(lp, w, q, a float64) float64 {
				r := math.Exp(lp - q)
				return -math.Min(r*a, clamp(r, 0.5, 3)*a)
			}},
		{tinker.CISPO, nil, func(lp, w, q, a float64) float64 { return -clamp(math.Exp(lp-q), 0, 4) * lp * a }},
		{tinker.DRO, map[string]float64{"beta": 0.05}, func(lp, w, q, a float64) float64 {
			return -(float64(lp*a) - float64(0.5*0.05*(lp-q)*(lp-q)))
		}},
	} {
		r := tinker.ForwardRequest{Data: []tinker.Datum{datum(some...)}, LossFn: tt.name, LossFnConfig: tt.config}
		if tt.name == tinker.CrossEntropy {
			r = crossEntropy(datum(some...))
		}
		f, err := c.Forward(s.ctx, r)
		out := wait(s, f, err)
		want := 0.0
		for i, lp := range out.LossFnOutputs[0][tinker.Logprobs].Float {
			want += tt.term(float64(lp), float64(w[i]), float64(q[i]), float64(a[i]))
		}
		if got := out.Metrics["loss:sum"]; math.Abs(got-want) > 1e-4*math.Max(1, math.Abs(want)) {
			s.Errorf("%s %v: loss %v, want %v", tt.name, tt.config, got, want)
		}
	}
}

// maskedLosses is losses for the losses that have a mask of positions: gspo, and on a service with ExactLogprobs
// stable_reinforce without provenance.
func (s *suite) maskedLosses() {
	c := s.model(0)
	d := datum(some...)
	q, a := d.LossFnInputs[tinker.Logprobs].Float, d.LossFnInputs[tinker.Advantages].Float
	mask := make([]float32, len(q))
	for i := range mask {
		if mask[i] = float32(i % 3); mask[i] == 0 {
			a[i] = 0
		}
	}
	d.LossFnInputs[tinker.SequenceRatioMask] = tinker.Floats(mask)
	f, err := c.ForwardBackward(s.ctx, tinker.ForwardRequest{Data: []tinker.Datum{d}, LossFn: tinker.GSPO,
		LossFnConfig: map[string]float64{"clip_low_threshold": 0.5, "clip_high_threshold": 2}})
	out := wait(s, f, err)
	lp := out.LossFnOutputs[0][tinker.Logprobs].Float
	mean, n := 0.0, 0.0
	for i, m := range mask {
		if m != 0 {
			mean, n = mean+float64(lp[i])-float64(q[i]), n+1
		}
	}
	ratio, want := math.Exp(mean/n), 0.0
	for _, x := range a {
		want -= math.Min(ratio*float64(x), math.Min(math.Max(ratio, 0.5), 2)*float64(x))
	}
	if got := out.Metrics["loss:sum"]; math.Abs(got-want) > 1e-4*math.Max(1, math.Abs(want)) {
		s.Errorf("gspo: loss %v, want %v", got, want)
	}
	if !s.caps.ExactLogprobs {
		return
	}
	delete(d.LossFnInputs, tinker.SequenceRatioMask)
	d.LossFnInputs[tinker.SampledMask] = tinker.Floats(mask)
	f, err = c.ForwardBackward(s.ctx, tinker.ForwardRequest{Data: []tinker.Datum{d}, LossFn: tinker.StableReinforce,
		LossFnConfig: map[string]float64{"kl_coeff": 0.25}})
	out = wait(s, f, err)
	want = 0
	for i, m := range mask {
		if m == 0 {
			continue
		}
		gap := float64(lp[i]) - float64(q[i])
		kl := math.Exp(gap) - 1 - gap
		if gap > math.Ln2 {
			kl = 1 - math.Ln2 + gap - math.Ln2
		}
		weighted := float64(math.Min(math.Exp(gap), 2)*float64(lp[i])) * float64(a[i])
		want += float64(0.25*kl) - float64(weighted)
	}
	if got := out.Metrics["loss:sum"]; math.Abs(got-want) > 1e-4*math.Max(1, math.Abs(want)) {
		s.Errorf("stable_reinforce: loss %v, want %v", got, want)
	}
	s.trinityPPO(c)
}

// trinityPPO sends Trinity-RFT's loss on policy: its value is the mean of −advantage over the response tokens, divided
// by the datums of the step, and the metrics are sums from which Trinity-RFT computes its own.
func (s *suite) trinityPPO(c tinker.TrainingClient) {
	d := datum(some...)
	d.LossFnInputs[tinker.Logprobs] = tinker.Floats(s.logprobs(c, some...))
	w, a := d.LossFnInputs[tinker.Weights].Float, d.LossFnInputs[tinker.Advantages].Float
	tokens, want := 0.0, 0.0
	for i := range w {
		if w[i] = float32(i % 2); w[i] > 0 {
			tokens, want = tokens+1, want-float64(a[i])
		}
	}
	f, err := c.ForwardBackward(s.ctx, tinker.ForwardRequest{Data: []tinker.Datum{d}, LossFn: tinker.TrinityPPO,
		LossFnConfig: map[string]float64{"kl_coef": 0, "num_total_datums": 4}})
	m := wait(s, f, err).Metrics
	want /= 4 * tokens
	if got := m["loss:sum"]; math.Abs(got-want) > 1e-6 || m["trinity/response_tokens:sum"] != tokens ||
		m["trinity/ratio_sum:sum"] != tokens || m["trinity/clipped_tokens:sum"] != 0 {
		s.Errorf("trinity_ppo: metrics %v, want a loss of %v and %v tokens", m, want, tokens)
	}
}

// twoTargets: with K candidate targets per position the outputs have the same shape, and column 0 equals the result
// with one target.
func (s *suite) twoTargets() {
	c := s.model(0)
	n := len(some) - 1
	want := s.logprobs(c, some...)
	targets, weights := make([]int64, 2*n), make([]float32, 2*n)
	for i := range n {
		targets[2*i], targets[2*i+1] = int64(some[i+1]), int64(some[i])
		weights[2*i], weights[2*i+1] = 0.75, 0.25
	}
	d := tinker.Datum{ModelInput: tinker.Text(some[:n]), LossFnInputs: map[string]tinker.Tensor{
		tinker.TargetTokens: {Shape: []int{n, 2}, Int: targets}, tinker.Weights: {Shape: []int{n, 2}, Float: weights},
	}}
	f, err := c.ForwardBackward(s.ctx, tinker.ForwardRequest{Data: []tinker.Datum{d}, LossFn: tinker.CrossEntropy})
	out := wait(s, f, err)
	lp := out.LossFnOutputs[0][tinker.Logprobs]
	if rows, cols, ok := lp.Dims(); !ok || rows != n || cols != 2 {
		s.Fatalf("logprobs have shape %v, want [%d 2]", lp.Shape, n)
	}
	sum := 0.0
	for i := range n {
		if got := lp.Float[2*i]; math.Abs(float64(got-want[i])) > 1e-5 || s.caps.ExactLogprobs && got != want[i] {
			s.Errorf("position %d: logprob %v, alone %v", i, got, want[i])
		}
		sum -= float64(0.75*float64(lp.Float[2*i])) + float64(0.25*float64(lp.Float[2*i+1]))
	}
	if got := out.Metrics["loss:sum"]; math.Abs(got-sum) > 1e-4*sum {
		s.Errorf("loss %v, want %v", got, sum)
	}
}
