package algorithm

import (
	"cmp"
	"math"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
)

// m2po bounds the second moment of the log-ratio over a step instead of each ratio (Zheng et al., "Prosperity before
// Collapse", arXiv 2510.01161): of the tokens that PPO might clip, those that moved most are dropped until the mean of
// (lp-old)^2 over the rest is at most the threshold.
type m2po struct {
	threshold float64
	clip      float64 // log-ratios are clamped to +-clip before exp
}

func newM2PO(args Args) (PolicyLoss, error) {
	r := arg.Read(args)
	l := m2po{r.Float("m2_threshold", 0.04), r.Float("log_ratio_clip", maxLogRatio)}
	r.Require(l.threshold >= 0 && !math.IsInf(l.threshold, 0), "m2_threshold", l.threshold, "0 or more")
	r.Require(l.clip > 0 && !math.IsInf(l.clip, 0), "log_ratio_clip", l.clip, "greater than 0")
	return l, r.Close()
}

func (m2po) Needs() Needs { return Needs{Old: true, Advantages: true, Logprobs: true} }

// Step implements wholeStep: tokens of all sequences compete.
func (l m2po) Step(batch []Sequence, agg Aggregation, perSequence bool) Loss {
	return l.Loss(batch, agg.per(perSequence))
}

// Loss is, with ratio = exp(lp-old), whose derivative by lp is taken to be the ratio even where it is clamped,
//
//	aggregate(-A*ratio), 0 for dropped tokens
func (l m2po) Loss(batch []Sequence, agg Aggregation) Loss {
	masks := masksOf(batch)
	dropped, m := l.dropped(batch)
	x := func(i, t int) float64 { return min(max(batch[i].logRatio(t), -l.clip), l.clip) }
	v, g := agg.aggregate(masks, func(i, t int) term {
		if dropped[tokenAt{i, t}] {
			return term{}
		}
		loss := -float64(batch[i].Advantages[t]) * elementary.Exp(x(i, t))
		return term{loss, loss}
	})
	m["pg_loss"] = v
	m["ppo_kl"] = maskedMean(masks, func(i, t int) float64 { return -x(i, t) })
	m["ratio/mean"] = maskedMean(masks, func(i, t int) float64 { return elementary.Exp(x(i, t)) })
	return Loss{v, g, m}
}

// tokenAt names token t of sequence i.
type tokenAt struct{ i, t int }

// dropped finds the tokens to leave out. Candidates are those with A > 0 that became likelier and those with A < 0
// that became less likely; the ones with the smallest (lp-old)^2 stay, as many as keep the mean within the threshold.
func (l m2po) dropped(batch []Sequence) (map[tokenAt]bool, map[string]float64) {
	type candidate struct {
		at tokenAt
		m2 float64
	}
	var candidates []candidate
	before, trained := 0.0, 0
	for i := range batch {
		for t, keep := range batch[i].Mask {
			if !keep {
				continue
			}
			trained++
			a, x := float64(batch[i].Advantages[t]), batch[i].logRatio(t)
			if a > 0 && x > 0 || a < 0 && x < 0 {
				candidates = append(candidates, candidate{tokenAt{i, t}, x * x})
				before += float64(x * x)
			}
		}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Compare(a.m2, b.m2) })
	stay, sum := 0, 0.0
	for stay < len(candidates) && sum+candidates[stay].m2 <= l.threshold*float64(stay+1) {
		sum += candidates[stay].m2
		stay++
	}
	out := make(map[tokenAt]bool)
	for _, c := range candidates[stay:] {
		out[c.at] = true
	}
	return out, map[string]float64{
		"m2_before":             before / float64(max(1, len(candidates))),
		"m2_after":              sum / float64(max(1, stay)),
		"masked_fraction":       float64(len(out)) / float64(max(1, trained)),
		"trust_region_fraction": float64(len(candidates)) / float64(max(1, trained)),
	}
}
