package workflow

import (
	"maps"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/internal/spell"
	"github.com/seed-d9ad8ee0/trinity/rl/reward"
)

// DidYouMean is "; did you mean NAME?" with the workflow nearest to a name that is not known, or "" if none is near.
func DidYouMean(name string, own Own) string {
	if elsewhere(name) != "" {
		return "" // it is spelt right
	}
	table := Workflows()
	maps.Copy(table, own.Workflows)
	return spell.DidYouMean(name, slices.Sorted(maps.Keys(table)))
}

// HasReward reports whether there is a reward function of that name, or none is named.
func HasReward(name string, own Own) bool {
	_, theirs := own.Rewards[name]
	return theirs || name == "" || reward.Funcs()[name] != nil
}

// RewardDidYouMean is DidYouMean for the name of a reward function.
func RewardDidYouMean(name string, own Own) string {
	table := reward.Funcs()
	maps.Copy(table, own.Rewards)
	return spell.DidYouMean(name, slices.Sorted(maps.Keys(table)))
}
