package algorithm

import (
	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
)

// The losses of this file keep the new weights near the sampler by gates other than PPO's clipping.

// gspo clips the ratio of whole sequences, their length taken out (Zheng et al., arXiv 2507.18071).
type gspo struct{ low, high float64 } // the ratio is clipped to [1-low, 1+high]

func newGSPO(args Args) (PolicyLoss, error) {
	r := arg.Read(args)
	l := gspo{0.0003, 0.0004}
	if x := floatOrNil(r, "clip_range"); x != nil {
		l.low, l.high = *x, *x
	}
	l.low, l.high = r.Float("clip_range_low", l.low), r.Float("clip_range_high", l.high)
	r.Require(l.low >= 0, "clip_range_low", l.low, "0 or more")
	r.Require(l.high >= 0, "clip_range_high", l.high, "0 or more")
	return l, r.Close()
}

func (gspo) Needs() Needs { return Needs{Old: true, Advantages: true, Logprobs: true} }

// Loss is, with ratio = exp of the sequence's mean of lp-old, whose derivative by each lp is taken to be the ratio,
//
//	aggregate(max(-A*ratio, -A*clamp(ratio, 1-low, 1+high)))
func (l gspo) Loss(batch []Sequence, agg Aggregation) Loss {
	masks := masksOf(batch)
	means, sum := make([]float64, len(batch)), 0.0
	for i := range batch {
		means[i] = batch[i].meanLogRatio()
		sum -= means[i]
	}
	both := func(i, t int) (free, bound float64) {
		a, ratio := float64(batch[i].Advantages[t]), elementary.Exp(means[i])
		return -a * ratio, -a * min(max(ratio, 1-l.low), 1+l.high)
	}
	v, g := agg.aggregate(masks, func(i, t int) term {
		free, bound := both(i, t)
		if bound > free {
			return term{value: bound}
		}
		return term{free, free}
	})
	return Loss{v, g, map[string]float64{
		"pg_loss": v,
		"pg_clipfrac": maskedMean(masks,
			func(i, t int) float64 { free, bound := both(i, t); return indicator(bound > free) }),
		"ppo_kl":     maskedMean(masks, func(i, t int) float64 { return -batch[i].logRatio(t) }),
		"ppo_kl_seq": sum / float64(max(1, len(batch))),
	}}
}

// sapo replaces clipping by a soft gate, steeper for bad samples (Qwen, arXiv 2511.20347).
//
// The paper's objective is gate*A with the gradient through the ratio; that is surrogate "ratio". Trinity-RFT, and so
// the default here, holds the gate constant and multiplies it with the policy gradient A*lp instead.
type sapo struct {
	positive, negative float64 // temperatures of the gate for A > 0 and the rest
	throughRatio       bool
}

func newSAPO(args Args) (PolicyLoss, error) {
	r := arg.Read(args)
	l := sapo{r.Float("tau_pos", 1), r.Float("tau_neg", 1.05),
		r.Word("surrogate", "policy_gradient", "ratio") == "ratio"}
	r.Require(l.positive > 0, "tau_pos", l.positive, "greater than 0")
	r.Require(l.negative >= l.positive, "tau_neg", l.negative, "at least tau_pos")
	return l, r.Close()
}

func (sapo) Needs() Needs { return Needs{Old: true, Advantages: true, Logprobs: true} }

// gate is sigmoid(tau*(ratio-1))*4/tau and its derivative with respect to lp.
func (l sapo) gate(s *Sequence, t int) (gate, slope float64) {
	tau := l.negative
	if s.Advantages[t] > 0 {
		tau = l.positive
	}
	ratio := elementary.Exp(s.logRatio(t))
	sig := sigmoid(tau * (ratio - 1))
	if sig == 0 || sig == 1 {
		return sig * 4 / tau, 0 // the ratio may have overflowed
	}
	return sig * 4 / tau, 4 * sig * (1 - sig) * ratio
}

// Loss is, with the gate detached,
//
//	aggregate(-gate*A*lp)
//
// or for surrogate "ratio"
//
//	aggregate(-gate*A)
func (l sapo) Loss(batch []Sequence, agg Aggregation) Loss {
	masks := masksOf(batch)
	v, g := agg.aggregate(masks, func(i, t int) term {
		gate, slope := l.gate(&batch[i], t)
		a := float64(batch[i].Advantages[t])
		if l.throughRatio {
			return term{-gate * a, -slope * a}
		}
		return term{-gate * a * float64(batch[i].Logprobs[t]), -gate * a}
	})
	return Loss{v, g, map[string]float64{
		"sapo_loss":     v,
		"ppo_kl":        maskedMean(masks, func(i, t int) float64 { return -batch[i].logRatio(t) }),
		"avg_soft_gate": maskedMean(masks, func(i, t int) float64 { gate, _ := l.gate(&batch[i], t); return gate }),
		"avg_ratio":     maskedMean(masks, func(i, t int) float64 { return elementary.Exp(batch[i].logRatio(t)) }),
		"pos_adv_frac":  maskedMean(masks, func(i, t int) float64 { return indicator(batch[i].Advantages[t] > 0) }),
	}}
}

// sppo trains on tokens whose ratio stays within a factor of 1+epsilon ("simple PPO").
type sppo struct{ epsilon float64 }

func newSPPO(args Args) (PolicyLoss, error) {
	r := arg.Read(args)
	l := sppo{r.Float("epsilon", 0.3)}
	r.Require(l.epsilon >= 0, "epsilon", l.epsilon, "0 or more")
	return l, r.Close()
}

func (sppo) Needs() Needs { return Needs{Old: true, Advantages: true, Logprobs: true} }

func (l sppo) inside(s *Sequence, t int) bool {
	ratio := elementary.Exp(s.logRatio(t))
	return ratio >= 1/(1+l.epsilon) && ratio <= 1+l.epsilon
}

// Loss is
//
//	aggregate(-A*(lp-old)), 0 where the ratio is outside [1/(1+epsilon), 1+epsilon]
func (l sppo) Loss(batch []Sequence, agg Aggregation) Loss {
	masks := masksOf(batch)
	v, g := agg.aggregate(masks, func(i, t int) term {
		if !l.inside(&batch[i], t) {
			return term{}
		}
		a := float64(batch[i].Advantages[t])
		return term{-a * batch[i].logRatio(t), -a}
	})
	return Loss{v, g, map[string]float64{
		"pg_loss":     v,
		"pg_clipfrac": maskedMean(masks, func(i, t int) float64 { return indicator(!l.inside(&batch[i], t)) }),
	}}
}
