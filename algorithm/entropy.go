package algorithm

import "math"

// Entropy is a bonus for undecided weights: coef * aggregate(estimate) is taken off the loss. The zero Entropy is none.
//
// Only the log-probability of the sampled token is known here, so the entropy of a token is estimated by its one
// summand -p*log(p), as Trinity-RFT does on Tinker.
type Entropy struct {
	Coef      float64
	measure   bool // whether the estimate is computed; its metric is shown even when Coef is 0
	usualOnly bool // leave expert sequences out
}

// Entropies is the table of entropy terms by the value of algorithm.entropy_loss_fn.
func Entropies() map[string]func(Args) (Entropy, error) {
	return map[string]func(Args) (Entropy, error){
		"none": func(args Args) (Entropy, error) {
			r := readArgs(args)
			r.number("entropy_coef", 0)
			return Entropy{}, r.close()
		},
		"default": func(args Args) (Entropy, error) {
			r := readArgs(args)
			e := Entropy{Coef: r.number("entropy_coef", 0), measure: true}
			return e, r.close()
		},
		"mix": func(args Args) (Entropy, error) {
			r := readArgs(args)
			e := Entropy{Coef: r.number("entropy_coef", 0), measure: true, usualOnly: true}
			return e, r.close()
		},
	}
}

// entropyTerm is -lp*exp(lp) and its derivative -exp(lp)*(1+lp).
func entropyTerm(lp float64) term {
	p := math.Exp(lp)
	return term{-lp * p, -p * (1 + lp)}
}
