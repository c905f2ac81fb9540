package run

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/seed-d9ad8ee0/trinity/rl/agent"
	"github.com/seed-d9ad8ee0/trinity/rl/env/openenv"
	"github.com/seed-d9ad8ee0/trinity/rl/outside"
	"github.com/seed-d9ad8ee0/trinity/rl/plugin"
	"github.com/seed-d9ad8ee0/trinity/rl/tool"
	"github.com/seed-d9ad8ee0/trinity/rl/verifiers"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
)

// worlds lists what joins a run from outside. Nothing else in this package names one of them.
func worlds(j *job.Job) []outside.World {
	x := j.Config.Explorer
	return []outside.World{
		&plugin.World{Env: variables(x.EnvVars), Processes: x.PythonProcesses, Threads: x.PythonThreads,
			Memory:        int64(x.PythonMemory) << 20,
			RewardTimeout: time.Duration(x.RewardTimeout * float64(time.Second)), Rewards: x.RewardConcurrency},
		&openenv.World{},
		&verifiers.World{},
		&agent.World{},
		&tool.World{Staged: j.Sandboxes},
	}
}

// openOutside opens the worlds that n names something of, until the job is closed.
func openOutside(ctx context.Context, j *job.Job, n outside.Named) error {
	j.Opened(j.Site.Close)
	parts, end, err := outside.Open(ctx, worlds(j), n, j.Site.For())
	if err != nil {
		return err
	}
	j.Opened(end)
	if j.Toolbox != nil {
		parts.Tools = j.Toolbox
	}
	j.Join(parts)
	return nil
}

// namedIn lists what a configuration names and the program does not bring itself.
func namedIn(j *job.Job) (n outside.Named) {
	n.Folders = slices.Clone(j.Python.Dirs)
	for _, dir := range filepath.SplitList(j.Config.PluginDir) {
		n.Folders = append(n.Folders, j.Find(dir))
	}
	in := j.Config.Buffer.ExplorerInput
	add := func(list *[]string, name string, brought bool) {
		if name != "" && !brought {
			*list = append(*list, name)
		}
	}
	for _, t := range slices.Concat(in.Training(), in.EvalTasksets) {
		add(&n.Workflows, t.DefaultWorkflowType, j.Plugins.Workflows[t.DefaultWorkflowType] != nil)
		add(&n.Rewards, t.DefaultRewardFnType, j.Plugins.Rewards[t.DefaultRewardFnType] != nil)
		add(&n.Paths, t.Path, false)
		id, _ := t.WorkflowArgs["env_id"].(string)
		add(&n.Environments, id, false)
	}
	for _, op := range j.Config.DataProcessor.ExperiencePipeline.Operators {
		add(&n.Operators, op.Name, j.Plugins.Operators[op.Name] != nil)
	}
	return n
}

// variables are explorer.env_vars as environment variables, in order of their names.
func variables(of map[string]any) (list []string) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		list = append(list, fmt.Sprintf("%s=%v", name, of[name]))
	}
	return list
}

// callsModel reports whether an environment calls the model itself.
func callsModel(id string) bool { return verifiers.Is(id) }
