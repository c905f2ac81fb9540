package data

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/explorer"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/reward"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
	"github.com/seed-d9ad8ee0/trinity/run/internal/plan"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Workflow builds a workflow with its rollout.
func Workflow(j *job.Job, t *config.Taskset, key string) (workflow.Workflow, workflow.Rollout, error) {
	w, err := workflow.New(t.DefaultWorkflowType, j.Own)
	if err != nil {
		return nil, workflow.Rollout{}, unknownWorkflow(j, t, key, err)
	}
	r := rollout(j, t)
	if _, plays := w.(workflow.Gem); plays && j.External != nil {
		return nil, r, job.AtKey(key+".default_workflow_type", fmt.Errorf(
			"run: %s needs a model's own tokens, which an external model does not show; choose another workflow",
			t.DefaultWorkflowType))
	} else if plays {
		data, _ := t.WorkflowArgs["data_dir"].(string) // what is not a string the workflow refuses
		if r.Environments, err = j.Environments(data); err != nil {
			return nil, r, job.AtKey(key+".workflow_args.data_dir", err)
		}
		r.Chat, r.Tools = j.Model.Template, j.Tools
	}
	given := r
	if r, err = workflow.WithDefaults(t.DefaultWorkflowType, r, j.Own); err != nil {
		err = refusedWay(j, t, key, r.RewardName, err)
	} else {
		if config.Follows052(j.Config) {
			w = before06(j, w, &r)
		}
		noteBuiltIn(j, t.DefaultWorkflowType, w, t.Format.SystemPrompt, &r)
		given.RewardName = r.RewardName
		err = noteIdle(j, t, key, w, workflow.Idle(t.DefaultWorkflowType, &given, j.Own))
	}
	return w, r, err
}

// before06 makes a workflow and its reward mean what they meant when this program followed Trinity-RFT 0.5.2.
func before06(j *job.Job, w workflow.Workflow, r *workflow.Rollout) workflow.Workflow {
	if grade := reward.Before06(r.RewardName); grade != nil && j.Own.Rewards[r.RewardName] == nil {
		r.Reward = grade
	}
	if _, boxed := w.(workflow.Boxed); boxed {
		return workflow.Boxed{TrainTruncated: true}
	}
	return w
}

// noteIdle names arguments that were given and change nothing.
func noteIdle(j *job.Job, t *config.Taskset, key string, w workflow.Workflow, idle []workflow.IdleArgument) error {
	var errs []error
	for _, arg := range idle {
		section, name, _ := strings.Cut(arg.Key, ".")
		errs = append(errs, j.Unread(key+"."+section, name,
			fmt.Sprintf("neither %s nor its reward has such an argument", t.DefaultWorkflowType), arg.Near))
	}
	if _, boxed := w.(workflow.Boxed); boxed && t.RewardFnArgs["with_think"] != nil {
		j.Notes.Add(fmt.Sprintf("%s.reward_fn_args.with_think is not used: %s reads workflow_args.with_think", key,
			t.DefaultWorkflowType))
	}
	return errors.Join(errs...)
}

// unknownWorkflow names the nearest workflow to one that is not known.
func unknownWorkflow(j *job.Job, t *config.Taskset, key string, err error) error {
	near := workflow.DidYouMean(t.DefaultWorkflowType, j.Own)
	return job.AtKey(key+".default_workflow_type", fmt.Errorf("%w%s", err, near))
}

// refusedWay places what is wrong with a workflow's arguments or reward.
func refusedWay(j *job.Job, t *config.Taskset, key, reward string, err error) error {
	if err = job.AtArguments(key+".workflow_args", err); workflow.HasReward(reward, j.Own) {
		return job.AtKey(key+".default_workflow_type", err)
	}
	near := workflow.RewardDidYouMean(reward, j.Own)
	return job.AtKey(key+".default_reward_fn_type", fmt.Errorf("%w%s", err, near))
}

// variants adds the workflows and rewards that rows of a set ask for by name, where the format has columns for that.
// own says that the set's own way is a variant too, as it is not the first.
func variants(j *job.Job, set *taskRows, to *explorer.Taskset, own bool) error {
	add := func(name string, t *config.Taskset) error {
		w, r, err := Workflow(j, t, set.key)
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
func rollout(j *job.Job, t *config.Taskset) workflow.Rollout {
	p := tinker.DefaultSampling()
	p.Temperature, p.TopP, p.TopK = *t.RolloutArgs.Temperature, *t.RolloutArgs.TopP, *t.RolloutArgs.TopK
	if n := t.RolloutArgs.MaxTokens; n != nil {
		p.MaxTokens = *n
	}
	p.StopTokens = j.Model.Stops
	r := workflow.Rollout{Params: p, Renderer: j.Model, RewardName: t.DefaultRewardFnType, RewardArgs: t.RewardFnArgs,
		SystemPrompt: t.Format.SystemPrompt, ReplyPrefix: t.Format.ReplyPrefix, Context: j.Context,
		Truncate: j.Config.Model.EnablePromptTruncation, Args: t.WorkflowArgs,
		Judges: j.Judge.List(), OpenAI: reachJudge(j), Rollouts: j.RolloutServer, URL: j.URL,
		Carriers: j.Outside.Carriers, Format: formatOf(t.Format)}
	if by, read := j.TasksAt(t.Path); read != nil && (workflow.Carried{By: by}).Named(t.DefaultWorkflowType) {
		r.Args = maps.Clone(r.Args)
		if r.Args == nil {
			r.Args = map[string]any{}
		}
		if r.Args["env_id"] == nil { // its tasks are the rows
			r.Args["env_id"] = t.Path
		}
	}
	r.Model = workflow.Model{Name: j.Model.Name, Dir: j.Model.Dir, MaxTokens: plan.MaxTokens(j.Config, j.Context),
		Judges: j.Judge.Names(), Thinking: j.Model.Thinking,
		Ungraded: len(j.Config.DataProcessor.ExperiencePipeline.Operators) > 0}
	if n := j.Config.Model.MaxPromptTokens; n != nil {
		r.MaxPrompt = *n
	}
	if j.External != nil { // which counts tokens of its own
		r.Renderer, r.Truncate, r.MaxPrompt = j.External, false, 0
	}
	return r
}

// reachJudge finds a judge that a workflow names.
func reachJudge(j *job.Job) func(model, urlEnv, keyEnv string) (workflow.Judge, error) {
	return func(model, urlEnv, keyEnv string) (workflow.Judge, error) {
		return job.ReachJudge(j.LookupEnv, model, urlEnv, keyEnv)
	}
}

// noteBuiltIn says once that a workflow speaks to the model in this project's words.
func noteBuiltIn(j *job.Job, name string, w workflow.Workflow, system string, r *workflow.Rollout) {
	switch own := workflow.BuiltInPrompt(w, system, r); {
	case own.Text == "":
	case own.Replaceable:
		j.Notes.Add(fmt.Sprintf("%s uses its built-in system prompt, which is not worded as Trinity-RFT's: a model "+
			"trained with that answers differently. Set format.system_prompt of the taskset to use another; trinity "+
			"debug -m prompt shows the prompt", name))
	default:
		j.Notes.Add(fmt.Sprintf("%s tells the model its rules in words that are not Trinity-RFT's: a model trained "+
			"with those answers differently. trinity debug -m prompt shows the prompt", name))
	}
}
