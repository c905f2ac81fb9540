package algorithm

import (
	"cmp"
	"math"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
	"github.com/seed-d9ad8ee0/trinity/internal/moment"
)

// clipB and clipV are grpo_verl with some tokens of negative advantage left out of training: those whose loss of
// probability would take the most entropy away ("On the Entropy Dynamics in RFT of LLMs", arXiv 2602.03392). What a
// token does to the entropy H of its distribution is judged by S = p*(H + log p).

// clipB compares S with its mean E over the batch: a token goes when S-E < -mu*deviation(S).
type clipB struct{ epsilon, mu float64 }

func newClipB(args Args) (LateAdvantage, error) {
	r := arg.Read(args)
	a := clipB{r.Float("epsilon", 1e-6), r.Float("mu", 2.5)}
	r.Require(a.epsilon > 0, "epsilon", a.epsilon, "greater than 0")
	return a, r.Close()
}

func (clipB) Needs() Needs { return Needs{Reward: true, Old: true, Entropy: true} }

func (a clipB) Assign(batch []Graded) (map[string]float64, error) {
	score := lateGroup{func(s []float64) []float64 { return groupNormalised(s, a.epsilon) }}
	if _, err := score.Assign(batch); err != nil {
		return nil, err
	}
	s := func(at tokenAt) float64 { return batch[at.i].entropyPull(at.t) }
	e, variance := populationMoments(trainedTokens(batch), s)
	std := math.Sqrt(variance)
	var drop []tokenAt
	if std >= negligible {
		for _, at := range trainedTokens(batch) {
			if batch[at.i].Advantages[at.t] < 0 && s(at)-e < -a.mu*std {
				drop = append(drop, at)
			}
		}
	}
	m := dropTokens(batch, drop)
	m["ES"], m["varS"] = e, variance
	return m, nil
}

// clipV compares S with its mean under the token's own distribution: with D = centre - S a token goes when D > mu *
// deviation(D). If that is more than maxFrac of the tokens, the largest D of negative advantage go, as many as that is.
type clipV struct{ epsilon, mu, maxFrac float64 }

func newClipV(args Args) (LateAdvantage, error) {
	r := arg.Read(args)
	a := clipV{r.Float("epsilon", 1e-6), r.Float("mu", 8.5), r.Float("max_frac", 1e-4)}
	r.Require(a.epsilon > 0, "epsilon", a.epsilon, "greater than 0")
	r.Require(a.maxFrac >= 0 && a.maxFrac <= 1, "max_frac", a.maxFrac, "between 0 and 1")
	return a, r.Close()
}

func (clipV) Needs() Needs { return Needs{Reward: true, Old: true, Entropy: true, Centre: true} }

func (a clipV) Assign(batch []Graded) (map[string]float64, error) {
	score := lateGroup{func(s []float64) []float64 { return groupNormalised(s, a.epsilon) }}
	if _, err := score.Assign(batch); err != nil {
		return nil, err
	}
	d := func(at tokenAt) float64 { return float64(batch[at.i].Centre[at.t]) - batch[at.i].entropyPull(at.t) }
	tokens := trainedTokens(batch)
	_, variance := populationMoments(tokens, d)
	std := math.Sqrt(variance)
	var negative, zero []tokenAt
	for _, at := range tokens {
		switch x := batch[at.i].Advantages[at.t]; {
		case std < negligible || x > 0 || d(at) <= a.mu*std:
		case x < 0:
			negative = append(negative, at)
		default:
			zero = append(zero, at)
		}
	}
	if n := len(negative) + len(zero); float64(n) > a.maxFrac*float64(len(tokens)) {
		slices.SortStableFunc(negative, func(x, y tokenAt) int { return cmp.Compare(d(y), d(x)) })
		negative = negative[:min(len(negative), max(int(a.maxFrac*float64(len(tokens))), 1))]
	}
	m := dropTokens(batch, append(negative, zero...))
	m["stdD"] = std
	return m, nil
}

const negligible = 1e-12 // a deviation below this keeps every token

// entropyPull is S of a token.
func (g *Graded) entropyPull(t int) float64 {
	lp := float64(g.Logprobs[t])
	return float64(elementary.Exp(lp) * (float64(g.Entropy[t]) + lp))
}

func trainedTokens(batch []Graded) []tokenAt {
	var out []tokenAt
	for i := range batch {
		for t, keep := range batch[i].ActionMask {
			if keep {
				out = append(out, tokenAt{i, t})
			}
		}
	}
	return out
}

// populationMoments is mean and variance (over n) of f; 0 when there are no tokens.
func populationMoments(tokens []tokenAt, f func(tokenAt) float64) (m, variance float64) {
	values := make([]float64, len(tokens))
	n := float64(max(1, len(tokens)))
	for i, at := range tokens {
		values[i] = f(at)
		m += values[i] / n
	}
	if len(values) > 0 && moment.Equal(values) {
		return values[0], 0
	}
	for _, v := range values {
		d := v - m
		variance += float64(d*d) / n
	}
	return m, variance
}

// dropTokens takes tokens out of the action masks, and returns which share of all trained ones that is, of those with
// positive and of those with negative advantage.
func dropTokens(batch []Graded, drop []tokenAt) map[string]float64 {
	share := func(counts func(float32) bool) float64 {
		n, gone := 0, 0
		for _, at := range trainedTokens(batch) {
			n += int(indicator(counts(batch[at.i].Advantages[at.t])))
		}
		for _, at := range drop {
			gone += int(indicator(counts(batch[at.i].Advantages[at.t])))
		}
		return float64(gone) / float64(max(1, n))
	}
	m := map[string]float64{
		"frac_clipped":     share(func(float32) bool { return true }),
		"frac_clipped_pos": share(func(a float32) bool { return a > 0 }),
		"frac_clipped_neg": share(func(a float32) bool { return a < 0 }),
	}
	fresh := make(map[int]bool)
	for _, at := range drop {
		if !fresh[at.i] {
			batch[at.i].ActionMask = slices.Clone(batch[at.i].ActionMask)
			fresh[at.i] = true
		}
		batch[at.i].ActionMask[at.t] = false
	}
	return m
}
