package algorithm

import (
	"math"
	"testing"
)

// With exact entropies the step's loss moves with each token's entropy as the weights say, in every aggregation and on
// both paths, and the gradient by logprobs is the same as without the term.
func TestExactEntropyWeights(t *testing.T) {
	batch := []Sequence{
		{Logprobs: []float32{-1, -2, -3}, Old: []float32{-1, -2, -3}, Advantages: []float32{1, 1, 1},
			Mask: []bool{true, false, true}, Entropy: []float32{0.5, 7, 1.5}},
		{Logprobs: []float32{-4}, Old: []float32{-4}, Advantages: []float32{-1}, Mask: []bool{true},
			Entropy: []float32{2}},
		{Logprobs: []float32{-1, -1}, Old: []float32{0, 0}, Advantages: []float32{0, 0}, Mask: []bool{true, true},
			Entropy: []float32{3, 4}, Expert: true},
	}
	loss := func(o *Objective) (float64, [][]float32) {
		outs, _, err := o.Evaluate(batch)
		if err != nil {
			t.Fatal(err)
		}
		sum, grad := 0.0, make([][]float32, len(outs))
		for i, out := range outs {
			sum, grad[i] = sum+out.Loss, out.Gradient
		}
		return sum, grad
	}
	for _, policy := range []string{"ppo", "mix"} {
		for _, batched := range []bool{false, true} {
			for _, mode := range []Aggregation{TokenMean, SeqMeanTokenSum, SeqMeanTokenMean, SeqMeanTokenSumNorm} {
				o := &Objective{Policy: mustPolicy(t, policy, nil), Aggregation: mode, Batched: batched,
					Entropy: Entropy{Coef: 0.5, Exact: true, measure: true, usualOnly: policy == "mix"}}
				at, grad := loss(o)
				weights := o.EntropyWeights(batch)
				for i := range batch {
					for k := range batch[i].Entropy {
						batch[i].Entropy[k]++
						up, _ := loss(o)
						batch[i].Entropy[k]--
						if want := -0.5 * float64(weights[i][k]); math.Abs(up-at-want) > 1e-6 {
							t.Errorf("%s %s batched %v: one nat more at token %d of %d changes the loss by %v, the "+
								"weight says %v", policy, mode, batched, k, i, up-at, want)
						}
					}
				}
				if weights[0][1] != 0 || weights[0][0] == 0 || policy == "mix" && weights[2][0] != 0 {
					t.Errorf("%s: weights %v: none outside the mask, and of an expert only if all count", policy,
						weights)
				}
				o.Entropy = Entropy{}
				_, without := loss(o)
				for i := range grad {
					for k := range grad[i] {
						if grad[i][k] != without[i][k] {
							t.Errorf("%s: the gradient by logprobs is %v, without entropies %v", policy, grad[i],
								without[i])
						}
					}
				}
			}
		}
	}
}

// What is exact is named so, and what is not is not.
func TestEntropyMetricNames(t *testing.T) {
	s := Sequence{Logprobs: []float32{-1}, Old: []float32{-1}, Advantages: []float32{1}, Mask: []bool{true},
		Entropy: []float32{2}}
	for _, tt := range []struct {
		exact, there bool
		want         map[string]float64
	}{
		{true, true, map[string]float64{"actor/entropy_loss": 2}},
		{true, false, nil},
		{false, true, map[string]float64{"actor/entropy_loss_estimate": math.Exp(-1)}},
	} {
		o := Objective{Policy: mustPolicy(t, "ppo", nil), Aggregation: TokenMean,
			Entropy: Entropy{Coef: 0.1, Exact: tt.exact, measure: true}}
		one := s
		if !tt.there {
			one.Entropy = nil
		}
		_, m, err := o.Evaluate([]Sequence{one})
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"actor/entropy_loss", "actor/entropy_loss_estimate"} {
			got, ok := m[key]
			want, wanted := tt.want[key]
			if ok != wanted || math.Abs(got-want) > 1e-7 {
				t.Errorf("exact %v, there %v: %s = %v, %v, want %v, %v", tt.exact, tt.there, key, got, ok, want, wanted)
			}
		}
		if need := o.Needs(); tt.exact && need.Logprobs != (&Objective{Policy: o.Policy}).Needs().Logprobs {
			t.Error("an exact entropy needs a forward of its own")
		}
	}
}
