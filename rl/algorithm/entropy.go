package algorithm

import (
	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
)

// Entropy is a bonus for undecided weights: coef * aggregate(entropy) is taken off the loss. The zero Entropy is none.
//
// A service that gives exact entropies (Exact) is asked to add the loss's derivative by a token's entropy, see
// Objective.EntropyWeights. Elsewhere only the log-probability of the sampled token is known, and the entropy
// of a token is estimated by its one summand -p*log(p), as Trinity-RFT does on Tinker; the metric is then named an
// estimate.
type Entropy struct {
	Coef      float64
	Exact     bool // the service computes it
	measure   bool // whether it is computed; its metric is shown even when Coef is 0
	usualOnly bool // leave expert sequences out
}

// Entropies is the table of entropy terms by the value of algorithm.entropy_loss_fn.
func Entropies() map[string]func(Args) (Entropy, error) {
	return map[string]func(Args) (Entropy, error){
		"none": func(args Args) (Entropy, error) {
			r := arg.Read(args)
			r.Float("entropy_coef", 0)
			return Entropy{}, r.Close()
		},
		"default": func(args Args) (Entropy, error) {
			r := arg.Read(args)
			e := Entropy{Coef: r.Float("entropy_coef", 0), measure: true}
			return e, r.Close()
		},
		"mix": func(args Args) (Entropy, error) {
			r := arg.Read(args)
			e := Entropy{Coef: r.Float("entropy_coef", 0), measure: true, usualOnly: true}
			return e, r.Close()
		},
	}
}

// Measured reports whether the term has a metric, and so is computed.
func (e Entropy) Measured() bool { return e.measure }

// EntropyWeights returns the weight of each token's entropy in the loss, without the coefficient, [B][R]: the loss
// of the step is less by Coef * sum of weight * entropy.
func (o *Objective) EntropyWeights(batch []Sequence) [][]float32 {
	out := make([][]float32, len(batch))
	for i := range out {
		out[i] = make([]float32, len(batch[i].Mask))
	}
	for _, part := range o.parts(batch) {
		one := func(*Sequence, int) term { return term{slope: 1} }
		_, weights := o.entropyOf(part.rows, part.agg, one)
		for k, w := range weights {
			out[part.at[k]] = rounded(w, part.scale)
		}
	}
	return out
}

// entropyTerm is -lp*exp(lp) and its derivative -exp(lp)*(1+lp).
func entropyTerm(lp float64) term {
	p := elementary.Exp(lp)
	return term{-lp * p, -p * (1 + lp)}
}
