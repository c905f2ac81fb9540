package workflow

import (
	"cmp"
	"context"
	"fmt"
	"maps"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// Prompts of math_boxed_workflow; the second also asks for the thinking tags that its reward checks.
const (
	boxedPrompt      = `Reason step by step, and put the final answer inside \boxed{}.`
	boxedThinkPrompt = `First reason step by step inside <think> and </think>, then give the solution with the ` +
		`final answer inside \boxed{}.`
)

// Boxed is math_boxed_workflow: the answer is read from a LaTeX box, and one that was cut off is graded and not
// trained. Its workflow_args are with_think (false) and
// format_score_coef (0.1), which the reward gets too, with_think in place of the one of reward_fn_args; use_base true
// gives the model plain text without a chat template.
type Boxed struct {
	TrainTruncated bool // answers that were cut off are trained too, as in Trinity-RFT 0.5.2
}

// Run implements Workflow.
func (b Boxed) Run(ctx context.Context, r *Rollout, t Task) ([]*experience.Experience, error) {
	a, err := boxedArgs(r.Args)
	if err != nil {
		return nil, err
	}
	own := *r
	if own.SystemPrompt == "" {
		own.SystemPrompt = Boxed{}.builtIn(r.Args)
	}
	own.RewardArgs = maps.Clone(r.RewardArgs)
	if own.RewardArgs == nil {
		own.RewardArgs = map[string]any{}
	}
	own.RewardArgs["with_think"] = a.withThink
	if a.coef != nil {
		own.RewardArgs["format_score_coef"] = a.coef
	}
	if a.useBase {
		own.Renderer = plain{r.Renderer}
	}
	list, err := Simple{}.Run(ctx, &own, t)
	for _, e := range list {
		if e.TruncateStatus == experience.ResponseTruncated && !b.TrainTruncated {
			clear(e.ActionMask)
		}
	}
	return list, err
}

// Prepare implements Preparer.
func (Boxed) Prepare(r *Rollout) error {
	r.RewardName = cmp.Or(r.RewardName, "math_boxed_reward")
	_, err := boxedArgs(r.Args)
	return err
}

type boxed struct {
	withThink, useBase bool
	coef               any
}

func boxedArgs(args map[string]any) (boxed, error) {
	given := arg.Read(args)
	a := boxed{withThink: given.Bool("with_think", false), useBase: given.Bool("use_base", false)}
	a.coef, _ = given.Any("format_score_coef")
	if err := given.Close(); err != nil {
		return a, fmt.Errorf("workflow: math_boxed_workflow: workflow_args.%w", err)
	}
	return a, nil
}

// plain renders a conversation as lines that begin with who speaks, for base models that know no chat template.
type plain struct{ Renderer }

// Prompt implements Renderer.
func (p plain) Prompt(messages []chat.Message) (string, []int32, error) {
	names := map[string]string{"system": "System:", "user": "\nUser: ", "assistant": "\nAssistant: "}
	text, answered := "", false
	for _, m := range messages {
		text += names[m.Role] + m.Content
		answered = m.Role == "assistant"
	}
	if !answered {
		text += names["assistant"]
	}
	tokens, err := p.Encode(text)
	return text, tokens, err
}
