package pipeline

import (
	"context"
	"math"

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
	list []*experience.Experience) ([]*experience.Experience, map[string]float64,
	error) {
	return keep(list, func(e *experience.Experience) bool { return e.Reward != nil && !math.IsNaN(*e.Reward) })
}

// rewardStdFilter drops groups whose rewards do not differ: groups of fewer than two experiences, and groups whose
// population standard deviation is at most the threshold.
type rewardStdFilter struct{ threshold float64 }

func newRewardStdFilter(args map[string]any) (Operator, error) {
	r := arg.Read(args)
	return rewardStdFilter{r.Float("threshold", 0)}, r.Close()
}

func (f rewardStdFilter) Process(_ context.Context,
	list []*experience.Experience) ([]*experience.Experience, map[string]float64, error) {
	flat := map[string]bool{}
	for _, g := range experience.GroupBy(list, experience.EID.TID) {
		flat[g.ID] = len(g.Experiences) < 2 || rewardStd(g.Experiences) <= f.threshold
	}
	return keep(list, func(e *experience.Experience) bool { return !flat[e.EID.TID()] })
}

// rewardStd is 0 of rewards that are equal as the float32 numbers that advantages read, such as 0.3 and 0.1+0.2.
func rewardStd(group []*experience.Experience) float64 {
	rewards, read := make([]float64, len(group)), make([]float64, len(group))
	for i, e := range group {
		rewards[i] = e.RewardOr(0)
		read[i] = float64(float32(rewards[i]))
	}
	if moment.Equal(read) {
		return 0
	}
	return moment.Deviation(rewards, moment.Mean(rewards), len(rewards))
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
