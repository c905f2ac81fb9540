package algorithm

import (
	"math"

	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
)

// dpo is direct preference optimisation (Rafailov et al., arXiv 2305.18290) over pairs of sequences: chosen, rejected,
// chosen, rejected ... The loss is the mean over pairs; Trinity-RFT adds all pairs up before the sigmoid.
type dpo struct {
	beta      float64
	smoothing float64 // the share of pairs whose labels are taken to be swapped
}

func newDPO(args Args) (PolicyLoss, error) {
	r := arg.Read(args)
	l := dpo{beta: r.Float("beta", 0.1), smoothing: r.Float("label_smoothing", 0)}
	r.Require(l.beta > 0, "beta", l.beta, "greater than 0")
	r.Require(l.smoothing >= 0 && l.smoothing < 0.5, "label_smoothing", l.smoothing, "at least 0 and less than 0.5")
	return l, r.Close()
}

func (dpo) Needs() Needs { return Needs{Ref: true, Logprobs: true, Pairs: true} }

// Step implements wholeStep: pairs weigh the same in every aggregation.
func (l dpo) Step(batch []Sequence, agg Aggregation, _ bool) Loss { return l.Loss(batch, agg) }

// Loss is the mean over pairs of, with x = sum of lp-ref over chosen minus the same over rejected and ls = smoothing,
//
//	-(1-ls)*log sigmoid(beta*x) - ls*log sigmoid(-beta*x)
//
// Pairs without a trained token on either side count nowhere.
func (l dpo) Loss(batch []Sequence, _ Aggregation) Loss {
	out := Loss{Gradient: make([][]float64, len(batch)), Metrics: map[string]float64{
		"dpo_loss": 0, "chosen_reward": 0, "rejected_reward": 0, "accuracy_mean": 0}}
	for i := range batch {
		out.Gradient[i] = make([]float64, len(batch[i].Mask))
	}
	share := 1 / float64(max(1, pairsOf(batch)))
	for i := 0; i+1 < len(batch); i += 2 {
		chosen, rejected := &batch[i], &batch[i+1]
		if count(chosen.Mask)+count(rejected.Mask) == 0 {
			continue
		}
		c, r := chosen.sumAboveRef(), rejected.sumAboveRef()
		z := l.beta * (c - r)
		out.Metrics["dpo_loss"] += float64(
			share * (float64((1-l.smoothing)*softplus(-z)) + float64(l.smoothing*softplus(z))))
		out.Metrics["chosen_reward"] += float64(share * l.beta * c)
		out.Metrics["rejected_reward"] += float64(share * l.beta * r)
		out.Metrics["accuracy_mean"] += float64(share * indicator(c > r))
		pull := share * l.beta * (float64(l.smoothing*sigmoid(z)) - float64((1-l.smoothing)*sigmoid(-z)))
		fill(out.Gradient[i], chosen.Mask, pull)
		fill(out.Gradient[i+1], rejected.Mask, -pull)
	}
	out.Value = out.Metrics["dpo_loss"]
	return out
}

// pairsOf is how many pairs have a trained token.
func pairsOf(batch []Sequence) (n int) {
	for i := 0; i+1 < len(batch); i += 2 {
		if count(batch[i].Mask)+count(batch[i+1].Mask) > 0 {
			n++
		}
	}
	return n
}

func (s *Sequence) sumAboveRef() float64 {
	sum := 0.0
	for t, keep := range s.Mask {
		if keep {
			sum += float64(s.Logprobs[t]) - float64(s.Ref[t])
		}
	}
	return sum
}

func fill(dst []float64, mask []bool, v float64) {
	for t, keep := range mask {
		if keep {
			dst[t] = v
		}
	}
}

func sigmoid(x float64) float64 { return 1 / (1 + elementary.Exp(-x)) }

// softplus is log(1+exp(x)), that is -log sigmoid(-x).
func softplus(x float64) float64 { return max(x, 0) + elementary.Log1p(elementary.Exp(-math.Abs(x))) }
