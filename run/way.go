package run

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/explorer"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// way builds a workflow with its rollout.
func (b *job) way(t *config.Taskset, key string) (workflow.Workflow, workflow.Rollout, error) {
	w, err := workflow.New(t.DefaultWorkflowType, b.Plugins.workflows())
	if err != nil {
		return nil, workflow.Rollout{}, b.unknownWorkflow(t, key, err)
	}
	r := b.rollout(t)
	if _, plays := w.(workflow.Gem); plays && b.external != nil {
		return nil, r, at(key+".default_workflow_type", fmt.Errorf(
			"run: %s needs a model's own tokens, which an external model does not show; choose another workflow",
			t.DefaultWorkflowType))
	} else if plays {
		data, _ := t.WorkflowArgs["data_dir"].(string) // what is no string the workflow refuses
		if r.Environments, err = Environments(data); err != nil {
			return nil, r, at(key+".workflow_args.data_dir", err)
		}
		r.Chat = b.model.template
	}
	idle := workflow.Idle(t.DefaultWorkflowType, &r, b.Plugins.workflows())
	if r, err = workflow.WithDefaults(t.DefaultWorkflowType, r, b.Plugins.workflows()); err != nil {
		err = b.refusedWay(t, key, r.RewardName, err)
	} else {
		b.noteBuiltIn(t.DefaultWorkflowType, w, t.Format.SystemPrompt, &r)
		for _, arg := range idle {
			b.noteOnce("%s.%s is not used: neither %s nor its reward has such an argument", key, arg,
				t.DefaultWorkflowType)
		}
	}
	return w, r, err
}

// unknownWorkflow names the nearest workflow to one that is not known.
func (b *job) unknownWorkflow(t *config.Taskset, key string, err error) error {
	near := workflow.DidYouMean(t.DefaultWorkflowType, b.Plugins.workflows())
	return at(key+".default_workflow_type", fmt.Errorf("%w%s", err, near))
}

// refusedWay places what is wrong with a workflow's arguments or reward.
func (b *job) refusedWay(t *config.Taskset, key, reward string, err error) error {
	if err = atArgs(key+".workflow_args", err); workflow.HasReward(reward, b.Plugins.workflows()) {
		return at(key+".default_workflow_type", err)
	}
	near := workflow.RewardDidYouMean(reward, b.Plugins.workflows())
	return at(key+".default_reward_fn_type", fmt.Errorf("%w%s", err, near))
}

// noteOnce tells the user something that building the parts came across, perhaps several times.
func (b *job) noteOnce(format string, args ...any) { b.note(fmt.Sprintf(format, args...)) }

// note tells the user something once.
func (b *job) note(text string) {
	if !slices.Contains(b.noted, text) {
		b.noted = append(b.noted, text)
		fmt.Fprintln(b.Out, "note:", text)
	}
}

// warn tells the user of something that went wrong and does not end the run.
func (b *job) warn(text string) {
	if b.progress == nil { // an estimate, which shows none
		b.note(text)
		return
	}
	b.progress.Warn(text)
}

// variants adds the workflows and rewards that rows of a set ask for by name, where the format has columns for that.
// own says that the set's own way is a variant too, as it is not the first.
func (b *job) variants(set *taskRows, to *explorer.Taskset, own bool) error {
	add := func(name string, t *config.Taskset) error {
		w, r, err := b.way(t, set.key)
		if err != nil {
			return err
		}
		to.Variants = append(to.Variants, explorer.Variant{Workflow: w, Rollout: r})
		set.variants[name] = len(to.Variants)
		return nil
	}
	if own {
		if err := add("", set.config); err != nil {
			return err
		}
	}
	if set.format.WorkflowKey == "" && set.format.RewardFnKey == "" {
		return nil
	}
	for i := range set.rows.Len() {
		task, err := set.format.Task(set.rows, dataset.Item{Index: i})
		if err != nil {
			return err
		}
		name := variant(set.config, task)
		if _, known := set.variants[name]; known || name == "" {
			continue
		}
		t := *set.config
		t.DefaultWorkflowType, t.DefaultRewardFnType = cmp.Or(task.Workflow,
			t.DefaultWorkflowType), cmp.Or(task.RewardFn, t.DefaultRewardFnType)
		if err := add(name, &t); err != nil {
			return fmt.Errorf("%s: %w", set.rows.Place(i), err)
		}
	}
	return nil
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
		SystemPrompt: t.Format.SystemPrompt, ReplyPrefix: t.Format.ReplyPrefix, Context: b.context,
		Truncate: b.cfg.Model.EnablePromptTruncation, Args: t.WorkflowArgs,
		Judges: b.judges(), OpenAI: b.reachJudge}
	if n := b.cfg.Model.MaxPromptTokens; n != nil {
		r.MaxPrompt = *n
	}
	if b.external != nil { // which counts tokens of its own
		r.Renderer, r.Truncate, r.MaxPrompt = b.external, false, 0
	}
	return r
}
