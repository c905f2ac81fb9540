package plugin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/python"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// WorkflowsOf are the workflows by their names.
func (s *Set) WorkflowsOf() map[string]workflow.Workflow {
	out := map[string]workflow.Workflow{}
	for name, part := range s.Workflows {
		out[name] = &Workflow{set: s, name: name, part: part}
	}
	return out
}

// Workflow is a workflow of Python.
type Workflow struct {
	set  *Set
	name string
	part Part
}

// ReadsRows says that the workflow may read any column.
func (w *Workflow) ReadsRows() bool { return true }

// Foreign implements workflow.Foreign.
func (w *Workflow) Foreign() {}

// Prepare implements workflow.Preparer: a workflow may do without a reward function.
func (w *Workflow) Prepare(*workflow.Rollout) error {
	if w.part.Wrong != "" {
		return fmt.Errorf("plugin: workflow %s (%s): %s", w.name, w.part.Place, w.part.Wrong)
	}
	return nil
}

// Run implements workflow.Workflow. A workflow that does the repetitions itself runs once, any other once per
// repetition, in parallel.
func (w *Workflow) Run(ctx context.Context, r *workflow.Rollout, t workflow.Task) ([]*experience.Experience, error) {
	ctx = python.WithTask(ctx, t.Batch+"/"+t.ID)
	if w.part.Repeats {
		return w.once(ctx, r, t, 0, t.Repeat)
	}
	return workflow.Repeat(ctx, r, t.Repeat, func(ctx context.Context, run int) ([]*experience.Experience, error) {
		return w.once(ctx, r, t, run, 1)
	})
}

// once runs the workflow.
func (w *Workflow) once(ctx context.Context, r *workflow.Rollout, t workflow.Task, run, repeat int) (
	[]*experience.Experience, error) {
	s := newSession(w.set, r, t, run)
	defer s.close()
	args := map[string]any{"name": w.name, "repeat": repeat, "run": run, "task": w.task(r, t), "model": modelOf(r),
		"auxiliary": auxiliaryOf(r)}
	var out struct {
		Experiences []returned `json:"experiences"`
	}
	err := w.set.host.Call(ctx, "workflow.run", args, &out, s.up)
	if err == nil {
		var list []*experience.Experience
		if list, err = s.experiences(ctx, out.Experiences, w.part); err == nil {
			return list, nil
		}
	}
	if errors.Is(err, tinker.ErrLost) {
		return nil, err
	}
	return nil, failed("workflow "+w.name, err, s.said())
}

// task is the task as Python gets it.
func (w *Workflow) task(r *workflow.Rollout, t workflow.Task) map[string]any {
	format := map[string]any{}
	for k, v := range r.Format {
		format[k] = v
	}
	rollout := map[string]any{"temperature": r.Params.Temperature, "top_p": r.Params.TopP, "top_k": r.Params.TopK,
		"logprobs": 0}
	if n := r.Params.MaxTokens; n > 0 {
		rollout["max_tokens"] = n
	}
	return map[string]any{"row": t.Row, "format": format, "rollout_args": rollout, "workflow_args": r.Args,
		"reward_fn_args": r.RewardArgs, "reward": r.RewardName, "batch": t.Batch, "task": t.ID,
		"is_eval": strings.HasPrefix(t.Batch, "eval/"),
		"index":   map[string]any{"index": t.Index, "taskset_id": t.Taskset}}
}

// modelOf is the description of the model for self.model.
func modelOf(r *workflow.Rollout) map[string]any {
	m := map[string]any{"model_path": r.Model.Dir, "name": r.Model.Name, "version": r.Version,
		"temperature": r.Params.Temperature, "top_p": r.Params.TopP, "top_k": r.Params.TopK,
		"enable_thinking": r.Model.Thinking, "enable_prompt_truncation": r.Truncate}
	for k, v := range map[string]int{"max_response_tokens": r.Params.MaxTokens, "max_prompt_tokens": r.MaxPrompt,
		"max_model_len": r.Model.MaxTokens} {
		if v > 0 {
			m[k] = v
		}
	}
	return m
}

func auxiliaryOf(r *workflow.Rollout) []map[string]any {
	var list []map[string]any
	for i := range r.Judges {
		name := ""
		if i < len(r.Model.Judges) {
			name = r.Model.Judges[i]
		}
		list = append(list, map[string]any{"model_path": name, "name": name})
	}
	return list
}
