package algorithm

import (
	"fmt"
	"slices"
)

// Aggregation says how a value per token becomes one number. Every mode is linear in the values, so it is fully
// described by one weight per token: loss = sum of weight*value, and the derivative is weight*derivative.
type Aggregation string

// The modes of algorithm.loss_agg_mode. On the Tinker path aggregation is per sequence (see Objective), where TokenMean
// and SeqMeanTokenMean are the same.
const (
	TokenMean           Aggregation = "token-mean"              // mean over all trained tokens of the batch
	SeqMeanTokenSum     Aggregation = "seq-mean-token-sum"      // mean over sequences of the sum over their tokens
	SeqMeanTokenMean    Aggregation = "seq-mean-token-mean"     // mean over sequences of the mean over their tokens
	SeqMeanTokenSumNorm Aggregation = "seq-mean-token-sum-norm" // sum over everything / tokens of the longest response
	meanEps                         = 1e-8                      // keeps the mean over no tokens at 0

	// seqMeanTokenSumNorm is the mean over sequences of the sum over their tokens / tokens of the longest response.
	seqMeanTokenSumNorm Aggregation = "sequence's seq-mean-token-sum-norm"
)

// aggregations lists the modes that a configuration may choose.
func aggregations() []Aggregation {
	return []Aggregation{TokenMean, SeqMeanTokenSum, SeqMeanTokenMean, SeqMeanTokenSumNorm}
}

// ParseAggregation checks a configured mode.
func ParseAggregation(s string) (Aggregation, error) {
	all := aggregations()
	if !slices.Contains(all, Aggregation(s)) {
		return "", fmt.Errorf("algorithm: loss_agg_mode %q is not known; it is one of %v", s, all)
	}
	return Aggregation(s), nil
}

// per returns the mode whose value for many sequences is the mean of a's values for each one, or a itself.
func (a Aggregation) per(sequence bool) Aggregation {
	switch {
	case sequence && a == TokenMean:
		return SeqMeanTokenMean
	case sequence && a == SeqMeanTokenSumNorm:
		return seqMeanTokenSumNorm
	}
	return a
}

// masks are the masks [B][R] of sequences that are aggregated together, and how many tokens the longest response of
// their step has.
type masks struct {
	rows    [][]bool
	longest int
}

func (m *masks) add(s *Sequence) {
	m.rows = append(m.rows, s.Mask)
	m.longest = max(m.longest, s.Longest)
}

func masksOf(batch []Sequence) masks {
	var m masks
	for i := range batch {
		m.add(&batch[i])
	}
	return m
}

// weights returns the weight of each token of masks; 0 where the mask is false. Sequences without a trained token count
// nowhere.
func (a Aggregation) weights(all masks) [][]float64 {
	total, width, trained := 0, all.longest, 0
	for _, m := range all.rows {
		if n := count(m); n > 0 {
			total += n
			width = max(width, len(m))
			trained++
		}
	}
	rows := float64(max(1, trained))
	out := make([][]float64, len(all.rows))
	for i, m := range all.rows {
		var w float64
		switch a {
		case SeqMeanTokenSum:
			w = 1 / rows
		case SeqMeanTokenMean:
			w = 1 / (float64(count(m)) + meanEps) / rows
		case seqMeanTokenSumNorm:
			w = 1 / (float64(width) + meanEps) / rows
		case SeqMeanTokenSumNorm:
			w = 1 / (float64(width) + meanEps)
		default:
			w = 1 / (float64(total) + meanEps)
		}
		out[i] = make([]float64, len(m))
		for t, keep := range m {
			if keep {
				out[i][t] = w
			}
		}
	}
	return out
}

func count(mask []bool) int {
	n := 0
	for _, keep := range mask {
		if keep {
			n++
		}
	}
	return n
}

// term is the value of a loss at one token and its derivative with respect to that token's log-probability.
type term struct{ value, slope float64 }

// aggregate sums weight*term over all tokens whose mask is true, in order; at is not called for the others, so values
// there, even NaN, do no harm. The gradient is [B][R].
func (a Aggregation) aggregate(all masks, at func(i, t int) term) (value float64, grad [][]float64) {
	grad = a.weights(all)
	for i, row := range grad {
		for t, w := range row {
			if all.rows[i][t] {
				x := at(i, t)
				value += float64(w * x.value)
				row[t] = w * x.slope
			}
		}
	}
	return value, grad
}

// maskedMean is the mean of f over all tokens whose mask is true, 0 when there are none.
func maskedMean(all masks, f func(i, t int) float64) float64 {
	v, _ := TokenMean.aggregate(all, func(i, t int) term { return term{value: f(i, t)} })
	return v
}
