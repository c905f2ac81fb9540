package trainer

import (
	"maps"

	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// batchMetrics adds what a step reports about its batch and about its distance from the sampler. seconds is the time
// the update took.
func batchMetrics(m map[string]float64, batch []*experience.Experience, seqs []algorithm.Sequence, seconds float64) {
	maps.Copy(m, algorithm.BatchMetrics(batch))
	if sampled, ok := meanSurprise(seqs); ok {
		m["train/kl_sample_train_v1"], m["train/kl_sample_train_v2"] = algorithm.SampleTrainKL(seqs)
		m["sampler/token_entropy"] = sampled
	}
	if h, ok := meanEntropy(seqs); ok {
		m["actor/entropy"] = h
	}
	tokens := m["perf/total_num_tokens"]
	m["time/update_actor"] = seconds
	if seconds > 0 && tokens > 0 {
		m["timing_per_token_ms/update_actor"] = 1000 * seconds / tokens
		m["perf/train_tokens_per_second"] = tokens / seconds
	}
}

// serviceMetrics adds metrics of the service under train/: those of its own loss function are the loss's.
func serviceMetrics(into map[string]float64, from ...map[string]float64) {
	for _, m := range from {
		for k, v := range m {
			into["train/"+k] = v
		}
	}
}

// meanEntropy is the mean over trained tokens of the exact entropy, nats, of the distribution that the token was
// predicted with.
func meanEntropy(seqs []algorithm.Sequence) (float64, bool) {
	return meanTrained(seqs, 1, func(s *algorithm.Sequence) []float32 { return s.Entropy })
}

// meanSurprise is minus the mean logprob of the sampled tokens, nats: an estimate of the sampler's entropy per token.
func meanSurprise(seqs []algorithm.Sequence) (float64, bool) {
	return meanTrained(seqs, -1, func(s *algorithm.Sequence) []float32 { return s.Old })
}

// meanTrained is the mean over trained tokens of sign times a value of each; false without a value.
func meanTrained(seqs []algorithm.Sequence, sign float64, of func(*algorithm.Sequence) []float32) (float64, bool) {
	sum, n := 0.0, 0
	for i := range seqs {
		s := &seqs[i]
		for j, v := range of(s) {
			if s.Mask[j] && !s.Expert {
				sum, n = sum+float64(sign*float64(v)), n+1
			}
		}
	}
	return sum / float64(max(1, n)), n > 0
}
