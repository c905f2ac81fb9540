// Package pipeline changes experiences between the rollouts and their scoring: operators drop or reshape them, in the
// order of the configuration. Filters run before advantages, so a group's statistics are
// over what survives.
//
// Names, arguments and metrics are Trinity-RFT's (data_processor.experience_pipeline.operators).
package pipeline

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/spell"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// Operator changes a list of experiences.
type Operator = OperatorOf[*experience.Experience]

// Make makes an operator from its arguments.
type Make = MakeOf[*experience.Experience]

// Step is an operator as the configuration names it.
type Step = StepOf[*experience.Experience]

// Operators is the table of operators by name.
func Operators() map[string]Make {
	return map[string]Make{
		"reward_filter":           newRewardFilter,
		"reward_std_filter":       newRewardStdFilter,
		"invalid_reward_filter":   newInvalidRewardFilter,
		"dapo_dynamic_sampling":   newDynamicSampling,
		"mask_response_truncated": newMaskTruncated,
		"reward_shaping_mapper":   newRewardShaping,
		"pass_rate_calculator":    newPassRate,
	}
}

// New makes one step, from the table of operators or a program's own. The error names what is possible.
func New(name string, args map[string]any, own map[string]Make) (Step, error) {
	table := Operators()
	maps.Copy(table, own)
	return NewStep("pipeline", name, args, table, func(known []string) string {
		list := strings.Join(known, ", ")
		switch name {
		case "cod_advantage_fn", "cod_overwrite_reward_with_returns":
			return name + " is not here: it belongs to CoD, whose workflows are a Python research package; bring an " +
				"operator of your own in a plug-in file (docs/guide/python.md)"
		case "data_juicer":
			return "data_juicer needs the Data-Juicer service, a Python program, which is not used here; leave it " +
				"out, use " + list + ", or bring an operator of your own in a plug-in file (docs/guide/python.md)"
		}
		return fmt.Sprintf("%q is not known%s; there are %s; a plug-in file (docs/guide/python.md) or a Go program "+
			"(examples/plugin) can bring its own operator", name, spell.DidYouMean(name, known), list)
	})
}

// Run runs steps in order: see [RunSteps].
func Run(ctx context.Context, steps []Step, list []*experience.Experience) (
	[]*experience.Experience, map[string]float64, []Drop, error,
) {
	return RunSteps(ctx, "pipeline", steps, list)
}
