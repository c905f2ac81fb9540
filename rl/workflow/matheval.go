package workflow

import (
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/reward"
)

// MathEval is math_eval_workflow: how the Qwen2.5-Math evaluation asks and judges, for evaluation tasksets. The task is
// the row's column question whatever prompt_key says; temperature and top_p are fixed at 0.6 and 0.8. It measures
// accuracy and rewards nothing.
type MathEval struct{}

// Run implements Workflow.
func (MathEval) Run(ctx context.Context, r *Rollout, t Task) ([]*experience.Experience, error) {
	question, ok := t.Row.Get("question")
	if !ok {
		return nil, fmt.Errorf("workflow: math_eval_workflow reads the column question, and row %d has only %v",
			t.Index, t.Row.Columns())
	}
	if question == nil {
		return nil, fmt.Errorf("workflow: math_eval_workflow: the column question of row %d is null; give it a text "+
			"or remove the row", t.Index)
	}
	own := *r
	own.Params.Temperature, own.Params.TopP = 0.6, 0.8
	list, err := sample(ctx, &own, t, []chat.Message{{Role: "system", Content: boxedPrompt},
		{Role: "user", Content: fmt.Sprint(question) + "\n" + boxedPrompt}})
	for _, e := range list {
		setAccuracy(e, reward.SameAnswer(e.ResponseText, t.Truth))
		e.SetReward(0)
	}
	return list, err
}

// Prepare implements Preparer.
func (MathEval) Prepare(*Rollout) error { return nil }
