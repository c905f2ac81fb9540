// Package pipeline is what happens to experiences between the rollouts and their scoring: operators that drop or
// reshape them, in the order the configuration lists them. Filters run before advantages, so a group's statistics are
// over what survives.
//
// Names, arguments and metrics are Trinity-RFT's (data_processor.experience_pipeline.operators).
package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/spell"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// Operator changes a list of experiences. It returns the list to go on with and metrics, without a prefix. It is called
// from one goroutine.
type Operator interface {
	Process(list []*experience.Experience) ([]*experience.Experience, map[string]float64, error)
}

// Make makes an operator from its arguments.
type Make func(args map[string]any) (Operator, error)

// Operators is the table of operators by name.
func Operators() map[string]Make {
	return map[string]Make{
		"reward_filter":         newRewardFilter,
		"reward_std_filter":     newRewardStdFilter,
		"invalid_reward_filter": newInvalidRewardFilter,
		"reward_shaping_mapper": newRewardShaping,
		"pass_rate_calculator":  newPassRate,
	}
}

// Step is an operator as the configuration names it.
type Step struct {
	Name     string
	Operator Operator
}

// New makes one step, from the table of operators or a program's own. The error names what is possible.
func New(name string, args map[string]any, own map[string]Make) (Step, error) {
	table := Operators()
	maps.Copy(table, own)
	make, ok := table[name]
	if name == "data_juicer" && !ok {
		return Step{}, fmt.Errorf("pipeline: operator data_juicer needs the Data-Juicer service, a Python program, "+
			"which is not asked here; leave it out, use %s, or bring an operator of your own from a Go program",
			strings.Join(slices.Sorted(maps.Keys(table)), ", "))
	}
	if !ok {
		known := slices.Sorted(maps.Keys(table))
		return Step{}, fmt.Errorf("pipeline: operator %q is not known%s; there are %s; "+
			"a Go program can bring an operator of its own (examples/plugin)",
			name, spell.DidYouMean(name, known), strings.Join(known, ", "))
	}
	op, err := make(args)
	if err != nil {
		return Step{}, fmt.Errorf("pipeline: operator %s: %w", name, err)
	}
	return Step{name, op}, nil
}

// Drop is how many experiences a rule took out of a step.
type Drop struct {
	Rule string // an operator, by the name of the configuration, or what else drops them
	N    int
}

// String says it for a person.
func (d Drop) String() string { return fmt.Sprintf("%s %d", d.Rule, d.N) }

// Run runs steps in order, and returns what they leave, their metrics, and which of them dropped how many. Of a metric
// that two operators report the later one counts, as upstream has it.
func Run(steps []Step, list []*experience.Experience) ([]*experience.Experience, map[string]float64, []Drop, error) {
	all := map[string]float64{}
	var drops []Drop
	for _, s := range steps {
		before := len(list) // an operator may change the slice
		kept, metrics, err := s.Operator.Process(list)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("pipeline: operator %s: %w", s.Name, err)
		}
		if n := before - len(kept); n > 0 {
			drops = append(drops, Drop{s.Name, n})
		}
		maps.Copy(all, metrics)
		list = kept
	}
	return list, all, drops, nil
}
