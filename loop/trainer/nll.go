package trainer

import "github.com/seed-d9ad8ee0/trinity/rl/algorithm"

// meanNLL is minus the mean logprob, nats, of the trained tokens of what was not sampled: how well the model knew the
// examples before the step.
func meanNLL(seqs []algorithm.Sequence) (float64, bool) {
	sum, n := 0.0, 0
	for _, s := range seqs {
		for j, lp := range s.Logprobs {
			if s.Mask[j] {
				sum, n = sum-float64(lp), n+1
			}
		}
	}
	return sum / float64(max(1, n)), n > 0
}
