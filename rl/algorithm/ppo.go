package algorithm

import (
	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
	"github.com/seed-d9ad8ee0/trinity/internal/moment"
)

// ppo is the clipped surrogate of proximal policy optimisation (Schulman et al., arXiv 1707.06347) with asymmetric
// clipping and the dual clip for negative advantages (Ye et al., arXiv 1912.09729), and optionally the sequence
// masking of DeepSeek-V3.2.
type ppo struct {
	low, high float64 // the ratio is clipped to [1-low, 1+high]
	c         float64 // negative advantages lose at most c*|A|
	masking   bool    // drop negative advantages of sequences that drifted from the sampler
	delta     float64 // by more than this mean log-ratio
	onPolicy  bool    // take the ratio as 1: plain policy gradient
}

const maxLogRatio = 20 // log-ratios are clamped to +-20 before exp

func newPPO(args Args) (PolicyLoss, error) {
	r := arg.Read(args)
	both := r.Float("clip_range", 0.2)
	l := ppo{low: both, high: both}
	if x := floatOrNil(r, "clip_range_low"); x != nil {
		l.low = *x
	}
	if x := floatOrNil(r, "clip_range_high"); x != nil {
		l.high = *x
	}
	l.c = r.Float("clip_ratio_c", 3)
	l.masking = r.Bool("enable_sequence_masking", false)
	l.delta = r.Float("delta_sequence_masking", 0.1)
	l.onPolicy = r.Bool("fallback_to_policy_gradient", false)
	r.Require(l.low >= 0, "clip_range_low", l.low, "0 or more")
	r.Require(l.high >= 0, "clip_range_high", l.high, "0 or more")
	r.Require(l.c > 1, "clip_ratio_c", l.c, "greater than 1")
	return l, r.Close()
}

func (ppo) Needs() Needs { return Needs{Old: true, Advantages: true, Logprobs: true} }

// ppoToken is everything the loss and its metrics read of one token.
type ppoToken struct {
	loss, slope  float64
	logRatio     float64
	clipped      bool // the clipped surrogate is the larger
	clippedLower bool // the dual clip bounds it
}

// token is, with x = lp-old clamped to +-20 and ratio = exp(x),
//
//	l1 = -A*ratio; l2 = -A*clamp(ratio, 1-low, 1+high); c1 = max(l1, l2); l3 = -A*c
//	loss = A < 0 ? min(l3, c1) : c1
//
// The slope is the derivative with respect to lp: l1 where l1 wins (or where clipping changes nothing), 0 where a bound
// wins.
func (l ppo) token(s *Sequence, t int) ppoToken {
	a := float64(s.Advantages[t])
	x, dx := l.logRatio(s, t)
	ratio := elementary.Exp(x)
	l1 := -a * ratio
	l2 := -a * min(max(ratio, 1-l.low), 1+l.high)
	out := ppoToken{loss: l1, slope: l1 * dx, logRatio: x, clipped: l2 > l1}
	if out.clipped {
		out.loss, out.slope = l2, 0
	}
	if l3 := -a * l.c; a < 0 && out.loss > l3 {
		out.loss, out.slope, out.clippedLower = l3, 0, true
	}
	return out
}

// logRatio returns lp-old clamped to +-20 and its derivative with respect to lp.
func (l ppo) logRatio(s *Sequence, t int) (x, dx float64) {
	if l.onPolicy {
		return 0, 1
	}
	return s.clampedLogRatio(t)
}

func (l ppo) Loss(batch []Sequence, agg Aggregation) Loss {
	masks := masksOf(batch)
	drift := l.drift(batch)
	dropped := func(i, t int) bool { return l.masking && batch[i].Advantages[t] < 0 && drift[i] > l.delta }
	tokens := make([][]ppoToken, len(batch))
	v, g := agg.aggregate(masks, func(i, t int) term {
		if tokens[i] == nil {
			tokens[i] = make([]ppoToken, len(batch[i].Mask))
		}
		tok := l.token(&batch[i], t)
		tokens[i][t] = tok
		if dropped(i, t) {
			return term{}
		}
		return term{tok.loss, tok.slope}
	})
	share := func(f func(ppoToken) bool) float64 {
		return maskedMean(masks, func(i, t int) float64 { return indicator(f(tokens[i][t])) })
	}
	m := map[string]float64{
		"pg_loss":           v,
		"pg_clipfrac":       share(func(p ppoToken) bool { return p.clipped }),
		"pg_clipfrac_lower": share(func(p ppoToken) bool { return p.clippedLower }),
		"ppo_kl":            maskedMean(masks, func(i, t int) float64 { return -tokens[i][t].logRatio }),
	}
	if l.masking {
		m["seq_mask/masked_tokens"] = l.maskedShare(batch, dropped)
		m["seq_mask/mean_sequence_kl"] = moment.Mean(drift)
	}
	return Loss{v, g, m}
}

// drift is the mean of old-lp over each sequence's trained tokens, [B].
func (l ppo) drift(batch []Sequence) []float64 {
	out := make([]float64, len(batch))
	for i := range batch {
		sum := 0.0
		for t, keep := range batch[i].Mask {
			if keep {
				x, _ := l.logRatio(&batch[i], t)
				sum -= x
			}
		}
		out[i] = sum / (float64(count(batch[i].Mask)) + 1e-10)
	}
	return out
}

// maskedShare is the number of dropped tokens, counted over all positions as upstream does, to the number of trained
// ones.
func (l ppo) maskedShare(batch []Sequence, dropped func(i, t int) bool) float64 {
	n, trained := 0, 0
	for i := range batch {
		trained += count(batch[i].Mask)
		for t := range batch[i].Mask {
			if dropped(i, t) {
				n++
			}
		}
	}
	return float64(n) / (float64(trained) + meanEps)
}

func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
