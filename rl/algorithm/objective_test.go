package algorithm

import (
	"math"
	"strings"
	"testing"
)

// The composition against its definition, with every term switched on.
func TestObjectiveGradient(t *testing.T) {
	m, err := New(Choice{Type: "grpo", KLLoss: "k3", KLLossArgs: Args{"kl_coef": 0.5},
		EntropyArgs: Args{"entropy_coef": 0.25}})
	if err != nil {
		t.Fatal(err)
	}
	for _, agg := range []Aggregation{TokenMean, SeqMeanTokenSum} {
		o := m.Objective
		o.Aggregation = agg
		batch := policyFixture(t)
		outcomes, _, err := o.Evaluate(batch)
		if err != nil {
			t.Fatal(err)
		}
		gradient := make([][]float64, len(outcomes))
		for i, out := range outcomes {
			gradient[i] = make([]float64, len(out.Gradient))
			for k, v := range out.Gradient {
				gradient[i][k] = float64(v)
			}
		}
		checkGradient(t, batch, gradient, func() float64 { return totalLoss(t, &o, batch) })
	}
}

func totalLoss(t *testing.T, o *Objective, batch []Sequence) float64 {
	t.Helper()
	outcomes, _, err := o.Evaluate(batch)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, out := range outcomes {
		sum += out.Loss
	}
	return sum
}

// oneOf is the outcome of one of n equal sequences.
func oneOf(o *Objective, s Sequence, n int) (Outcome, error) {
	batch := make([]Sequence, n)
	for i := range batch {
		batch[i] = s
	}
	out, _, err := o.Evaluate(batch)
	if err != nil {
		return Outcome{}, err
	}
	return out[n-1], nil
}

// One sequence of two trained tokens, worked by hand: on policy with advantage 2, ref 0.1 above, coefficients 1.
func TestObjectiveByHand(t *testing.T) {
	o := Objective{Policy: mustPolicy(t, "ppo", nil), KL: mustKL(t, "k2", Args{"kl_coef": 1.0}),
		Entropy: Entropy{Coef: 1, measure: true}, Aggregation: SeqMeanTokenSum}
	s := Sequence{
		Logprobs:   []float32{-1, -9, -2},
		Old:        []float32{-1, -9, -2},
		Ref:        []float32{-0.5, 0, -1.5},
		Advantages: []float32{2, 0, 2},
		Mask:       []bool{true, false, true},
	}
	got, err := oneOf(&o, s, 4)
	if err != nil {
		t.Fatal(err)
	}
	entropy := 1*math.Exp(-1) + 2*math.Exp(-2)
	kl := 0.125 + 0.125
	want := map[string]float64{
		"actor/pg_loss": -4, "actor/entropy_loss_estimate": entropy, "actor/kl_loss": kl, "actor/kl_coef": 1,
		"actor/final_loss": (-4 - entropy + kl) / 4, "actor/ppo_kl": 0,
	}
	for k, v := range want {
		if math.Abs(got.Metrics[k]-v) > 1e-12 {
			t.Errorf("%s = %v, want %v", k, got.Metrics[k], v)
		}
	}
	// d/dlp: policy -2; minus entropy +exp(lp)*(1+lp), which is 0 at -1 and -exp(-2) at -2; kl lp-ref = -0.5.
	for i, v := range []float64{(-2 - 0.5) / 4, 0, (-2 - math.Exp(-2) - 0.5) / 4} {
		if got.Gradient[i] != float32(v) {
			t.Errorf("gradient[%d] = %v, want %v", i, got.Gradient[i], float32(v))
		}
	}
}

func TestObjectiveScale(t *testing.T) {
	o := Objective{Policy: mustPolicy(t, "sft", nil), Aggregation: TokenMean}
	s := Sequence{Logprobs: []float32{-3}, Mask: []bool{true}}
	for _, tt := range []struct {
		token bool
		agg   Aggregation
		want  float64
	}{{false, TokenMean, 0.75}, {true, TokenMean, 3}, {true, SeqMeanTokenSum, 0.75}} {
		o.TokenScale, o.Aggregation = tt.token, tt.agg
		got, err := oneOf(&o, s, 4)
		if err != nil || math.Abs(got.Loss-tt.want) > 1e-6 {
			t.Errorf("%+v: loss = %v, %v", tt, got.Loss, err)
		}
	}
}

func TestObjectiveWithoutReference(t *testing.T) {
	o := Objective{Policy: mustPolicy(t, "sft", nil), KL: mustKL(t, "k2", nil), Aggregation: TokenMean}
	got, err := oneOf(&o, Sequence{Logprobs: []float32{-3}, Mask: []bool{true}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, there := got.Metrics["actor/kl_loss"]; there || math.Abs(got.Loss-3) > 1e-6 {
		t.Errorf("loss %v, metrics %v; want no KL at all", got.Loss, got.Metrics)
	}
}

func TestObjectiveRefusesMissingInputs(t *testing.T) {
	o := Objective{Policy: mustPolicy(t, "ppo", nil), Aggregation: TokenMean}
	ok := Sequence{Logprobs: []float32{-1}, Old: []float32{-1}, Advantages: []float32{1}, Mask: []bool{true}}
	for want, spoil := range map[string]func(*Sequence){
		"0 old logprobs":       func(s *Sequence) { s.Old = nil },
		"0 advantages":         func(s *Sequence) { s.Advantages = nil },
		"2 logprobs":           func(s *Sequence) { s.Logprobs = []float32{-1, -1} },
		"2 reference logprobs": func(s *Sequence) { s.Ref = []float32{-1, -1} },
	} {
		s := ok
		spoil(&s)
		if _, _, err := o.Evaluate([]Sequence{ok, s}); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "sequence 1") {
			t.Errorf("error = %v, want %q of sequence 1", err, want)
		}
	}
}
