package algorithm

import (
	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
)

// The losses of this file are a detached weight per token times the policy gradient -A*lp, or the plain ratio.

// opmdLoss is the policy loss of online policy mirror descent as Trinity-RFT has it ("a simple variant of OPMD").
type opmdLoss struct{ tau float64 }

func newOPMDLoss(args Args) (PolicyLoss, error) {
	r := arg.Read(args)
	l := opmdLoss{tau: r.Float("tau", 1)}
	r.Require(l.tau > -1, "tau", l.tau, "greater than -1")
	return l, r.Close()
}

func (opmdLoss) Needs() Needs { return Needs{Advantages: true} }

// Loss is
//
//	aggregate(-A*lp) / (1+tau)
func (l opmdLoss) Loss(batch []Sequence, agg Aggregation) Loss {
	scale := 1 / (1 + l.tau)
	v, g := agg.aggregate(masksOf(batch), func(i, t int) term {
		a := float64(batch[i].Advantages[t])
		return term{value: -a * float64(batch[i].Logprobs[t]) * scale, slope: -a * scale}
	})
	return Loss{v, g, map[string]float64{"opmd_loss": v}}
}

// cispo clips the weight of the policy gradient instead of the gradient (MiniMax-M1, arXiv 2506.13585).
type cispo struct {
	low, high         float64 // the ratio is clipped to [1-low, 1+high]
	masking           bool    // drop tokens that moved far enough already,
	maskLow, maskHigh float64 // that is beyond 1+maskHigh when A > 0, or below 1-maskLow when A < 0
}

func newCISPO(args Args) (PolicyLoss, error) {
	r := arg.Read(args)
	l := cispo{
		low: r.Float("clip_range_low", 1), high: r.Float("clip_range_high", 0.28),
		masking: r.Bool("enable_mask_clip", false),
		maskLow: r.Float("mask_clip_range_low", 1), maskHigh: r.Float("mask_clip_range_high", 0.28),
	}
	r.Require(l.low >= 0, "clip_range_low", l.low, "0 or more")
	r.Require(l.high >= 0, "clip_range_high", l.high, "0 or more")
	return l, r.Close()
}

func (cispo) Needs() Needs { return Needs{Old: true, Advantages: true, Logprobs: true} }

func (l cispo) dropped(ratio, a float64) bool {
	return l.masking && (a > 0 && ratio > 1+l.maskHigh || a < 0 && ratio < 1-l.maskLow)
}

// Loss is, with the clamped ratio detached,
//
//	aggregate(-A * clamp(ratio, 1-low, 1+high) * lp), 0 for dropped tokens
func (l cispo) Loss(batch []Sequence, agg Aggregation) Loss {
	masks := masksOf(batch)
	v, g := agg.aggregate(masks, func(i, t int) term {
		s := &batch[i]
		a, ratio := float64(s.Advantages[t]), elementary.Exp(s.logRatio(t))
		if l.dropped(ratio, a) {
			return term{}
		}
		w := -a * min(max(ratio, 1-l.low), 1+l.high)
		return term{w * float64(s.Logprobs[t]), w}
	})
	return Loss{v, g, map[string]float64{
		"cispo_loss": v,
		"ppo_kl":     maskedMean(masks, func(i, t int) float64 { return -batch[i].logRatio(t) }),
		"unmasked_frac": maskedMean(masks, func(i, t int) float64 {
			return indicator(!l.dropped(elementary.Exp(batch[i].logRatio(t)), float64(batch[i].Advantages[t])))
		}),
	}}
}

// topr tapers the pull of bad samples that have become unlikely (Le Roux et al., arXiv 2503.14286).
type topr struct{ threshold float64 } // a sample is bad when its advantage is at most this

func newTOPR(args Args) (PolicyLoss, error) {
	r := arg.Read(args)
	return topr{r.Float("advantage_threshold", 0)}, r.Close()
}

func (topr) Needs() Needs { return Needs{Old: true, Advantages: true, Logprobs: true} }

func (l topr) alpha(s *Sequence, t int) float64 {
	if float64(s.Advantages[t]) > l.threshold {
		return 1
	}
	return min(elementary.Exp(s.logRatio(t)), 1)
}

// Loss is, with alpha = min(ratio, 1) for bad samples and 1 for others, detached,
//
//	aggregate(-alpha*A*lp)
func (l topr) Loss(batch []Sequence, agg Aggregation) Loss {
	masks := masksOf(batch)
	v, g := agg.aggregate(masks, func(i, t int) term {
		s := &batch[i]
		w := -l.alpha(s, t) * float64(s.Advantages[t])
		return term{w * float64(s.Logprobs[t]), w}
	})
	return Loss{v, g, map[string]float64{
		"topr_loss": v,
		"avg_alpha": maskedMean(masks, func(i, t int) float64 { return l.alpha(&batch[i], t) }),
		"avg_ratio": maskedMean(masks, func(i, t int) float64 { return elementary.Exp(batch[i].logRatio(t)) }),
	}}
}

// importanceSampling is the policy gradient with the full, unclipped ratio.
type importanceSampling struct{}

// ImportanceSampling is the policy loss importance_sampling: -A*exp(lp-old).
func ImportanceSampling() PolicyLoss { return importanceSampling{} }

func newImportanceSampling(args Args) (PolicyLoss, error) {
	return ImportanceSampling(), arg.Read(args).Close()
}

func (importanceSampling) Needs() Needs { return Needs{Old: true, Advantages: true, Logprobs: true} }

// Loss is, with x = lp-old clamped to +-20,
//
//	aggregate(-A*exp(x))
func (importanceSampling) Loss(batch []Sequence, agg Aggregation) Loss {
	masks := masksOf(batch)
	v, g := agg.aggregate(masks, func(i, t int) term {
		x, dx := batch[i].clampedLogRatio(t)
		l := -float64(batch[i].Advantages[t]) * elementary.Exp(x)
		return term{l, l * dx}
	})
	x := func(i, t int) float64 { x, _ := batch[i].clampedLogRatio(t); return x }
	return Loss{v, g, map[string]float64{
		"pg_loss":    v,
		"ratio/mean": maskedMean(masks, func(i, t int) float64 { return elementary.Exp(x(i, t)) }),
		"approx_kl":  maskedMean(masks, func(i, t int) float64 { return -x(i, t) }),
	}}
}
