package algorithm

import "fmt"

// Objective is the whole loss of one training step on the Tinker path. For each sequence by itself
//
//	loss = (policy - entropy_coef*entropy + kl_coef*kl) * scale
//
// with scale = 1/n for n sequences in the step, and the step's loss is the sum. Aggregation is per sequence: TokenMean
// is the mean over sequences of each sequence's mean over its tokens.
type Objective struct {
	Policy      PolicyLoss
	KL          KL
	Entropy     Entropy
	Aggregation Aggregation

	// TokenScale takes scale = 1 when Aggregation is TokenMean: trainer.fix_actor_microbatch_loss_scale.
	TokenScale bool
}

// NeedsReference reports whether log-probabilities of the reference model change the loss. Asking for them otherwise
// is work for nothing.
func (o *Objective) NeedsReference() bool { return o.KL.Active() }

// Outcome is the loss of one sequence.
type Outcome struct {
	Loss     float64
	Gradient []float32          // d Loss / d Logprobs, [R]; 0 where the mask is false
	Metrics  map[string]float64 // actor/...
}

// Sequence evaluates one of the n sequences of a step. Without reference log-probabilities the KL term is 0 and has no
// metric. The error names an input that is missing or has the wrong length.
func (o *Objective) Sequence(s Sequence, n int) (Outcome, error) {
	if err := s.check(o.Policy.Needs()); err != nil {
		return Outcome{}, err
	}
	batch := []Sequence{s}
	pg := o.Policy.Loss(batch, o.Aggregation)
	total, grad := pg.Value, pg.Gradient[0]
	m := make(map[string]float64, len(pg.Metrics)+4)
	for k, v := range pg.Metrics {
		m["actor/"+k] = v
	}
	if o.Entropy.measure {
		v, g := o.entropy(&s)
		m["actor/entropy_loss"] = v
		total -= float64(o.Entropy.Coef * v)
		addScaled(grad, -o.Entropy.Coef, g)
	}
	if o.KL.estimate != nil {
		m["actor/kl_coef"] = o.KL.Coef
		if s.Ref != nil {
			v, g := o.kl(&s)
			m["actor/kl_loss"] = v
			total += float64(o.KL.Coef * v)
			addScaled(grad, o.KL.Coef, g)
		}
	}
	scale := o.scale(n)
	m["actor/final_loss"] = total * scale
	return Outcome{Loss: total * scale, Gradient: rounded(grad, scale), Metrics: m}, nil
}

func (o *Objective) scale(n int) float64 {
	if o.TokenScale && o.Aggregation == TokenMean {
		return 1
	}
	return 1 / float64(n)
}

func (o *Objective) entropy(s *Sequence) (float64, []float64) {
	v, g := o.Aggregation.aggregate([][]bool{s.Mask}, func(_, t int) term { return entropyTerm(float64(s.Logprobs[t])) })
	return v, g[0]
}

func (o *Objective) kl(s *Sequence) (float64, []float64) {
	v, g := o.Aggregation.aggregate([][]bool{s.Mask}, func(_, t int) term {
		var old float64
		if s.Old != nil {
			old = float64(s.Old[t])
		}
		return o.KL.estimate(float64(s.Logprobs[t]), float64(s.Ref[t]), old, s.Old != nil)
	})
	return v, g[0]
}

func addScaled(dst []float64, c float64, x []float64) {
	if c == 0 {
		return
	}
	for t := range dst {
		dst[t] += float64(c * x[t])
	}
}

func rounded(x []float64, scale float64) []float32 {
	out := make([]float32, len(x))
	for t, v := range x {
		out[t] = float32(v * scale)
	}
	return out
}

// Step evaluates all sequences of a step and averages their metrics as Trinity-RFT does (each metric over the
// sequences that have it). The outcomes are in the order of the batch.
func (o *Objective) Step(batch []Sequence) ([]Outcome, map[string]float64, error) {
	out := make([]Outcome, len(batch))
	sums := make(map[string]float64)
	counts := make(map[string]float64)
	for i, s := range batch {
		var err error
		if out[i], err = o.Sequence(s, len(batch)); err != nil {
			return nil, nil, fmt.Errorf("sequence %d: %w", i, err)
		}
		for k, v := range out[i].Metrics {
			sums[k] += v
			counts[k]++
		}
	}
	for k := range sums {
		sums[k] /= counts[k]
	}
	return out, sums, nil
}
