package algorithm

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// drawn are n sequences of different lengths; about a third have no trained token, the first one has.
func drawn(r *rand.Rand, n int) []Sequence {
	batch := make([]Sequence, n)
	for i := range batch {
		size := 1 + r.IntN(9)
		s := Sequence{Mask: make([]bool, size), Step: 3, Expert: r.IntN(4) == 0}
		for _, x := range []*[]float32{&s.Logprobs, &s.Old, &s.Ref, &s.Entropy, &s.Advantages} {
			for range size {
				*x = append(*x, float32(r.Float64()-1))
			}
		}
		masked := r.IntN(3) == 0
		for k := range s.Mask {
			s.Mask[k] = !masked && r.IntN(3) > 0
		}
		batch[i] = s
	}
	batch[0].Mask[0], batch[0].Expert = true, false
	return batch
}

// fullObjective has every term.
func fullObjective(t *testing.T, policy string, agg Aggregation) Objective {
	return mustObjective(t, Choice{Type: "grpo", PolicyLoss: policy, AggregationMode: string(agg), KLLoss: "k2",
		KLLossArgs: Args{"kl_coef": 0.5}, Entropy: "mix", EntropyArgs: Args{"entropy_coef": 0.25}})
}

// by is the loss of a step in its definition: the values of the trained tokens of each sequence, aggregated over all.
func by(agg Aggregation, perSequence bool, values [][]float64, longest int) float64 {
	sum, tokens, sums, means, n := 0.0, 0, 0.0, 0.0, 0.0
	for _, row := range values {
		own := 0.0
		for _, v := range row {
			own += v
		}
		if len(row) > 0 {
			sum, tokens, sums, means, n = sum+own, tokens+len(row), sums+own, means+own/float64(len(row)), n+1
		}
	}
	switch {
	case agg == SeqMeanTokenSum:
		return sums / n
	case agg == SeqMeanTokenMean || agg == TokenMean && perSequence:
		return means / n
	case agg == TokenMean:
		return sum / float64(tokens)
	case perSequence:
		return sum / float64(longest) / n
	}
	return sum / float64(longest)
}

// A step's loss is the aggregation of its tokens as one whole: neither the path, on one of which it is evaluated
// sequence by sequence, nor its size changes that, and sequences without a trained token count nowhere.
func TestLossIsDefinedOverTheStep(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		batch := drawn(r, 1+r.IntN(12))
		var values [][]float64
		longest := 0
		for _, s := range batch {
			var row []float64
			for k, keep := range s.Mask {
				if keep {
					row = append(row, -float64(s.Logprobs[k]))
					longest = max(longest, len(s.Mask))
				}
			}
			values = append(values, row)
		}
		for _, agg := range aggregations() {
			for _, batched := range []bool{false, true} {
				o := Objective{Policy: mustPolicy(t, "sft", nil), Aggregation: agg, Batched: batched}
				want := by(agg, !batched, values, longest)
				if got := totalLoss(t, &o, batch); math.Abs(got-want) > 1e-6*math.Abs(want) {
					t.Errorf("seed %d, %s, batched %v: loss %v, want %v", seed, agg, batched, got, want)
				}
			}
		}
	}
}

// Sequences and pairs without a trained token change no bit of the loss, its gradient, its metrics and the weights of
// entropies, wherever they stand, in any loss.
func TestMaskedSequencesCountNowhere(t *testing.T) {
	for policy := range PolicyLosses() {
		for _, agg := range aggregations() {
			for _, batched := range []bool{false, true} {
				o := fullObjective(t, policy, agg)
				o.Batched, o.Entropy.Exact = batched, true
				size := 1
				if o.Policy.Needs().Pairs {
					size = 2
				}
				for seed := range uint64(5) {
					batch := drawn(rand.New(rand.NewPCG(seed, 2)), 12)
					checkWithout(t, &o, batch, size)
				}
			}
		}
	}
}

