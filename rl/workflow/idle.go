package workflow

import (
	"maps"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/rl/reward"
)

// Idle lists the arguments that neither the workflow nor the reward function of a rollout reads, as keys of a taskset.
// Parts that a program brings may read anything, and the other workflows check their own.
func Idle(name string, r *Rollout, own Own) (keys []string) {
	if _, theirs := own.Workflows[name]; !theirs {
		switch w := Workflows()[name].(type) {
		case Simple, Math, MathEval, ToolCall, Sudoku, Ruler, TrainableRuler:
			keys = append(keys, under("workflow_args.", r.Args, nil)...)
		case Rubric:
			if !w.API {
				keys = append(keys, under("workflow_args.", r.Args, nil)...)
			}
		}
	}
	if _, theirs := own.Rewards[r.RewardName]; theirs || r.RewardName == "" {
		return keys
	}
	return append(keys, under("reward_fn_args.", r.RewardArgs, reward.Arguments()[r.RewardName])...)
}

func under(section string, args map[string]any, read []string) (keys []string) {
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if !slices.Contains(read, name) {
			keys = append(keys, section+name)
		}
	}
	return keys
}
