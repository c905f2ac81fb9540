package trainer

import (
	"math"

	"github.com/seed-d9ad8ee0/trinity/experience"
)

// batchMetrics adds what a step reports about its batch under upstream's names, and the sampler-trainer divergence of the GEM trainer.
func batchMetrics(m map[string]float64, batch []*experience.Experience, trained [][]float32) {
	var score, adv, ret, version, response, prompt series
	tasks, tokens := map[string]bool{}, 0
	var diff, diff2, n, sampled float64
	for i, e := range batch {
		tasks[e.EID.TID()] = true
		tokens += len(e.Tokens)
		prompt.add(float64(e.PromptLength))
		response.add(float64(e.ResponseLength()))
		if e.Logprobs != nil {
			version.add(float64(e.Info.ModelVersion))
		}
		if e.Reward != nil {
			score.add(*e.Reward)
		}
		for j, a := range e.Advantages {
			adv.add(float64(a))
			ret.add(float64(e.Returns[j]))
		}
		for j, lp := range e.Logprobs {
			if e.ActionMask[j] {
				d := float64(lp) - float64(trained[i][e.PromptLength-1+j])
				diff, diff2, n, sampled = diff+d, diff2+float64(d*d), n+1, sampled+float64(lp)
			}
		}
	}
	score.into(m, "critic/score")
	score.into(m, "critic/rewards")
	adv.into(m, "critic/advantages")
	ret.into(m, "critic/returns")
	version.into(m, "sample/model_version")
	response.into(m, "response_length")
	prompt.into(m, "prompt_length")
	m["response_length/clip_ratio"], m["prompt_length/clip_ratio"] = response.atMax(), prompt.atMax()
	m["sample/task_count"] = float64(len(tasks))
	if n > 0 {
		m["train/kl_sample_train_v1"], m["train/kl_sample_train_v2"] = diff/n, 0.5*diff2/n
		m["sampler/token_entropy"] = -sampled / n
	}
	m["perf/total_num_tokens"] = float64(tokens)
	if t := m["time/update_actor"]; t > 0 {
		m["timing_per_token_ms/update_actor"] = 1000 * t / float64(tokens)
		m["perf/train_tokens_per_second"] = float64(tokens) / t
	}
}

// series is numbers to be summed up as mean, max and min.
type series struct {
	n             int
	sum, max, min float64
	atMaximum     int
}

func (s *series) add(v float64) {
	if s.n == 0 {
		s.max, s.min = math.Inf(-1), math.Inf(1)
	}
	switch {
	case v > s.max:
		s.max, s.atMaximum = v, 1
	case v == s.max:
		s.atMaximum++
	}
	s.min = min(s.min, v)
	s.sum += v
	s.n++
}

func (s *series) into(m map[string]float64, name string) {
	if s.n > 0 {
		m[name+"/mean"], m[name+"/max"], m[name+"/min"] = s.sum/float64(s.n), s.max, s.min
	}
}

// atMax is the share of values equal to the largest.
func (s *series) atMax() float64 { return float64(s.atMaximum) / float64(max(1, s.n)) }
