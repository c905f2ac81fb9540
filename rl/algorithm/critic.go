package algorithm

import (
	"fmt"
	"math"

	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
	"github.com/seed-d9ad8ee0/trinity/internal/moment"
)

// Critic reads values out of a language model: the value before a token is the mean of a categorical distribution over
// K values, whose probabilities are those that the model gives to K reserved tokens at that position. So a critic is a
// second training client, trained by cross_entropy with K targets per position and weights (Bellemare et al., arXiv
// 1707.06887; Farebrother et al., arXiv 2403.03950).
//
// The values lie evenly from Low to High, both included. A return is encoded as the two nearest values in proportion
// (two-hot), or as a normal distribution around it cut into the values' bins (HL-Gauss) when Sigma is above 0; either
// way the mean is the return (HL-Gauss: away from the ends, to within what the bins resolve).
type Critic struct {
	Tokens    []int32 // the K >= 2 reserved ids, all different
	Low, High float64 // the smallest and the largest value
	Sigma     float64 // deviation of HL-Gauss in units of the distance between values; 0 is two-hot, 0.75 is usual

	// Prior [K], if not nil, is taken off the tokens' log-probabilities before they are read: what the untrained model
	// makes of them anywhere, so that its values begin in the middle instead of at whichever token it likes best.
	Prior []float64
}

// NewCritic checks a critic's settings.
func NewCritic(c Critic) (Critic, error) {
	seen := make(map[int32]bool)
	for _, id := range c.Tokens {
		if id < 0 || seen[id] {
			return c, fmt.Errorf("algorithm: critic token %d is negative or comes twice; give different ids of "+
				"reserved tokens", id)
		}
		seen[id] = true
	}
	switch {
	case len(c.Tokens) < 2:
		return c, fmt.Errorf("algorithm: a critic has %d tokens; it needs at least 2 values", len(c.Tokens))
	case !(c.Low < c.High) || math.IsInf(c.Low, 0) || math.IsInf(c.High, 0):
		return c, fmt.Errorf("algorithm: a critic's values go from %v to %v; the first must be the smaller and both "+
			"finite", c.Low, c.High)
	case !(c.Sigma >= 0):
		return c, fmt.Errorf("algorithm: a critic has sigma %v; it must be 0 or more", c.Sigma)
	}
	return c, nil
}

// step is the distance between neighbouring values.
func (c *Critic) step() float64 { return (c.High - c.Low) / float64(len(c.Tokens)-1) }

// Encode writes the distribution [K] whose mean is value, cut to [Low, High], into p.
func (c *Critic) Encode(p []float64, value float64) {
	at := (min(max(value, c.Low), c.High) - c.Low) / c.step() // in units of steps, 0 to K-1
	if c.Sigma > 0 {
		c.gauss(p, at)
		return
	}
	clear(p)
	k := min(int(at), len(p)-2)
	p[k+1] = at - float64(k)
	p[k] = 1 - p[k+1]
}

// gauss writes the shares of a normal distribution around at in the bins [k-1/2, k+1/2], scaled to sum 1.
func (c *Critic) gauss(p []float64, at float64) {
	cdf := func(x float64) float64 { return elementary.Erf((x - at) / (c.Sigma * math.Sqrt2)) }
	last := float64(len(p)) - 0.5
	all := cdf(last) - cdf(-0.5)
	for k := range p {
		p[k] = (cdf(float64(k)+0.5) - cdf(float64(k)-0.5)) / all
	}
}

// given writes the distribution [K] over the reserved tokens, given that the token is one of them and less the prior,
// into q.
func (c *Critic) given(q []float64, logprobs []float32) {
	top := math.Inf(-1)
	for k, lp := range logprobs {
		q[k] = float64(lp)
		if c.Prior != nil {
			q[k] -= c.Prior[k]
		}
		top = max(top, q[k])
	}
	sum := 0.0
	for k := range q {
		q[k] = elementary.Exp(q[k] - top)
		sum += q[k]
	}
	for k := range q {
		q[k] /= sum
	}
}

