package algorithm

import (
	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
)

// sft is the negative log-likelihood of the response.
type sft struct{}

func newSFT(args Args) (PolicyLoss, error) { return sft{}, arg.Read(args).Close() }

func (sft) Needs() Needs { return Needs{} }

// Loss is
//
//	aggregate(-lp)
func (sft) Loss(batch []Sequence, agg Aggregation) Loss {
	v, g := agg.aggregate(masksOf(batch), func(i, t int) term {
		return term{value: -float64(batch[i].Logprobs[t]), slope: -1}
	})
	return Loss{v, g, map[string]float64{"sft_loss": v}}
}

// sftIS weighs each token by how likely it is, which makes the likelihood itself the objective.
type sftIS struct{}

func newSFTIS(args Args) (PolicyLoss, error) { return sftIS{}, arg.Read(args).Close() }

func (sftIS) Needs() Needs { return Needs{Logprobs: true} }

// Loss is, with the probability detached,
//
//	aggregate(-lp * exp(lp))
func (sftIS) Loss(batch []Sequence, agg Aggregation) Loss {
	v, g := agg.aggregate(masksOf(batch), func(i, t int) term {
		lp := float64(batch[i].Logprobs[t])
		p := elementary.Exp(lp)
		return term{value: -lp * p, slope: -p}
	})
	return Loss{v, g, map[string]float64{"sft_is_loss": v}}
}

// sftPhi weighs each token by p(1-p): tokens that the model is sure of, or has no idea of, pull little. It is the
// supervised half of CHORD (Zhang et al., arXiv 2508.11408).
type sftPhi struct{ cutoff float64 } // tokens at least this likely do not pull

func newSFTPhi(args Args) (PolicyLoss, error) {
	r := arg.Read(args)
	l := sftPhi{r.Float("cutoff_prob", 1)}
	r.Require(l.cutoff > 0 && l.cutoff <= 1, "cutoff_prob", l.cutoff, "greater than 0 and at most 1")
	return l, r.Close()
}

func (sftPhi) Needs() Needs { return Needs{Logprobs: true} }

// Loss is, with the weight detached and x = min(lp, log(cutoff)),
//
//	aggregate(-x * p(1-p)), p = exp(lp)
func (l sftPhi) Loss(batch []Sequence, agg Aggregation) Loss {
	v, g := agg.aggregate(masksOf(batch), func(i, t int) term {
		lp := float64(batch[i].Logprobs[t])
		p := elementary.Exp(lp)
		w := p * (1 - p)
		if bound := elementary.Log(l.cutoff); l.cutoff < 1 && lp > bound {
			return term{value: -bound * w}
		}
		return term{value: -lp * w, slope: -w}
	})
	return Loss{v, g, map[string]float64{"sft_phi_loss": v}}
}
