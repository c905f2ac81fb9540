package pipeline

import (
	"context"
	"math"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/internal/moment"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// rewardFilter keeps experiences whose reward is at least the threshold.
type rewardFilter struct{ threshold float64 }

func newRewardFilter(args map[string]any) (Operator, error) {
	r := arg.Read(args)
	return rewardFilter{r.Float("threshold", 0)}, r.Close()
}

func (f rewardFilter) Process(_ context.Context,
	list []*experience.Experience) ([]*experience.Experience, map[string]float64, error) {
	return keep(list, func(e *experience.Experience) bool { return e.Reward != nil && *e.Reward >= f.threshold })
}

// invalidRewardFilter drops experiences without a reward, or with one that is not a number.
type invalidRewardFilter struct{}

func newInvalidRewardFilter(args map[string]any) (Operator, error) {
	return invalidRewardFilter{}, arg.Read(args).Close()
}

func (invalidRewardFilter) Process(_ context.Context,
	list []*experience.Experience) ([]*experience.Experience, map[string]float64, error) {
	return keep(list, func(e *experience.Experience) bool { return e.Reward != nil && !math.IsNaN(*e.Reward) })
}

// rewardStdFilter drops groups whose rewards do not differ: groups of fewer than two experiences, and groups whose
// population standard deviation is at most the threshold. Its metrics are how many experiences it dropped, and the
// spread of mean and deviation over the groups of two or more as they were before.
type rewardStdFilter struct{ threshold float64 }

func newRewardStdFilter(args map[string]any) (Operator, error) {
	r := arg.Read(args)
	return rewardStdFilter{r.Float("threshold", 0)}, r.Close()
}

func (f rewardStdFilter) Process(_ context.Context,
	list []*experience.Experience) ([]*experience.Experience, map[string]float64, error) {
	flat := map[string]bool{}
	var means, deviations []float64
	for _, g := range experience.GroupBy(list, experience.EID.TID) {
		if flat[g.ID] = len(g.Experiences) < 2; flat[g.ID] {
			continue
		}
		mean, deviation := rewardMoments(g.Experiences)
		means, deviations = append(means, mean), append(deviations, deviation)
		flat[g.ID] = deviation <= f.threshold
	}
	kept, metrics, err := keep(list, func(e *experience.Experience) bool { return !flat[e.EID.TID()] })
	metrics["operator_filtered_count"] = metrics["filtered_count"]
	delete(metrics, "filtered_count")
	spread(metrics, "origin_group_advantages/reward_mean", means)
	spread(metrics, "origin_group_advantages/reward_std", deviations)
	return kept, metrics, err
}

// spread adds mean, maximum and minimum of values, if there are any.
func spread(into map[string]float64, key string, values []float64) {
	if len(values) > 0 {
		into[key+"/mean"], into[key+"/max"], into[key+"/min"] = moment.Mean(values), slices.Max(values),
			slices.Min(values)
	}
}

// rewardMoments are the mean and the population standard deviation of a group's rewards. The latter is 0 of rewards
// that are equal as the float32 numbers that advantages read, such as 0.3 and 0.1+0.2.
func rewardMoments(group []*experience.Experience) (mean, deviation float64) {
	rewards, read := make([]float64, len(group)), make([]float64, len(group))
	for i, e := range group {
		rewards[i] = e.RewardOr(0)
		read[i] = float64(float32(rewards[i]))
	}
	mean = moment.Mean(rewards)
	if moment.Equal(read) {
		return mean, 0
	}
	return mean, moment.Deviation(rewards, mean, len(rewards))
}

// keep returns the experiences that ok accepts and counts the others.
func keep(list []*experience.Experience, ok func(*experience.Experience) bool) ([]*experience.Experience,
	map[string]float64, error) {
	kept := make([]*experience.Experience, 0, len(list))
	for _, e := range list {
		if ok(e) {
			kept = append(kept, e)
		}
	}
	return kept, map[string]float64{"filtered_count": float64(len(list) - len(kept))}, nil
}
