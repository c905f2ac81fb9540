package algorithm

import (
	"errors"

	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
)

// rec is the family of group-relative REINFORCE with clipping and weighting as separate choices (Yao et al., arXiv
// 2509.24203).
type rec struct {
	low, high           float64 // a ratio is near when it lies in [1-low, 1+high]
	lowPrime, highPrime float64 // and far when it lies outside [1-lowPrime, 1+highPrime]
	clip                string  // which tokens are trained, see inside
	weight              string  // what the advantage is multiplied with, see weighed
	regularizer         string  // none; k2: + coef*(lp-old)^2; forward-kl: - coef*lp
	coef                float64
	temp                float64 // of the weight "advantage"
	distill             bool    // advantages are teacher-old; make them teacher-lp, lp detached
}

func newREC(args Args) (PolicyLoss, error) {
	r := arg.Read(args)
	clip := r.Word("clip_mode", "none", "one-side", "gspo-one-side", "two-side", "ring")
	// Upstream's defaults of a run without arguments are 0.6 and 2, but the ring takes an argument, clip_mode, and then
	// upstream has the defaults of its class.
	lowPrime, highPrime := 0.6, 2.0
	if clip == "ring" {
		lowPrime, highPrime = 0.4, 0.4
	}
	l := rec{
		low: r.Float("epsilon_low", 0.2), high: r.Float("epsilon_high", 0.2),
		lowPrime: r.Float("epsilon_low_prime", lowPrime), highPrime: r.Float("epsilon_high_prime", highPrime),
		clip: clip,
		weight: r.Word("weight", "none", "importance_sampling", "truncated_importance_sampling",
			"gspo_importance_sampling", "advantage"),
		regularizer: r.Word("regularizer", "none", "k2", "forward-kl"),
		coef:        r.Float("regularizer_coef", 0),
		temp:        r.Float("temp", 1),
		distill:     r.Bool("fix_opd_advantage", false),
	}
	r.Require(l.low > 0 && l.low <= 1, "epsilon_low", l.low, "greater than 0 and at most 1")
	r.Require(l.high > 0, "epsilon_high", l.high, "greater than 0")
	r.Require(l.lowPrime > 0 && l.lowPrime <= 1, "epsilon_low_prime", l.lowPrime, "greater than 0 and at most 1")
	r.Require(l.highPrime > 0, "epsilon_high_prime", l.highPrime, "greater than 0")
	r.Require(l.coef >= 0, "regularizer_coef", l.coef, "0 or more")
	r.Require(l.temp > 0, "temp", l.temp, "greater than 0")
	if l.weight == "gspo_importance_sampling" && l.clip != "gspo-one-side" {
		r.Fail(
			errors.New("weight gspo_importance_sampling is the ratio of sequences; it needs clip_mode gspo-one-side"))
	}
	return l, r.Close()
}

func (rec) Needs() Needs { return Needs{Old: true, Advantages: true, Logprobs: true} }

// inside reports whether a token with advantage a is trained; ratio is the token's, seq the sequence's.
func (l rec) inside(a, ratio, seq float64) bool {
	oneSide := func(x float64) bool { return a >= 0 && x <= 1+l.high || a <= 0 && x >= 1-l.low }
	near := ratio >= 1-l.low && ratio <= 1+l.high
	switch l.clip {
	case "two-side":
		return near
	case "one-side":
		return oneSide(ratio)
	case "gspo-one-side":
		return oneSide(seq)
	case "ring":
		return near || a >= 0 && ratio <= 1-l.lowPrime || a <= 0 && ratio >= 1+l.highPrime
	}
	return true
}

func (l rec) weighed(a, ratio, seq float64) float64 {
	switch l.weight {
	case "importance_sampling":
		return a * ratio
	case "truncated_importance_sampling":
		return a * min(max(ratio, 1-l.lowPrime), 1+l.highPrime)
	case "gspo_importance_sampling":
		return a * seq
	case "advantage":
		return a * elementary.Exp(a/l.temp)
	}
	return a
}

// Loss is, with every ratio and weight detached,
//
//	aggregate(-weighed(A)*lp where inside, else 0, plus the regularizer)
//
// gspo-one-side takes the mean over each sequence's tokens, then over sequences, whatever agg says.
func (l rec) Loss(batch []Sequence, agg Aggregation) Loss {
	if l.clip == "gspo-one-side" {
		agg = SeqMeanTokenMean
	}
	masks := masksOf(batch)
	seqs := make([]float64, len(batch))
	for i := range batch {
		seqs[i] = elementary.Exp(batch[i].meanLogRatio())
	}
	inside := func(i, t int) bool {
		return l.inside(float64(batch[i].Advantages[t]), elementary.Exp(batch[i].logRatio(t)), seqs[i])
	}
	v, g := agg.aggregate(masks, func(i, t int) term {
		s := &batch[i]
		lp, x := float64(s.Logprobs[t]), s.logRatio(t)
		w := l.weighed(float64(s.Advantages[t]), elementary.Exp(x), seqs[i])
		if l.distill {
			w -= x
		}
		if !inside(i, t) {
			w = 0
		}
		out := term{float64(-w * lp), -w}
		switch l.regularizer {
		case "k2":
			out.value += float64(l.coef * x * x)
			out.slope += float64(2 * l.coef * x)
		case "forward-kl":
			out.value -= float64(l.coef * lp)
			out.slope -= l.coef
		}
		return out
	})
	return Loss{v, g, map[string]float64{
		"pg_loss":     v,
		"pg_clipfrac": maskedMean(masks, func(i, t int) float64 { return indicator(!inside(i, t)) }),
	}}
}
