package pipeline

import (
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/internal/moment"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// rewardShaping changes rewards by what was measured of the same experience: reward ∘ weight·metric, one rule after
// another.
type rewardShaping struct{ rules []rule }

type rule struct {
	key    string // of the experience's info or metrics
	op     string // ADD, SUB, MUL or DIV
	weight float64
}

func newRewardShaping(args map[string]any) (Operator, error) {
	r := arg.Read(args)
	v, _ := r.Any("reward_shaping_configs")
	list, _ := v.([]any)
	r.Require(len(list) > 0, "reward_shaping_configs", v, "a list of {stats_key, op_type, weight}")
	if err := r.Close(); err != nil {
		return nil, err
	}
	var s rewardShaping
	for i, item := range list {
		r, err := newRule(item)
		if err != nil {
			return nil, fmt.Errorf("reward_shaping_configs[%d]: %w", i, err)
		}
		s.rules = append(s.rules, r)
	}
	return s, nil
}

func newRule(item any) (rule, error) {
	m, ok := item.(map[string]any)
	if !ok {
		return rule{}, fmt.Errorf("is %v; it must be {stats_key, op_type, weight}", item)
	}
	r := arg.Read(m)
	out := rule{key: r.Text("stats_key", ""), op: r.Word("op_type", "ADD", "SUB", "MUL", "DIV"),
		weight: r.Float("weight", 1)}
	r.Require(out.key != "", "stats_key", m["stats_key"], "the name of a metric")
	return out, r.Close()
}

// apply returns the new reward. Division by zero leaves it as it is.
func (r rule) apply(reward, metric float64) float64 {
	v := float64(r.weight * metric)
	switch {
	case r.op == "ADD":
		return reward + v
	case r.op == "SUB":
		return reward - v
	case r.op == "MUL":
		return reward * v
	case v == 0:
		return reward
	}
	return reward / v
}

// Reads are the numbers of experiences without which it changes nothing.
func (s rewardShaping) Reads() []string {
	names := make([]string, len(s.rules))
	for i, r := range s.rules {
		names[i] = r.key
	}
	return names
}

func (s rewardShaping) Process(_ context.Context,
	list []*experience.Experience) ([]*experience.Experience, map[string]float64, error) {
	var diffs []float64
	for _, e := range list {
		if e.Reward == nil {
			continue
		}
		reward := *e.Reward
		for _, r := range s.rules {
			if metric, ok := e.Measured(r.key); ok {
				reward = r.apply(reward, metric)
			}
		}
		diffs = append(diffs, reward-*e.Reward)
		e.SetReward(reward)
	}
	metrics := map[string]float64{}
	spread(metrics, "reward_diff", diffs)
	return list, metrics, nil
}

// passRate reports how hard the tasks of a step were for the model: the shares of tasks by their mean reward.
type passRate struct{ rates []dataset.Rate }

func newPassRate(args map[string]any) (Operator, error) { return new(passRate), arg.Read(args).Close() }

// Rates are the mean rewards of the tasks of the last step, if one of the steps measured them (pass_rate_calculator),
// for selectors that learn from them.
func Rates(steps []Step) []dataset.Rate {
	for _, s := range steps {
		if p, ok := s.Operator.(*passRate); ok {
			return p.rates
		}
	}
	return nil
}

// measure takes the mean reward of each row, in order of first appearance.
func (p *passRate) measure(list []*experience.Experience) {
	type row struct{ set, index int }
	rewards := map[row][]float64{}
	var order []row
	for _, e := range list {
		r := row{e.Info.TasksetID, e.Info.TaskIndex}
		if rewards[r] == nil {
			order = append(order, r)
		}
		rewards[r] = append(rewards[r], e.RewardOr(0))
	}
	p.rates = nil
	for _, r := range order {
		p.rates = append(p.rates, dataset.Rate{Taskset: r.set, Index: r.index, Value: moment.Mean(rewards[r])})
	}
}

func (p *passRate) Process(_ context.Context,
	list []*experience.Experience) ([]*experience.Experience, map[string]float64, error) {
	p.measure(list)
	const edge, slack = 1.0 / 16, 1e-3
	counts := map[string]float64{}
	groups := experience.GroupBy(list, func(id experience.EID) string { return id.TID() })
	for _, g := range groups {
		var rewards []float64
		for _, e := range g.Experiences {
			rewards = append(rewards, e.RewardOr(0))
		}
		r := moment.Mean(rewards)
		for name, in := range map[string]bool{
			"valid_ratio": r > 0 && r < 1, "strict_valid_ratio": r > edge+slack && r < 1-edge-slack,
			"<1_ratio": r < 1, ">0_ratio": r > 0, "<15_16_ratio": r < 1-edge-slack, ">1_16_ratio": r > edge+slack,
		} {
			if in {
				counts[name]++
			}
		}
	}
	metrics := map[string]float64{}
	for _, name := range []string{"valid_ratio", "strict_valid_ratio", "<1_ratio", ">0_ratio", "<15_16_ratio",
		">1_16_ratio"} {
		if len(groups) > 0 {
			metrics["selection/"+name] = counts[name] / float64(len(groups))
		}
	}
	return list, metrics, nil
}
