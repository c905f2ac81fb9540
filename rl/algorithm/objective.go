package algorithm

import "slices"

// Objective is the whole loss of one training step. A step's sequences are evaluated in parts, and for each part
//
//	loss = (policy - entropy_coef*entropy + kl_coef*kl) * scale
//
// where all three are aggregated over the part; the step's loss is the sum over parts.
//
// On the Tinker path each sequence is a part with scale 1/n for n sequences: TokenMean is the mean over sequences of
// each sequence's mean over its tokens. On the verl path (Batched) the step is one part. Sequences without a trained
// token, and pairs without one, are in no part and not among the n.
type Objective struct {
	Policy      PolicyLoss
	KL          KL
	Entropy     Entropy
	Aggregation Aggregation

	// TokenScale is trainer.fix_actor_microbatch_loss_scale. When Aggregation is TokenMean it takes scale = 1 on the
	// Tinker path.
	TokenScale bool

	Batched bool // aggregate as verl does
}

// Needs says what the loss reads.
func (o *Objective) Needs() Needs {
	n := o.Policy.Needs()
	n.Ref = n.Ref || o.KL.Active()
	n.Logprobs = n.Logprobs || o.KL.Active() || o.Entropy.Coef != 0 && !o.Entropy.Exact
	return n
}

// Outcome is the loss of one sequence. In a part of several, Loss is an equal share of the part's.
type Outcome struct {
	Loss     float64
	Gradient []float32          // d Loss / d Logprobs, [R]; 0 where the mask is false
	Metrics  map[string]float64 // actor/..., of the part
}

// evaluatePart is the loss of one part. Without reference log-probabilities the KL term is 0 and has no metric;
// likewise the entropy's when it is exact and not there yet. Its gradient is the service's affair then.
func (o *Objective) evaluatePart(part stepPart) []Outcome {
	batch, agg, scale := part.rows, part.agg, part.scale
	p := part.policy(batch, o.Aggregation)
	total, grad := p.Value, p.Gradient
	m := make(map[string]float64, len(p.Metrics)+4)
	for k, v := range p.Metrics {
		m["actor/"+k] = v
	}
	switch {
	case o.Entropy.measure && !o.Entropy.Exact:
		v, g := o.entropyOf(batch, agg, func(s *Sequence, t int) term { return entropyTerm(float64(s.Logprobs[t])) })
		m["actor/entropy_loss_estimate"] = v
		total -= float64(o.Entropy.Coef * v)
		addRows(grad, -o.Entropy.Coef, g)
	case o.Entropy.measure && hasEntropy(batch):
		v, _ := o.entropyOf(batch, agg, func(s *Sequence, t int) term { return term{value: float64(s.Entropy[t])} })
		m["actor/entropy_loss"] = v
		total -= float64(o.Entropy.Coef * v)
	}
	if o.KL.estimate != nil {
		m["actor/kl_coef"] = o.KL.Coef
		if hasRef(batch) {
			v, g := o.kl(batch, agg)
			m["actor/kl_loss"] = v
			total += float64(o.KL.Coef * v)
			addRows(grad, o.KL.Coef, g)
		}
	}
	m["actor/final_loss"] = total * scale
	out := make([]Outcome, len(batch))
	for i := range out {
		out[i] = Outcome{Loss: total * scale / float64(len(batch)), Gradient: rounded(grad[i], scale), Metrics: m}
	}
	return out
}

func (o *Objective) scale(n int) float64 {
	if o.TokenScale && o.Aggregation == TokenMean {
		return 1
	}
	return 1 / float64(n)
}

// entropyOf aggregates what each gives for a token over a part, or only over its usual sequences if usualOnly is set.
func (o *Objective) entropyOf(batch []Sequence, agg Aggregation,
	each func(s *Sequence, t int) term) (float64, [][]float64) {
	grad := make([][]float64, len(batch))
	var at []int
	var usual masks
	for i := range batch {
		if o.Entropy.usualOnly && batch[i].Expert {
			grad[i] = make([]float64, len(batch[i].Mask))
			continue
		}
		at = append(at, i)
		usual.add(&batch[i])
	}
	v, g := agg.aggregate(usual, func(k, t int) term { return each(&batch[at[k]], t) })
	for k, i := range at {
		grad[i] = g[k]
	}
	return v, grad
}

func (o *Objective) kl(batch []Sequence, agg Aggregation) (float64, [][]float64) {
	return agg.aggregate(masksOf(batch), func(i, t int) term {
		s := &batch[i]
		var old float64
		if s.Old != nil {
			old = float64(s.Old[t])
		}
		return o.KL.estimate(float64(s.Logprobs[t]), float64(s.Ref[t]), old, s.Old != nil)
	})
}

func hasEntropy(batch []Sequence) bool {
	return !slices.ContainsFunc(batch, func(s Sequence) bool { return s.Entropy == nil })
}

func hasRef(batch []Sequence) bool {
	return !slices.ContainsFunc(batch, func(s Sequence) bool { return s.Ref == nil })
}

func addRows(dst [][]float64, c float64, x [][]float64) {
	for i := range dst {
		addScaled(dst[i], c, x[i])
	}
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
