package workflow

import (
	"maps"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/internal/spell"
	"github.com/seed-d9ad8ee0/trinity/rl/reward"
)

// Idle lists the arguments that neither the workflow nor the reward function of a rollout reads, as keys of a taskset.
// Parts that a program brings may read anything, and the other workflows check their own.
func Idle(name string, r *Rollout, own Own) (list []IdleArgument) {
	if _, theirs := own.Workflows[name]; !theirs {
		switch w := Workflows()[name].(type) {
		case Simple, Math, MathEval, ToolCall, Sudoku, Ruler, TrainableRuler:
			list = append(list, under("workflow_args.", r.Args, nil)...)
		case Rubric:
			if !w.API {
				list = append(list, under("workflow_args.", r.Args, nil)...)
			}
		}
	}
	if _, theirs := own.Rewards[r.RewardName]; theirs || r.RewardName == "" {
		return list
	}
	return append(list, under("reward_fn_args.", r.RewardArgs, reward.Arguments(r.RewardName))...)
}

// IdleArgument is an argument that nothing reads.
type IdleArgument struct {
	Key  string // below the taskset, such as reward_fn_args.patern
	Near string // "; did you mean pattern?", or empty
}

func under(section string, args map[string]any, read []string) (list []IdleArgument) {
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if !slices.Contains(read, name) {
			list = append(list, IdleArgument{section + name, spell.DidYouMean(name, read)})
		}
	}
	return list
}
