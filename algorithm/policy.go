package algorithm

import "fmt"

// Sequence is one response of R tokens as the losses see it. Every slice is [R] or absent.
type Sequence struct {
	Logprobs   []float32 // of the weights being trained; the loss is differentiated with respect to these
	Old        []float32 // when the response was sampled
	Ref        []float32 // of the reference model, nil when it was not asked
	Advantages []float32
	Mask       []bool // which tokens are trained
}

// PolicyLoss is a policy-gradient (or supervised) loss over a batch of sequences.
type PolicyLoss interface {
	// Needs says which inputs must be there.
	Needs() Needs
	// Loss returns the aggregated loss, its gradient [B][R] with respect to Logprobs, and metrics.
	Loss(batch []Sequence, agg Aggregation) Loss
}

// Needs names the optional inputs that a loss reads.
type Needs struct{ Old, Advantages bool }

// Loss is the outcome of a PolicyLoss.
type Loss struct {
	Value    float64
	Gradient [][]float64 // [B][R], 0 where the mask is false
	Metrics  map[string]float64
}

// PolicyLosses is the table of policy losses by the value of algorithm.policy_loss_fn; each entry makes one from its
// arguments.
func PolicyLosses() map[string]func(Args) (PolicyLoss, error) {
	return map[string]func(Args) (PolicyLoss, error){
		"ppo":  newPPO,
		"sft":  newSFT,
		"opmd": newOPMDLoss,
	}
}

// check reports a sequence whose slices do not have the length of its mask, or that lacks what the loss needs.
func (s *Sequence) check(need Needs) error {
	for _, f := range []struct {
		name     string
		x        []float32
		required bool
	}{
		{"logprobs", s.Logprobs, true},
		{"old logprobs", s.Old, need.Old},
		{"reference logprobs", s.Ref, false},
		{"advantages", s.Advantages, need.Advantages},
	} {
		absent := f.x == nil && !f.required
		if !absent && len(f.x) != len(s.Mask) {
			return fmt.Errorf("algorithm: a sequence of %d response tokens has %d %s; the loss needs one for each", len(s.Mask), len(f.x), f.name)
		}
	}
	return nil
}

func masksOf(batch []Sequence) [][]bool {
	masks := make([][]bool, len(batch))
	for i := range batch {
		masks[i] = batch[i].Mask
	}
	return masks
}

// sft is the negative log-likelihood of the response.
type sft struct{}

func newSFT(args Args) (PolicyLoss, error) { return sft{}, readArgs(args).close() }

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

// opmdLoss is the policy loss of online policy mirror descent as Trinity-RFT has it ("a simple variant of OPMD").
type opmdLoss struct{ tau float64 }

func newOPMDLoss(args Args) (PolicyLoss, error) {
	r := readArgs(args)
	l := opmdLoss{tau: r.number("tau", 1)}
	r.require(l.tau > -1, "tau", l.tau, "greater than -1")
	return l, r.close()
}

func (opmdLoss) Needs() Needs { return Needs{Advantages: true} }

// Loss is
//
//	aggregate(-A*lp) / (1+tau)
func (l opmdLoss) Loss(batch []Sequence, agg Aggregation) Loss {
	scale := 1 / (1 + l.tau)
	v, g := agg.aggregate(masksOf(batch), func(i, t int) term {
		a := float64(batch[i].Advantages[t])
		return term{value: -a * float64(batch[i].Logprobs[t]) * scale, slope: -a * scale}
	})
	return Loss{v, g, map[string]float64{"opmd_loss": v}}
}
