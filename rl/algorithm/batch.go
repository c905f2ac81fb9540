package algorithm

import (
	"maps"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/internal/moment"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// BatchMetrics describes the experiences of a training step under Trinity-RFT's names: critic/{score,rewards,
// advantages,returns} and {response,prompt}_length with mean, max and min, the lengths also with clip_ratio
// (the share that is as long as the longest), sample/model_version and sample/model_version_drift with the
// same three, sample/task_count and perf/total_num_tokens. Advantages and returns are over all response tokens, masked
// ones included, as upstream has them, of the experiences with a trained token. What no experience has is left out;
// sample/unread_answer_count is how many rows of a data set had no answer within the longest sequence, where there
// are some. Of an expert's experiences only lengths and tokens count: nobody sampled or graded them.
func BatchMetrics(list []*experience.Experience) map[string]float64 {
	var scores, advantages, returns, responses, prompts, versions, drifts []float64
	tokens, unread := 0, 0
	tasks := make(map[string]bool)
	for _, e := range list {
		if !e.Info.IsExpert {
			if s, ok := score(e); ok {
				scores = append(scores, s)
			}
			versions = append(versions, float64(e.Info.ModelVersion))
			drifts = append(drifts, e.Metrics[experience.VersionDrift])
			if count(e.ActionMask) > 0 {
				advantages = appendFloat64s(advantages, e.Advantages)
				returns = appendFloat64s(returns, e.Returns)
			}
		}
		if e.Logprobs == nil && e.TruncateStatus == experience.PromptTruncated {
			unread++
		}
		responses = append(responses, float64(e.ResponseLength()))
		prompts = append(prompts, float64(e.PromptLength))
		tokens += len(e.Tokens)
		tasks[e.EID.TID()] = true
	}
	m := map[string]float64{"perf/total_num_tokens": float64(tokens), "sample/task_count": float64(len(tasks))}
	if unread > 0 {
		m["sample/unread_answer_count"] = float64(unread)
	}
	for key, values := range map[string][]float64{
		"critic/score": scores, "critic/rewards": scores, "critic/advantages": advantages, "critic/returns": returns,
		"response_length": responses, "prompt_length": prompts, "sample/model_version": versions,
		"sample/model_version_drift": drifts,
	} {
		maps.Copy(m, spread(key, values))
	}
	maps.Copy(m, clipRatio("response_length", responses))
	maps.Copy(m, clipRatio("prompt_length", prompts))
	return m
}

// score is the sum of the token rewards, or the reward.
func score(e *experience.Experience) (float64, bool) {
	if e.TokenRewards == nil {
		return e.RewardOr(0), e.Reward != nil
	}
	sum := 0.0
	for _, r := range e.TokenRewards {
		sum += float64(r)
	}
	return sum, true
}

func appendFloat64s(dst []float64, x []float32) []float64 {
	for _, v := range x {
		dst = append(dst, float64(v))
	}
	return dst
}

// spread is the mean, max and min of values, nothing when there are none.
func spread(key string, values []float64) map[string]float64 {
	if len(values) == 0 {
		return nil
	}
	return map[string]float64{key + "/mean": moment.Mean(values), key + "/max": slices.Max(values), key +
		"/min": slices.Min(values)}
}

func clipRatio(key string, values []float64) map[string]float64 {
	if len(values) == 0 {
		return nil
	}
	top, n := slices.Max(values), 0
	for _, v := range values {
		if v == top {
			n++
		}
	}
	return map[string]float64{key + "/clip_ratio": float64(n) / float64(len(values))}
}

// SampleTrainKL measures how far the weights being trained are from those that sampled, over the trained tokens of a
// step: v1 is the mean of old-lp, v2 half the mean of its square. Both are exactly 0 when the two sets of
// log-probabilities have the same bits, that is, when training is on-policy. They are logged as
// train/kl_sample_train_v1 and train/kl_sample_train_v2. Sequences without Old and expert
// sequences are left out.
func SampleTrainKL(batch []Sequence) (v1, v2 float64) {
	n := 0
	for i := range batch {
		s := &batch[i]
		if s.Old == nil || s.Expert {
			continue
		}
		for t, keep := range s.Mask {
			if keep {
				d := float64(s.Old[t]) - float64(s.Logprobs[t])
				v1 += d
				v2 += float64(d * d)
				n++
			}
		}
	}
	if n == 0 {
		return 0, 0
	}
	return v1 / float64(n), v2 / float64(2*n)
}