// Decode returns the value that a model gives through the log-probabilities [K] of the reserved tokens: the mean under
// its distribution given that the token is one of them.
func (c *Critic) Decode(logprobs []float32) float64 {
	q := make([]float64, len(logprobs))
	c.given(q, logprobs)
	mean := 0.0
	for k, p := range q {
		mean += float64(p * float64(k))
	}
	return c.Low + float64(mean*c.step())
}

// PriorOf is the mean log-probability of each reserved token over the trained tokens of responses, row-major [R,K]
// each; nil without any.
func (c *Critic) PriorOf(logprobs [][]float32, masks [][]bool) []float64 {
	K, n := len(c.Tokens), 0
	sum := make([]float64, K)
	for i, mask := range masks {
		for t, keep := range mask {
			if keep {
				n++
				for k := range K {
					sum[k] += float64(logprobs[i][t*K+k])
				}
			}
		}
	}
	if n == 0 {
		return nil
	}
	for k := range sum {
		sum[k] /= float64(n)
	}
	return sum
}

// Values decodes every position of logprobs, row-major [R,K], to values [R].
func (c *Critic) Values(logprobs []float32) []float32 {
	K := len(c.Tokens)
	out := make([]float32, len(logprobs)/K)
	for t := range out {
		out[t] = float32(c.Decode(logprobs[t*K : (t+1)*K]))
	}
	return out
}

// Targets returns target_tokens of R positions, row-major [R,K]: the reserved tokens at each.
func (c *Critic) Targets(R int) []int64 {
	out := make([]int64, 0, R*len(c.Tokens))
	for range R {
		for _, id := range c.Tokens {
			out = append(out, int64(id))
		}
	}
	return out
}

// Weights returns the weights of one response of R tokens and its loss, for a step whose sequences have trained tokens
// in all. logprobs are the reserved tokens' under the weights to be trained and the result is in the same order,
// row-major [R,K].
//
// With t the encoded return of a trained token and q the distribution given that the token is a reserved one, the loss
// is -sum t*log(q), and the step's the mean over its trained tokens (token-mean, as verl has it). Its derivative by the
// reserved tokens' log-probabilities is q-t, so a cross_entropy with weights t-q has exactly its gradient: the weights
// of a position sum to 0, and how likely the reserved tokens are at all does not matter and does not change.
//
// verl's clipping of values has no counterpart: with one update per step it never binds.
func (c *Critic) Weights(returns, logprobs []float32, mask []bool, trained int) (weights []float32, loss float64) {
	K := len(c.Tokens)
	weights = make([]float32, len(mask)*K)
	t, q := make([]float64, K), make([]float64, K)
	for pos, keep := range mask {
		if !keep {
			continue
		}
		c.Encode(t, float64(returns[pos]))
		c.given(q, logprobs[pos*K:(pos+1)*K])
		for k := range K {
			weights[pos*K+k] = float32((t[k] - q[k]) / float64(trained))
			if t[k] > 0 {
				loss -= float64(t[k] * elementary.Log(max(q[k], math.SmallestNonzeroFloat64)) / float64(trained))
			}
		}
	}
	return weights, loss
}

// CriticMetrics describes how well values foretell returns, over the trained tokens: critic/vf_loss (half the mean
// squared error), critic/vpred_mean and critic/vf_explained_var (1 - var(returns-values)/var(returns), 0 when returns
// do not vary).
func CriticMetrics(returns, values [][]float32, masks [][]bool) map[string]float64 {
	var ret, off, val []float64
	for i, mask := range masks {
		for t, keep := range mask {
			if keep {
				r, v := float64(returns[i][t]), float64(values[i][t])
				ret, val, off = append(ret, r), append(val, v), append(off, r-v)
			}
		}
	}
	m := map[string]float64{"critic/vf_loss": 0, "critic/vpred_mean": moment.Mean(val), "critic/vf_explained_var": 0}
	for _, d := range off {
		m["critic/vf_loss"] += float64(d*d) / float64(2*len(off))
	}
	if len(ret) > 1 {
		if all := stdDev(ret, moment.Mean(ret)); all > 0 {
			rest := stdDev(off, moment.Mean(off))
			m["critic/vf_explained_var"] = 1 - float64(rest*rest)/(all*all)
		}
	}
	return m
}
