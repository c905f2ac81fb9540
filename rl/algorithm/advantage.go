package algorithm

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/internal/moment"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// Advantage turns the rewards of finished groups into advantages.
type Advantage interface {
	// Assign sets Advantages and Returns of each experience to its score times its action mask, and returns those to
	// train on, group by group in order of first appearance, with metrics. A method that drops groups returns fewer;
	// one that draws lots draws them from r alone. The error names an experience without a reward.
	Assign(list []*experience.Experience, r *rand.Rand) ([]*experience.Experience, map[string]float64, error)
}

// Advantages is the table of advantage functions that the explorer computes, by the value of algorithm.advantage_fn.
func Advantages() map[string]func(Args) (Advantage, error) {
	return map[string]func(Args) (Advantage, error){
		"grpo":           newGRPO,
		"step_wise_grpo": newStepWise,
		"gigpo":          newGiGPO,
		"opmd":           newOPMD,
		"asymre":         newAsymRE,
		"rec":            newRECAdvantage,
		"reinforce":      newReinforce,
	}
}

// reinforce uses the reward itself.
type reinforce struct{}

func newReinforce(args Args) (Advantage, error) { return reinforce{}, arg.Read(args).Close() }

func (reinforce) Assign(list []*experience.Experience, _ *rand.Rand) ([]*experience.Experience, map[string]float64,
	error) {
	return assignByGroup(list, func(rewards []float64) ([]float64, map[string]float64) {
		return rewards, map[string]float64{"reward_mean": moment.Mean(rewards)}
	})
}

// assignByGroup scores each task's experiences with score, which maps rewards [N] to scores [N] and metrics of the
// group. The metrics are reported as mean, max and min over the groups.
func assignByGroup(list []*experience.Experience, score func([]float64) ([]float64, map[string]float64)) (
	[]*experience.Experience, map[string]float64, error) {
	var stats groupStats
	out := make([]*experience.Experience, 0, len(list))
	for _, g := range experience.GroupBy(list, experience.EID.TID) {
		rewards, err := rewardsOf(g.Experiences)
		if err != nil {
			return nil, nil, err
		}
		scores, m := score(rewards)
		for i, e := range g.Experiences {
			setAdvantage(e, scores[i])
		}
		for k, v := range m {
			stats.add(k, v)
		}
		out = append(out, g.Experiences...)
	}
	return out, stats.metrics(), nil
}

// rewardsOf returns the rewards rounded to float32, as upstream holds them.
func rewardsOf(group []*experience.Experience) ([]float64, error) {
	out := make([]float64, len(group))
	for i, e := range group {
		if e.Reward == nil {
			return nil, fmt.Errorf("algorithm: experience %s has no reward; every experience must be graded before "+
				"advantages are computed", e.EID)
		}
		out[i] = float64(float32(*e.Reward))
	}
	return out, nil
}

// setAdvantage writes score times the action mask, and a copy of it as returns.
func setAdvantage(e *experience.Experience, score float64) {
	e.Advantages = make([]float32, len(e.ActionMask))
	for t, keep := range e.ActionMask {
		if keep {
			e.Advantages[t] = float32(score)
		}
	}
	e.Returns = slices.Clone(e.Advantages)
}

// groupStats collects one value per group and key.
type groupStats struct{ values map[string][]float64 }

func (s *groupStats) add(key string, v float64) {
	if s.values == nil {
		s.values = make(map[string][]float64)
	}
	s.values[key] = append(s.values[key], v)
}

// metrics returns group_advantages/<key>/{mean,max,min}.
func (s *groupStats) metrics() map[string]float64 { return s.metricsUnder("group_advantages") }

func (s *groupStats) metricsUnder(prefix string) map[string]float64 {
	m := make(map[string]float64)
	for k, v := range s.values {
		maps.Copy(m, spread(prefix+"/"+k, v))
	}
	return m
}

// stdDev is the sample standard deviation (n-1), n >= 2, around m.
func stdDev(x []float64, m float64) float64 { return moment.Deviation(x, m, len(x)-1) }
