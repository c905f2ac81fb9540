package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/explorer"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// tasks deals the rows of one or several data sets out as tasks, the same ones whenever a step is asked for.
type tasks struct {
	sets []taskRows
	eval bool

	mu     sync.Mutex
	mix    *dataset.Mix    // of the training sets; nil when there is one that is read in order
	reader *dataset.Reader // of the one set otherwise, or else:
	table  *taskTable      // the one set, in a database
	states map[int][]byte  // of an adaptive mix, before each step that is not trained yet
}

// taskRows are the rows of one data set and how they are read and run.
type taskRows struct {
	rows     *dataset.Source
	added    func() error // looks for rows that were added; nil for files
	format   dataset.Format
	name     string
	config   *config.Taskset
	key      string
	variants map[string]int // by names of workflow and reward; "" is the set's own
}

// Batch implements explorer.Tasks. An evaluation gives all rows at once.
func (t *tasks) Batch(step, n int) ([]workflow.Task, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	picks, err := t.picks(step, n)
	if err != nil {
		return nil, err
	}
	list := make([]workflow.Task, len(picks))
	for i, p := range picks {
		set := &t.sets[p.Taskset]
		task, err := set.format.Task(set.rows, p.Item)
		if err != nil {
			return nil, err
		}
		way, known := set.variants[variant(set.config, task)]
		if !known {
			return nil, fmt.Errorf("run: %s was added while the run was under way, and names a workflow or reward "+
				"that no row before it names; start again", set.rows.Place(p.Index))
		}
		list[i] = workflow.Task{Index: task.Index, Prompt: task.Prompt, Truth: task.Truth, Row: task.Row,
			Taskset: p.Taskset, Variant: way}
	}
	return list, nil
}

func (t *tasks) picks(step, n int) ([]dataset.Pick, error) {
	if t.mix != nil {
		if t.states != nil {
			data, err := json.Marshal(t.mix.States(step))
			if err != nil {
				return nil, err
			}
			t.states[step] = data
		}
		return t.mix.Batch(step)
	}
	if t.table != nil {
		return t.table.picks(step, n)
	}
	if t.eval {
		step, n = 1, t.sets[0].rows.Len()
	}
	if err := t.reader.Restore(dataset.State{CurrentIndex: (step - 1) * n}); err != nil {
		return nil, err
	}
	items, err := t.reader.Next()
	picks := make([]dataset.Pick, len(items))
	for i, it := range items {
		picks[i].Item = it
	}
	return picks, err
}

// Learn implements explorer.Learner.
func (t *tasks) Learn(_ int, rates []dataset.Rate) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mix != nil {
		t.mix.Learn(rates)
	}
}

// Before is the state of the sets before a step, as explorer_meta.json has it, and forgets those of earlier steps.
func (t *tasks) Before(step, batch int) (json.RawMessage, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for s := range t.states {
		if s < step {
			delete(t.states, s)
		}
	}
	switch {
	case t.states[step] != nil:
		return t.states[step], nil
	case t.mix != nil:
		return json.Marshal(t.mix.States(step))
	}
	return json.Marshal([]dataset.State{{CurrentIndex: (step - 1) * batch}})
}

// variant names the workflow and the reward that a row asks for; "" is the taskset's own.
func variant(t *config.Taskset, task dataset.Task) string {
	w, r := cmp.Or(task.Workflow, t.DefaultWorkflowType), cmp.Or(task.RewardFn, t.DefaultRewardFnType)
	if w == t.DefaultWorkflowType && r == t.DefaultRewardFnType {
		return ""
	}
	return w + " " + r
}

