package data

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/explorer"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
	"github.com/seed-d9ad8ee0/trinity/run/internal/plan"
)

// openTasks opens the rows of a taskset. key is its place in the configuration, for error messages.
func openTasks(ctx context.Context, j *job.Job, t *config.Taskset, key string) (taskRows, error) {
	rows, added, err := openTaskRows(ctx, j, t)
	if err != nil {
		return taskRows{}, job.AtKey(key+".path", err)
	}
	j.Opened(rows.Close)
	w, err := workflow.New(t.DefaultWorkflowType, j.Own)
	if err != nil {
		return taskRows{}, unknownWorkflow(j, t, key, err)
	}
	f := t.Format
	if err := textOnly(f, key); err != nil {
		return taskRows{}, err
	}
	format := dataset.Format{Section: key + ".format", PromptKey: f.PromptKey, ResponseKey: f.ResponseKey,
		WorkflowKey: f.WorkflowKey, RewardFnKey: f.RewardFnKey, SystemPrompt: f.SystemPrompt,
		SystemPromptKey: f.SystemPromptKey, Loose: workflow.ReadsRows(w)}
	return taskRows{rows: rows, added: added, format: format, name: t.Name, config: t, key: key,
			variants: map[string]int{"": 0}},
		atColumn(key+".format", format.Check(rows))
}

// atColumn places an error about a row: at the key that names its missing column, or at the format.
func atColumn(section string, err error) error {
	var missing *dataset.MissingColumn
	if errors.As(err, &missing) {
		section += "." + missing.Setting
	}
	return job.AtKey(section, err)
}

// textOnly refuses a format with pictures, by the columns that it names.
func textOnly(f config.Format, key string) error {
	for _, c := range []struct{ key, what, column string }{{"image_key", "images", f.ImageKey}, {
		"video_key", "videos", f.VideoKey}} {
		if c.column != "" {
			return job.AtKey(key+".format."+c.key, fmt.Errorf("says that column %q has %s; the models here read text "+
				"only: take the key away and use rows whose text is enough, or train such a model "+
				"elsewhere", c.column, c.what))
		}
	}
	return nil
}

// EvalTaskset builds a taskset to evaluate on.
func EvalTaskset(ctx context.Context, j *job.Job, t *config.Taskset, key string) (explorer.Taskset, error) {
	set, err := openTasks(ctx, j, t, key)
	if err != nil {
		return explorer.Taskset{}, err
	}
	reader, err := dataset.NewReader(set.rows.Len(), dataset.Plan{BatchSize: set.rows.Len(), Eval: true})
	if err != nil {
		return explorer.Taskset{}, job.AtKey(key, err)
	}
	return taskset(j, &Tasks{sets: []taskRows{set}, eval: true, reader: reader}, t.RepeatTimes)
}

// TrainTasksets builds what is trained on: one taskset, or several as one. steps is how many explore steps there are.
func TrainTasksets(ctx context.Context, j *job.Job) (out explorer.Taskset, t *Tasks, steps int, err error) {
	list := j.Config.Buffer.ExplorerInput.Training()
	t = &Tasks{}
	var sizes []int
	var plans []dataset.Plan
	for i := range list {
		set, err := openTasks(ctx, j, &list[i], TasksetKey(j.Config, i))
		if err != nil {
			return out, nil, 0, err
		}
		plan, err := reading(j, &set)
		if err != nil {
			return out, nil, 0, err
		}
		t.sets, sizes, plans = append(t.sets, set), append(sizes, set.rows.Len()), append(plans, plan)
	}
	one := len(list) == 1 && (plans[0].Selector == "" || plans[0].Selector == "sequential")
	switch {
	case one && t.sets[0].added != nil:
		if t.table, err = newTaskTable(&t.sets[0], plans[0]); err == nil {
			steps = t.table.steps
		}
	case one:
		if t.reader, err = dataset.NewReader(sizes[0], plans[0]); err == nil {
			steps = t.reader.Steps()
		}
	default:
		if t.mix, err = dataset.NewMix(sizes, plans); err == nil {
			steps = t.mix.Steps()
		}
	}
	if err == nil && t.mix != nil && t.mix.Adaptive() {
		t.states = map[int][]byte{}
		switch {
		case plan.Window(j.Config) > 1:
			err = fmt.Errorf("run: selector difficulty_based learns from each step before it chooses the next, and "+
				"with sync_style %s up to %d are under way; set explorer.max_inflight_batches: 1",
				j.Config.Synchronizer.SyncStyle, plan.Window(j.Config))
		case !measuresRates(j):
			err = errors.New("run: selector difficulty_based learns from what pass_rate_calculator measures; put it " +
				"into data_processor.experience_pipeline.operators")
		}
	}
	if err != nil {
		return out, nil, 0, job.AtKey(t.sets[0].key, job.AtArguments(t.sets[0].key+".data_selector.kwargs", err))
	}
	out, err = taskset(j, t, j.Config.Algorithm.RepeatTimes)
	return out, t, steps, err
}

// TasksetKey is the place of the i-th taskset that is trained on.
func TasksetKey(cfg *config.Config, i int) string {
	if cfg.Buffer.ExplorerInput.Taskset == nil {
		return fmt.Sprintf("buffer.explorer_input.tasksets[%d]", i)
	}
	return "buffer.explorer_input.taskset"
}

// measuresRates reports whether the experience pipeline measures what selectors learn from.
func measuresRates(j *job.Job) bool {
	return slices.ContainsFunc(j.Config.DataProcessor.ExperiencePipeline.Operators,
		func(o config.Operator) bool { return o.Name == "pass_rate_calculator" })
}

// taskset tells the explorer how to run tasks.
func taskset(j *job.Job, t *Tasks, repeat int) (out explorer.Taskset, err error) {
	first := &t.sets[0]
	out = explorer.Taskset{Name: first.name, Tasks: t, Repeat: repeat}
	if out.Workflow, out.Rollout, err = Workflow(j, first.config, first.key); err != nil {
		return out, err
	}
	for i := range t.sets {
		if err := variants(j, &t.sets[i], &out, i > 0); err != nil {
			return out, err
		}
	}
	return out, nil
}

// noteSelector names the arguments of a selector that reads none.
func noteSelector(j *job.Job, s *config.DataSelector, key string) {
	if _, own := j.Plugins.Selectors[s.SelectorType]; own || dataset.HasArguments(s.SelectorType) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.Kwargs)) {
		j.NoteUnread(key+".data_selector.kwargs."+name, "the selector "+s.SelectorType+" has no arguments")
	}
}

// reading is how a training set is read.
func reading(j *job.Job, set *taskRows) (dataset.Plan, error) {
	plan := dataset.Plan{BatchSize: j.Config.Buffer.BatchSize, Epochs: j.Config.Buffer.TotalEpochs,
		Own: j.Plugins.Selectors}
	if n := j.Config.Buffer.TotalSteps; n != nil {
		plan.TotalSteps = *n
	}
	s := set.config.DataSelector
	if s == nil {
		return plan, nil
	}
	plan.Selector, plan.Seed, plan.Args = s.SelectorType, s.Seed, s.Kwargs
	noteSelector(j, s, set.key)
	if len(s.FeatureKeys) > 0 {
		features, err := set.rows.Numbers(s.FeatureKeys)
		if err != nil {
			return plan, job.AtKey(set.key+".data_selector.feature_keys", err)
		}
		plan.Features = features
	}
	return plan, nil
}
