package algorithm

import "fmt"

// Sequence is one response of R tokens as the losses see it. Every slice is [R] or absent.
type Sequence struct {
	Logprobs   []float32 // of the weights being trained; the loss is differentiated with respect to these
	Old        []float32 // when the response was sampled
	Ref        []float32 // of the reference model, nil when it was not asked
	Advantages []float32
	Entropy    []float32 // exact, nil unless the service gave it
	Mask       []bool    // which tokens are trained
	Longest    int       // tokens of the longest response of the step; 0: of those it is aggregated with

	Expert bool // it comes from an expert data set (mix)
	Step   int  // the step being trained, the first is 1 (mix_chord)
}

// PolicyLoss is a policy-gradient (or supervised) loss over a batch of sequences.
type PolicyLoss interface {
	// Needs says which inputs must be there.
	Needs() Needs
	// Loss returns the aggregated loss, its gradient [B][R] with respect to Logprobs, and metrics.
	Loss(batch []Sequence, agg Aggregation) Loss
}

// wholeStep is a PolicyLoss in which the sequences of a step depend on each other: pairs, two kinds of them, a bound on
// all of them together. Objective passes it the whole step.
type wholeStep interface {
	PolicyLoss
	// Step is the loss of all sequences of a step, a mean over them. With perSequence each is aggregated separately.
	Step(batch []Sequence, agg Aggregation, perSequence bool) Loss
}

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
		"ppo":                 newPPO,
		"gspo":                newGSPO,
		"cispo":               newCISPO,
		"sapo":                newSAPO,
		"sppo":                newSPPO,
		"topr":                newTOPR,
		"opmd":                newOPMDLoss,
		"rec":                 newREC,
		"m2po":                newM2PO,
		"importance_sampling": newImportanceSampling,
		"sft":                 newSFT,
		"sft_is":              newSFTIS,
		"sft_phi":             newSFTPhi,
		"dpo":                 newDPO,
		"mix":                 newMix,
		"mix_chord":           newMixChord,
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
		{"reference logprobs", s.Ref, need.Ref},
		{"advantages", s.Advantages, need.Advantages},
		{"entropies", s.Entropy, false},
	} {
		absent := f.x == nil && !f.required
		if !absent && len(f.x) != len(s.Mask) {
			return fmt.Errorf("algorithm: a sequence of %d response tokens has %d %s; the loss needs one for each",
				len(s.Mask), len(f.x), f.name)
		}
	}
	return nil
}

// logRatio is lp-old of a token, without clamping.
func (s *Sequence) logRatio(t int) float64 { return float64(s.Logprobs[t]) - float64(s.Old[t]) }

// clampedLogRatio is logRatio clamped to +-20 and its derivative with respect to lp.
func (s *Sequence) clampedLogRatio(t int) (x, dx float64) {
	x = s.logRatio(t)
	switch {
	case x > maxLogRatio:
		return maxLogRatio, 0
	case x < -maxLogRatio:
		return -maxLogRatio, 0
	}
	return x, 1
}

// meanLogRatio is the mean of lp-old over the trained tokens, 0 when there are none.
func (s *Sequence) meanLogRatio() float64 {
	sum := 0.0
	for t, keep := range s.Mask {
		if keep {
			sum += s.logRatio(t)
		}
	}
	return sum / (float64(count(s.Mask)) + meanEps)
}