// openTasks opens the rows of a taskset. key is its place in the configuration, for error messages.
func (b *job) openTasks(ctx context.Context, t *config.Taskset, key string) (taskRows, error) {
	rows, added, err := b.openTaskRows(ctx, t)
	if err != nil {
		return taskRows{}, at(key+".path", err)
	}
	b.opened(rows.Close)
	w, err := workflow.New(t.DefaultWorkflowType, b.Plugins.workflows())
	if err != nil {
		return taskRows{}, b.unknownWorkflow(t, key, err)
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
		at(key+".format", format.Check(rows))
}

// textOnly refuses a format with pictures, by the columns that it names.
func textOnly(f config.Format, key string) error {
	for _, c := range []struct{ key, what, column string }{{"image_key", "images", f.ImageKey}, {
		"video_key", "videos", f.VideoKey}} {
		if c.column != "" {
			return at(key+".format."+c.key, fmt.Errorf("says that column %q has %s; the models here read text only: "+
				"take the key "+
				"away and use rows whose text is enough, or train such a model elsewhere", c.column, c.what))
		}
	}
	return nil
}

// evalTaskset builds a taskset to evaluate on.
func (b *job) evalTaskset(ctx context.Context, t *config.Taskset, key string) (explorer.Taskset, error) {
	set, err := b.openTasks(ctx, t, key)
	if err != nil {
		return explorer.Taskset{}, err
	}
	reader, err := dataset.NewReader(set.rows.Len(), dataset.Plan{BatchSize: set.rows.Len(), Eval: true})
	if err != nil {
		return explorer.Taskset{}, at(key, err)
	}
	return b.taskset(&tasks{sets: []taskRows{set}, eval: true, reader: reader}, t.RepeatTimes)
}

// trainTasksets builds what is trained on: one taskset, or several as one. steps is how many explore steps there are.
func (b *job) trainTasksets(ctx context.Context) (out explorer.Taskset, t *tasks, steps int, err error) {
	list := b.cfg.Buffer.ExplorerInput.Training()
	t = &tasks{}
	var sizes []int
	var plans []dataset.Plan
	for i := range list {
		key := "buffer.explorer_input.taskset"
		if b.cfg.Buffer.ExplorerInput.Taskset == nil {
			key = fmt.Sprintf("buffer.explorer_input.tasksets[%d]", i)
		}
		set, err := b.openTasks(ctx, &list[i], key)
		if err != nil {
			return out, nil, 0, err
		}
		plan, err := b.plan(&set)
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
		if !b.measuresRates() {
			err = errors.New("run: selector difficulty_based learns from what pass_rate_calculator measures; put it " +
				"into data_processor.experience_pipeline.operators")
		}
	}
	if err != nil {
		return out, nil, 0, at(t.sets[0].key, atArgs(t.sets[0].key+".data_selector.kwargs", err))
	}
	out, err = b.taskset(t, b.cfg.Algorithm.RepeatTimes)
	return out, t, steps, err
}

// measuresRates reports whether the experience pipeline measures what selectors learn from.
func (b *job) measuresRates() bool {
	return slices.ContainsFunc(b.cfg.DataProcessor.ExperiencePipeline.Operators,
		func(o config.Operator) bool { return o.Name == "pass_rate_calculator" })
}

// taskset is what the explorer runs tasks by.
func (b *job) taskset(t *tasks, repeat int) (out explorer.Taskset, err error) {
	first := &t.sets[0]
	out = explorer.Taskset{Name: first.name, Tasks: t, Repeat: repeat}
	if out.Workflow, out.Rollout, err = b.way(first.config, first.key); err != nil {
		return out, err
	}
	for i := range t.sets {
		if err := b.variants(&t.sets[i], &out, i > 0); err != nil {
			return out, err
		}
	}
	return out, nil
}

// plan is how a training set is read.
func (b *job) plan(set *taskRows) (dataset.Plan, error) {
	plan := dataset.Plan{BatchSize: b.cfg.Buffer.BatchSize, Epochs: b.cfg.Buffer.TotalEpochs, Own: b.Plugins.Selectors}
	if n := b.cfg.Buffer.TotalSteps; n != nil {
		plan.TotalSteps = *n
	}
	s := set.config.DataSelector
	if s == nil {
		return plan, nil
	}
	plan.Selector, plan.Seed, plan.Args = s.SelectorType, s.Seed, s.Kwargs
	if len(s.FeatureKeys) > 0 {
		features, err := set.rows.Numbers(s.FeatureKeys)
		if err != nil {
			return plan, at(set.key+".data_selector.feature_keys", err)
		}
		plan.Features = features
	}
	return plan, nil
}
