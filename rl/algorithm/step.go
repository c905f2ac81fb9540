package algorithm

import "fmt"

// Evaluate gives the loss of all sequences of a step and its derivative by each logprob, and averages their metrics as
// Trinity-RFT does (each metric over the parts that have it). The outcomes are in the order of the batch. The error
// names an input that is missing or has the wrong length.
func (o *Objective) Evaluate(batch []Sequence) ([]Outcome, map[string]float64, error) {
	if err := o.check(batch); err != nil {
		return nil, nil, err
	}
	out := make([]Outcome, 0, len(batch))
	sums := make(map[string]float64)
	counts := make(map[string]float64)
	for _, p := range o.parts(batch) {
		got := o.evaluatePart(p)
		out = append(out, got...)
		for k, v := range got[0].Metrics {
			sums[k] += v
			counts[k]++
		}
	}
	for k := range sums {
		sums[k] /= counts[k]
	}
	return out, sums, nil
}

func (o *Objective) check(batch []Sequence) error {
	need := o.Policy.Needs()
	if need.Pairs && len(batch)%2 != 0 {
		return fmt.Errorf("algorithm: a step has %d sequences; the loss needs pairs of a chosen and a rejected one, "+
			"so make the batch size even", len(batch))
	}
	for i := range batch {
		if err := batch[i].check(need); err != nil {
			return fmt.Errorf("sequence %d: %w", i, err)
		}
	}
	return nil
}

// stepPart is sequences that are aggregated together.
type stepPart struct {
	rows   []Sequence
	policy func([]Sequence, Aggregation) Loss
	agg    Aggregation // of entropy and KL
	scale  float64
}

// parts divides a step. A loss that needs the whole step gets it as one part, in which perSequence aggregation gives
// what parts of one sequence would.
func (o *Objective) parts(batch []Sequence) []stepPart {
	n := len(batch)
	if n == 0 {
		return nil
	}
	if whole, ok := o.Policy.(wholeStep); ok {
		policy := func(rows []Sequence, agg Aggregation) Loss { return whole.Step(rows, agg, !o.Batched) }
		scale := 1.0
		if !o.Batched {
			scale = o.scale(n) * float64(n)
		}
		return []stepPart{{batch, policy, o.Aggregation.per(!o.Batched), scale}}
	}
	size := 1
	if o.Batched {
		size = n
		if o.MicroBatch > 0 {
			size = o.MicroBatch
		}
	}
	var out []stepPart
	for at := 0; at < n; at += size {
		rows := batch[at:min(at+size, n)]
		out = append(out, stepPart{rows, o.Policy.Loss, o.Aggregation, o.shareOf(rows, batch)})
	}
	return out
}

// shareOf is the scale of a part of a step.
func (o *Objective) shareOf(rows, batch []Sequence) float64 {
	switch {
	case !o.Batched:
		return o.scale(len(batch))
	case o.TokenScale && o.Aggregation == TokenMean:
		return float64(tokens(rows)) / float64(max(1, tokens(batch)))
	}
	return float64(len(rows)) / float64(len(batch))
}

func tokens(batch []Sequence) int {
	n := 0
	for i := range batch {
		n += count(batch[i].Mask)
	}
	return n
}