func checkWithout(t *testing.T, o *Objective, batch []Sequence, size int) {
	t.Helper()
	var left []Sequence
	var at []int
	for i := 0; i < len(batch); i += size {
		if slices.ContainsFunc(batch[i:i+size], func(s Sequence) bool { return count(s.Mask) > 0 }) {
			for k := range size {
				left, at = append(left, batch[i+k]), append(at, i+k)
			}
		}
	}
	all, metrics, err := o.Evaluate(batch)
	if err != nil {
		t.Fatal(err)
	}
	few, wanted, err := o.Evaluate(left)
	if err != nil {
		t.Fatal(err)
	}
	weights, fewWeights := o.EntropyWeights(batch), o.EntropyWeights(left)
	for k, i := range at {
		if all[i].Loss != few[k].Loss || !slices.Equal(all[i].Gradient, few[k].Gradient) ||
			!slices.Equal(weights[i], fewWeights[k]) {
			t.Errorf("%T %s: sequence %d has loss %v, without the masked ones %v", o.Policy, o.Aggregation, i,
				all[i].Loss, few[k].Loss)
		}
	}
	for k, want := range wanted {
		if got, ok := metrics[k]; !ok || got != want {
			t.Errorf("%T %s: %s is %v, without the masked ones %v", o.Policy, o.Aggregation, k, metrics[k], want)
		}
	}
	if len(metrics) != len(wanted) {
		t.Errorf("%T: metrics %v, want %v", o.Policy, metrics, wanted)
	}
}

// Responses of one length are one case in which a step's longest response was always each part's.
func TestNormOfEqualLengths(t *testing.T) {
	batch := policyFixture(t)
	o := Objective{Policy: mustPolicy(t, "sft", nil), Aggregation: SeqMeanTokenSumNorm}
	if got := totalLoss(t, &o, batch); !near(got, -0.1814444660/5) {
		t.Errorf("loss %v, want a fifth of the sum over the width", got)
	}
}

// A pair of which one side is masked is a pair; its masked side does not count in the terms of single sequences.
func TestHalfMaskedPair(t *testing.T) {
	one := func(lp float32, keep bool) Sequence {
		return Sequence{Logprobs: []float32{lp}, Ref: []float32{-1}, Mask: []bool{keep}}
	}
	o := Objective{Policy: mustPolicy(t, "dpo", nil), Aggregation: SeqMeanTokenSum,
		KL: mustKL(t, "k2", Args{"kl_coef": 1.0})}
	_, m, err := o.Evaluate([]Sequence{one(0, true), one(-9, false), one(-3, false), one(-4, false)})
	if err != nil {
		t.Fatal(err)
	}
	if m["actor/accuracy_mean"] != 1 || m["actor/kl_loss"] != 0.5 || !near(m["actor/chosen_reward"], 0.1) {
		t.Errorf("metrics %v, want accuracy 1, KL 0.5 and reward 0.1 of one pair", m)
	}
}

// Metrics of advantages and of their KL terms equal a step's without its masked sequences.
func TestMaskedSequencesInMetrics(t *testing.T) {
	for _, c := range []Choice{{Type: "on_policy_distill"}, {Type: "jsd"},
		{Type: "rloo", KLPenalty: "k2", KLPenaltyArgs: Args{"kl_coef": 0.5}}} {
		score := func(masked bool) map[string]float64 {
			list, fetched := lateFixture()
			for i, e := range list {
				e.EID.Task = e.EID.String() // each a group of its own
				if i%2 == 1 {
					e.ActionMask = make([]bool, len(e.ActionMask))
				}
			}
			if !masked {
				list, fetched = []*experience.Experience{list[0], list[2], list[4]},
					[]Fetched{fetched[0], fetched[2], fetched[4]}
			}
			m, err := mustNew(t, c).Score(list, fetched)
			if err != nil {
				t.Fatal(err)
			}
			for k, v := range BatchMetrics(list) {
				if strings.HasPrefix(k, "critic/advantages") || strings.HasPrefix(k, "critic/returns") {
					m[k] = v
				}
			}
			return m
		}
		if got, want := score(true), score(false); !maps.Equal(got, want) {
			t.Errorf("%s: metrics %v, without the masked sequences %v", c.Type, got, want)
		}
	}
}
