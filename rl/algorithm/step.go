package algorithm

import "fmt"

// Evaluate gives the loss of all sequences of a step and its derivative by each logprob, and averages their metrics as
// Trinity-RFT does (each metric over the parts that have it). The outcomes are in the order of the batch;
// sequences that count nowhere have zeros without metrics. The error names an input that is missing or has the wrong
// length.
func (o *Objective) Evaluate(batch []Sequence) ([]Outcome, map[string]float64, error) {
	if err := o.check(batch); err != nil {
		return nil, nil, err
	}
	out := make([]Outcome, len(batch))
	for i := range out {
		out[i].Gradient = make([]float32, len(batch[i].Mask))
	}
	sums := make(map[string]float64)
	counts := make(map[string]float64)
	for _, p := range o.parts(batch) {
		got := o.evaluatePart(p)
		for k, i := range p.at {
			out[i] = got[k]
		}
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
	at     []int // where they are in the step
	policy func([]Sequence, Aggregation) Loss
	agg    Aggregation // of entropy and KL
	scale  float64
}

// parts divides a step. A loss that needs the whole step gets it as one part, in which perSequence aggregation gives
// what parts of one sequence would.
func (o *Objective) parts(batch []Sequence) []stepPart {
	rows, at := o.counted(batch)
	n := len(rows)
	if n == 0 {
		return nil
	}
	part := stepPart{rows, at, o.Policy.Loss, o.Aggregation, 1}
	whole, needsStep := o.Policy.(wholeStep)
	if needsStep {
		part.policy = func(rows []Sequence, agg Aggregation) Loss { return whole.Step(rows, agg, !o.Batched) }
	}
	switch {
	case o.Batched:
		return []stepPart{part}
	case needsStep:
		part.agg, part.scale = o.Aggregation.per(true), o.scale(n)*float64(n)
		return []stepPart{part}
	}
	out := make([]stepPart, n)
	for i := range out {
		out[i] = stepPart{rows[i : i+1], at[i : i+1], o.Policy.Loss, o.Aggregation, o.scale(n)}
	}
	return out
}

// counted are the sequences of a step that have a trained token, or of whose pair one has, and where they are.
func (o *Objective) counted(batch []Sequence) (rows []Sequence, at []int) {
	size, longest := 1, 0
	if o.Policy.Needs().Pairs {
		size = 2
	}
	for i := 0; i+size <= len(batch); i += size {
		trained := 0
		for _, s := range batch[i : i+size] {
			trained += count(s.Mask)
		}
		if trained == 0 {
			continue
		}
		for k, s := range batch[i : i+size] {
			if count(s.Mask) > 0 {
				longest = max(longest, len(s.Mask))
			}
			rows, at = append(rows, s), append(at, i+k)
		}
	}
	for i := range rows {
		rows[i].Longest = longest
	}
	return rows, at
}
