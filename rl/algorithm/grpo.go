package algorithm

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/internal/moment"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// grpo is the group-relative advantage of Shao et al. (arXiv 2402.03300): score = (reward - mean) / (std + epsilon).
type grpo struct {
	epsilon     float64
	threshold   *float64 // groups with a deviation of at most this are dropped
	duplicate   bool     // and each is replaced by a copy of a group that stays, drawn at random
	rankPenalty *float64 // lowers the mean and deviation by how likely each sample was, see penalised
	batchStd    bool     // divide by the deviation of all rewards in the call
}

func newGRPO(args Args) (Advantage, error) {
	r := arg.Read(args)
	g := grpo{
		epsilon:     r.Float("epsilon", 1e-6),
		threshold:   floatOrNil(r, "std_threshold"),
		duplicate:   r.Bool("duplicate_experiences", false),
		rankPenalty: floatOrNil(r, "rank_penalty"),
		batchStd:    r.Word("std_cal_level", "group", "batch") == "batch",
	}
	r.Require(g.epsilon > 0, "epsilon", g.epsilon, "greater than 0")
	if g.duplicate && g.threshold == nil {
		r.Fail(errors.New("duplicate_experiences is true but std_threshold is not given; groups are only replaced " +
			"when a threshold drops them"))
	}
	return g, r.Close()
}

// Assign implements Advantage. A group of one has score reward/(1+epsilon), and is dropped when there is a threshold.
// Its metrics are group_advantages/reward_mean and reward_std over all groups, dropped ones included, and
// filtered_count, the number of experiences dropped.
func (g grpo) Assign(list []*experience.Experience, r *rand.Rand) ([]*experience.Experience, map[string]float64,
	error) {
	all, err := rewardsOf(list)
	if err != nil {
		return nil, nil, err
	}
	var stats groupStats
	var kept [][]*experience.Experience
	dropped, filtered := 0, 0
	for _, group := range experience.GroupBy(list, experience.EID.TID) {
		rewards, err := rewardsOf(group.Experiences)
		if err != nil {
			return nil, nil, err
		}
		m, std := g.moments(group.Experiences, rewards, &stats)
		if g.threshold != nil && (len(rewards) == 1 || std <= *g.threshold) {
			dropped++
			filtered += len(rewards)
			continue
		}
		if g.batchStd {
			std = batchDeviation(all)
		}
		for i, e := range group.Experiences {
			setAdvantage(e, (rewards[i]-m)/(std+g.epsilon))
		}
		kept = append(kept, group.Experiences)
	}
	metrics := stats.metrics()
	metrics["filtered_count"] = float64(filtered)
	if g.duplicate {
		kept = replaced(kept, dropped, r)
	}
	return slices.Concat(kept...), metrics, nil
}

// moments returns the mean and deviation that a group is scored with, and records the group's metrics.
func (g grpo) moments(group []*experience.Experience, rewards []float64, stats *groupStats) (m, std float64) {
	if len(rewards) > 1 && g.rankPenalty != nil {
		rewards = penalised(group, rewards, *g.rankPenalty)
	}
	return groupMoments(rewards, stats)
}

// groupMoments is mean and deviation of rewards, 0 and 1 for one alone; it records what the rewards are.
func groupMoments(rewards []float64, stats *groupStats) (m, std float64) {
	if len(rewards) == 1 {
		stats.add("reward_mean", rewards[0])
		stats.add("reward_std", 0)
		return 0, 1
	}
	m = moment.Mean(rewards)
	std = stdDev(rewards, m)
	stats.add("reward_mean", m)
	stats.add("reward_std", std)
	return m, std
}

func batchDeviation(all []float64) float64 {
	if len(all) <= 1 {
		return 1
	}
	return stdDev(all, moment.Mean(all))
}

// penalised multiplies each reward by 1 - rank/N*penalty, where the least likely of the N samples (by its mean
// log-probability) has rank 0 and the most likely N-1.
func penalised(group []*experience.Experience, rewards []float64, penalty float64) []float64 {
	n := len(rewards)
	likely := make([]float64, n)
	order := make([]int, n)
	for i, e := range group {
		order[i] = i
		sum := 0.0
		for _, lp := range e.Logprobs {
			sum += float64(lp)
		}
		likely[i] = sum / float64(max(1, len(e.Logprobs)))
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(likely[a], likely[b]) })
	out := make([]float64, n)
	for rank, i := range order {
		out[i] = rewards[i] * (1 - float64(float64(rank)/float64(n)*penalty))
	}
	return out
}

// replaced appends n deep copies (with the same ids) of groups drawn uniformly from kept; none when kept is empty.
func replaced(kept [][]*experience.Experience, n int, r *rand.Rand) [][]*experience.Experience {
	survivors := len(kept)
	if survivors == 0 {
		return nil
	}
	for range n {
		var group []*experience.Experience
		for _, e := range kept[r.IntN(survivors)] {
			group = append(group, e.Clone())
		}
		kept = append(kept, group)
	}
	return kept
}
