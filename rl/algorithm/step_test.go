package algorithm

import (
	"math"
	"strings"
	"testing"
)

func mustObjective(t *testing.T, c Choice) Objective {
	t.Helper()
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m.Objective
}

func float64Rows(out []Outcome) [][]float64 {
	rows := make([][]float64, len(out))
	for i := range out {
		rows[i] = appendFloat64s(nil, out[i].Gradient)
	}
	return rows
}

// The step's gradient is the derivative of the step's loss on both paths, for a loss of single sequences and for one of
// the whole step.
func TestStepGradients(t *testing.T) {
	terms := Choice{Type: "grpo", KLLoss: "k3", KLLossArgs: Args{"kl_coef": 0.5}, Entropy: "mix",
		EntropyArgs: Args{"entropy_coef": 0.25}}
	for _, policy := range []string{"ppo", "mix"} {
		for _, o := range []Objective{{}, {TokenScale: true}, {Batched: true}, {Batched: true, TokenScale: true}} {
			for _, agg := range []Aggregation{TokenMean, SeqMeanTokenSum, SeqMeanTokenSumNorm} {
				terms.PolicyLoss, terms.AggregationMode = policy, string(agg)
				full := mustObjective(t, terms)
				full.Batched, full.TokenScale = o.Batched, o.TokenScale
				batch := policyFixture(t)
				out, _, err := full.Evaluate(batch)
				if err != nil || len(out) != len(batch) {
					t.Fatalf("%d outcomes, %v", len(out), err)
				}
				checkGradient(t, batch, float64Rows(out), func() float64 { return totalLoss(t, &full, batch) })
			}
		}
	}
}

// verl's aggregation is over the whole step.
func TestBatchedAggregation(t *testing.T) {
	batch := policyFixture(t)
	ppo := mustPolicy(t, "ppo", nil)
	var single float64
	for i := range batch {
		single += ppo.Loss(batch[i:i+1], TokenMean).Value / 5
	}
	for _, tt := range []struct {
		name string
		o    Objective
		want float64
	}{
		{"Tinker: mean of the sequences' means", Objective{Aggregation: TokenMean}, single},
		{"verl: over all tokens", Objective{Aggregation: TokenMean, Batched: true}, 0.26889560},
		{"verl: by tokens is over all tokens", Objective{Aggregation: TokenMean, Batched: true, TokenScale: true},
			0.26889560},
		{"the two paths agree by sequence means", Objective{Aggregation: SeqMeanTokenMean, Batched: true}, single},
	} {
		tt.o.Policy = ppo
		if got := totalLoss(t, &tt.o, batch); !near(got, tt.want) {
			t.Errorf("%s: %.9f, want %.9f", tt.name, got, tt.want)
		}
	}
}

// A step of usual sequences only is the same under mix as under ppo, except for the share 1-mu.
func TestWholeStepAggregatesPerSequence(t *testing.T) {
	batch := policyFixture(t)
	for i := range batch {
		batch[i].Expert = false
		batch[i].Logprobs = batch[i].Logprobs[:20-3*i] // of different widths
		batch[i].Old, batch[i].Ref = batch[i].Old[:20-3*i], batch[i].Ref[:20-3*i]
		batch[i].Advantages, batch[i].Mask = batch[i].Advantages[:20-3*i], batch[i].Mask[:20-3*i]
	}
	for _, agg := range []Aggregation{TokenMean, SeqMeanTokenSum, SeqMeanTokenMean, SeqMeanTokenSumNorm} {
		for _, scale := range []bool{false, true} {
			c := Choice{Type: "mix", AggregationMode: string(agg), PolicyLossArgs: Args{"mu": 0.0},
				EntropyArgs: Args{"entropy_coef": 0.5}, KLLossArgs: Args{"kl_coef": 0.5}}
			mixed := mustObjective(t, c)
			c.PolicyLoss, c.PolicyLossArgs = "ppo", nil
			plain := mustObjective(t, c)
			mixed.TokenScale, plain.TokenScale = scale, scale
			if got, want := totalLoss(t, &mixed, batch), totalLoss(t, &plain, batch); math.Abs(
				got-want) > 1e-9*math.Abs(want) {
				t.Errorf("%s, scale %v: %v in one part, %v sequence by sequence", agg, scale, got, want)
			}
		}
	}
}

func TestStepRefuses(t *testing.T) {
	batch := policyFixture(t)
	o := Objective{Policy: mustPolicy(t, "dpo", nil), Aggregation: TokenMean}
	if _, _, err := o.Evaluate(batch); err == nil ||
		!strings.Contains(err.Error(), "a step has 5 sequences; the loss needs pairs") {
		t.Errorf("error of an odd step = %v", err)
	}
	batch[3].Ref = nil
	if _, _, err := o.Evaluate(batch[:4]); err == nil ||
		!strings.Contains(err.Error(), "sequence 3: algorithm: a sequence of 20 response tokens has 0 reference "+
			"logprobs") {
		t.Errorf("error of a missing reference = %v", err)
	}
	if out, m, err := o.Evaluate(nil); len(out) != 0 || len(m) != 0 || err != nil {
		t.Errorf("a step of nothing gives %v, %v, %v", out, m, err)
	}
}
