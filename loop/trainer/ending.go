package trainer

import (
	"math"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// Ending is how the answers of a step end.
type Ending struct {
	Examples    int     // that are trained to end with one of Options.Ends
	Probability float64 // the mean probability of that token there, under the weights that the step began with
	Sampled     int     // answers that were sampled
	Cut         int     // of which reached the maximum length
}

// Ending is how the answers of the last step of this process ended; zero if there was no step.
func (t *Trainer) Ending() Ending { return t.ending }

// endingOf looks at a batch and at what the algorithm saw of it.
func endingOf(ends []int32, batch []*experience.Experience, seqs []algorithm.Sequence) (e Ending) {
	for i, s := range seqs {
		switch batch[i].StopReason {
		case experience.StopLength:
			e.Cut++
			e.Sampled++
			continue
		case experience.StopStop:
			e.Sampled++
			continue
		}
		response := batch[i].Response()
		for j := min(len(response), len(s.Logprobs)) - 1; j >= 0; j-- { // a template may add a line feed
			if s.Mask[j] && slices.Contains(ends, response[j]) {
				e.Examples++
				e.Probability += math.Exp(float64(s.Logprobs[j]))
				break
			}
		}
	}
	e.Probability /= float64(max(1, e.Examples))
	return e
}
