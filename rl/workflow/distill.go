package workflow

import (
	"cmp"
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/reward"
)

// Distill is on_policy_distill_workflow: the model answers, and nobody grades. The trainer asks the
// teacher for its logprob of each token, whichever workflow sampled it.
type Distill struct{}

// Run implements Workflow.
func (Distill) Run(ctx context.Context, r *Rollout, t Task) ([]*experience.Experience, error) {
	return ungraded(ctx, r, t, messages(r, t))
}

// Prepare implements Preparer.
func (Distill) Prepare(r *Rollout) error { return distillArgs(r.Args, "on_policy_distill_workflow") }

// DistillMath is on_policy_distill_math_workflow: Distill with the prompt of mathematics, and the accuracy as the
// reward, which distillation shows and does not use.
type DistillMath struct{}

// Run implements Workflow.
func (DistillMath) Run(ctx context.Context, r *Rollout, t Task) ([]*experience.Experience, error) {
	own := *r
	own.SystemPrompt = cmp.Or(own.SystemPrompt, boxedPrompt)
	list, err := ungraded(ctx, &own, t, messages(&own, t))
	for _, e := range list {
		setAccuracy(e, reward.SameAnswer(e.ResponseText, t.Truth))
	}
	return list, err
}

// Prepare implements Preparer.
func (DistillMath) Prepare(r *Rollout) error {
	return distillArgs(r.Args, "on_policy_distill_math_workflow")
}

// ungraded samples and gives every experience reward 0.
func ungraded(ctx context.Context, r *Rollout, t Task, list []chat.Message) ([]*experience.Experience, error) {
	out, err := sample(ctx, r, t, list)
	for _, e := range out {
		e.SetReward(0)
	}
	return out, err
}

// distillArgs takes upstream's temperature, of the logprobs that are compared: services give them at 1.
func distillArgs(args map[string]any, name string) error {
	given := arg.Read(args)
	given.Require(given.Float("temperature", 1) == 1, "temperature", args["temperature"],
		"1, at which the logprobs of model and teacher are compared; rollout_args.temperature is for sampling")
	if err := given.Close(); err != nil {
		return fmt.Errorf("workflow: %s: workflow_args.%w", name, err)
	}
	return nil
}
