package run

import (
	"maps"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/pipeline"
	"github.com/seed-d9ad8ee0/trinity/rl/reward"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// Plugins are parts that a program of its own brings as values: what Python programs register by decorators. A
// configuration chooses them by the names here, as it does the built-in ones; a name that is built in too means the
// program's part. examples/plugin is a whole program.
type Plugins struct {
	Workflows map[string]workflow.Workflow // default_workflow_type
	Rewards   map[string]reward.Func       // default_reward_fn_type
	// data_processor.experience_pipeline.operators
	Operators    map[string]pipeline.Make
	Advantages   map[string]func(algorithm.Args) (algorithm.Advantage, error)  // algorithm.advantage_fn
	PolicyLosses map[string]func(algorithm.Args) (algorithm.PolicyLoss, error) // algorithm.policy_loss_fn
	// data_selector.selector_type of a taskset
	Selectors map[string]dataset.OpenSelector
	Monitors  map[string]monitor.OpenSink // monitor.monitor_type
}

// Names returns the names of the built-in functions and of the program's parts, for [config.Load].
func (p Plugins) Names() config.Names {
	selectors := dataset.Selectors()
	maps.Copy(selectors, p.Selectors)
	return config.Names{Functions: algorithm.Names(p.functions()), Selectors: slices.Sorted(maps.Keys(selectors)),
		Monitors: slices.Sorted(maps.Keys(p.Monitors))}
}

func (p Plugins) functions() algorithm.Tables {
	return algorithm.Tables{Advantages: p.Advantages, PolicyLosses: p.PolicyLosses}
}

func (p Plugins) workflows() workflow.Own {
	return workflow.Own{Workflows: p.Workflows, Rewards: p.Rewards}
}
