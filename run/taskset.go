package run

import (
	"context"
	"fmt"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/dataset"
	"github.com/seed-d9ad8ee0/trinity/explorer"
	"github.com/seed-d9ad8ee0/trinity/rng"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/workflow"
)

// tasks deals a data set's rows out as tasks, the same ones whenever a step is asked for.
type tasks struct {
	rows   *dataset.Source
	format dataset.Format
	eval   bool

	mu     sync.Mutex
	reader *dataset.Reader
}

// Batch implements explorer.Tasks. An evaluation gives all rows at once.
func (t *tasks) Batch(step, n int) ([]workflow.Task, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.eval {
		step, n = 1, t.rows.Len()
	}
	if err := t.reader.Restore(dataset.State{CurrentIndex: (step - 1) * n}); err != nil {
		return nil, err
	}
	items, err := t.reader.Next()
	if err != nil {
		return nil, err
	}
	list := make([]workflow.Task, len(items))
	for i, it := range items {
		task, err := t.format.Task(t.rows, it)
		if err != nil {
			return nil, err
		}
		list[i] = workflow.Task{Index: task.Index, Prompt: task.Prompt, Truth: task.Truth, Row: task.Row}
	}
	return list, nil
}

// taskset builds one taskset of the configuration. key is its place there, for error messages.
func (b *job) taskset(ctx context.Context, t *config.Taskset, key string, eval bool) (explorer.Taskset, int, error) {
	if t.StorageType != "file" {
		return explorer.Taskset{}, 0, fmt.Errorf("run: %s.storage_type %s is not in this version; use file", key, t.StorageType)
	}
	rows, err := b.openRows(ctx, t.Path, t.SubsetName, t.Split)
	if err != nil {
		return explorer.Taskset{}, 0, fmt.Errorf("%s: %w", key, err)
	}
	b.opened(rows.Close)
	f := t.Format
	format := dataset.Format{Section: key + ".format", PromptKey: f.PromptKey, ResponseKey: f.ResponseKey,
		WorkflowKey: f.WorkflowKey, RewardFnKey: f.RewardFnKey, SystemPrompt: f.SystemPrompt, SystemPromptKey: f.SystemPromptKey}
	if err := format.Check(rows); err != nil {
		return explorer.Taskset{}, 0, err
	}
	plan := dataset.Plan{BatchSize: b.cfg.Buffer.BatchSize, Epochs: b.cfg.Buffer.TotalEpochs, Eval: eval}
	if eval {
		plan.BatchSize = rows.Len()
	} else if n := b.cfg.Buffer.TotalSteps; n != nil {
		plan.TotalSteps = *n
	}
	if s := t.DataSelector; s != nil && !eval {
		plan.Selector, plan.Seed = s.SelectorType, b.shuffleSeed(s.Seed)
	}
	reader, err := dataset.NewReader(rows.Len(), plan)
	if err != nil {
		return explorer.Taskset{}, 0, fmt.Errorf("%s: %w", key, err)
	}
	w, err := workflow.New(t.DefaultWorkflowType, b.Plugins.workflows())
	if err != nil {
		return explorer.Taskset{}, 0, fmt.Errorf("%s.default_workflow_type: %w", key, err)
	}
	r := b.rollout(t)
	if _, plays := w.(workflow.Gem); plays {
		data, _ := t.WorkflowArgs["data_dir"].(string) // what is no string the workflow refuses
		if r.Environments, err = Environments(data); err != nil {
			return explorer.Taskset{}, 0, fmt.Errorf("%s.workflow_args.data_dir: %w", key, err)
		}
		r.Chat = b.model.template
	}
	r, err = workflow.WithDefaults(t.DefaultWorkflowType, r, b.Plugins.workflows())
	return explorer.Taskset{Name: t.Name, Tasks: &tasks{rows: rows, format: format, eval: eval, reader: reader},
		Workflow: w, Rollout: r, Repeat: t.RepeatTimes}, reader.Steps(), err
}

// rollout is how a taskset is sampled and graded.
func (b *job) rollout(t *config.Taskset) workflow.Rollout {
	p := tinker.DefaultSampling()
	p.Temperature, p.TopP, p.TopK = *t.RolloutArgs.Temperature, *t.RolloutArgs.TopP, *t.RolloutArgs.TopK
	if n := t.RolloutArgs.MaxTokens; n != nil {
		p.MaxTokens = *n
	}
	p.StopTokens = b.model.stops
	r := workflow.Rollout{Params: p, Renderer: b.model, RewardName: t.DefaultRewardFnType, RewardArgs: t.RewardFnArgs,
		SystemPrompt: t.Format.SystemPrompt, ReplyPrefix: t.Format.ReplyPrefix,
		Truncate: b.cfg.Model.EnablePromptTruncation, Args: t.WorkflowArgs,
		Judges: b.judges(), OpenAI: b.reachOpenAI}
	if n := b.cfg.Model.MaxPromptTokens; n != nil {
		r.MaxPrompt = *n
	}
	return r
}

// shuffleSeed mixes a selector's own seed with the run's.
func (b *job) shuffleSeed(seed int64) int64 {
	s := rng.New(b.identity.Seed).Stream("shuffle", int(seed))
	return int64(s.Uint64() >> 1)
}
