package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/reward"
)

// Rubric is rubric_judge_workflow: a judge rates each answer from 1 to 10 by the row's column rubric, a list of
// description and weight; the reward is a tenth of the rating. A verdict without one that can be read is an error. The
// judge is the first auxiliary model, or with API set (rubric_judge_openai_workflow) the model that workflow_args name:
// judge_model_name, and the environment variables judge_api_base_url_env and judge_api_key_env.
type Rubric struct{ API bool }

const rubricPrompt = `Judge an answer by a rubric.

What was asked:
%s

The answer:
%s

The rubric, each point with its weight:
%s
Weigh all points and rate the answer from 1 (worst) to 10 (best). End with the rating alone in a block of JSON:
` + "```json\n{\"rating\": 7}\n```"

// Run implements Workflow.
func (w Rubric) Run(ctx context.Context, r *Rollout, t Task) ([]*experience.Experience, error) {
	j, err := w.judge(r)
	if err != nil {
		return nil, err
	}
	rubric, err := rubricText(t)
	if err != nil {
		return nil, err
	}
	list, err := sample(ctx, r, t, messages(r, t))
	if err != nil {
		return nil, err
	}
	draws := rng.New(t.Seed).Stream("judge")
	seeds := make([]uint64, len(list))
	for i := range seeds {
		seeds[i] = draws.Uint64()
	}
	defer r.Grading.Grade()()
	_, err = repeat(len(list), false, func(i int) ([]*experience.Experience, error) {
		return nil, rate(ctx, j, fmt.Sprintf(rubricPrompt, t.Prompt, list[i].ResponseText, rubric), seeds[i], list[i])
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// rate asks the judge for an answer's rating, and makes it the reward.
func rate(ctx context.Context, j Judge, question string, seed uint64, e *experience.Experience) error {
	verdict, err := j.Ask(ctx, []chat.Message{{Role: "user", Content: question}}, 0, seed)
	if err != nil {
		return fmt.Errorf("judge: %w", err)
	}
	rating, ok := readRating(verdict)
	if !ok {
		return unreadable(verdict, `an object with a rating from 1 to 10, such as {"rating": 7}`)
	}
	e.Metrics["judge_success"] = 1
	e.SetReward(0.1 * rating)
	return nil
}

func (w Rubric) judge(r *Rollout) (Judge, error) {
	if !w.API {
		return judge(r, "rubric_judge_workflow")
	}
	given := arg.Read(r.Args)
	model := given.Text("judge_model_name", "")
	urlEnv := given.Text("judge_api_base_url_env", "OPENAI_BASE_URL")
	keyEnv := given.Text("judge_api_key_env", "OPENAI_API_KEY")
	if err := given.Close(); err != nil {
		return nil, fmt.Errorf("workflow: rubric_judge_openai_workflow: workflow_args.%w", err)
	}
	if model == "" {
		return nil, errors.New("workflow: rubric_judge_openai_workflow needs workflow_args.judge_model_name")
	}
	if r.OpenAI == nil {
		return nil, errors.New("workflow: rubric_judge_openai_workflow was given no way to reach a service")
	}
	return r.OpenAI(model, urlEnv, keyEnv)
}

// Prepare implements Preparer.
func (w Rubric) Prepare(r *Rollout) error {
	_, err := w.judge(r)
	return err
}

// rubricText is the row's rubric, a point a line.
func rubricText(t Task) (string, error) {
	v, ok := t.Row.Get("rubric")
	if !ok {
		return "", fmt.Errorf("workflow: rubric_judge_workflow reads the column rubric, and row %d has only %v",
			t.Index, t.Row.Columns())
	}
	var points []struct {
		Description string      `json:"description"`
		Weight      json.Number `json:"weight"`
	}
	if err := json.Unmarshal([]byte(plainText(v)), &points); err != nil || len(points) == 0 {
		return "", fmt.Errorf("workflow: rubric_judge_workflow: the column rubric of row %d must be a list of "+
			"description and weight: %v", t.Index, err)
	}
	var b strings.Builder
	for _, p := range points {
		fmt.Fprintf(&b, "- (%s) %s\n", p.Weight, p.Description)
	}
	return b.String(), nil
}

// readRating reads the rating in the last block of JSON, or in the last braces where there is no block. If that is
// none, the first JSON value with a rating counts.
func readRating(text string) (float64, bool) {
	last := text
	if i := strings.LastIndex(text, "```json"); i >= 0 {
		last, _, _ = strings.Cut(text[i+len("```json"):], "```")
	} else if open, end := strings.LastIndex(text, "{"), strings.LastIndex(text, "}"); open >= 0 && end > open {
		last = text[open : end+1]
	}
	rating := 0.0
	fits := func(raw []byte) bool {
		var v struct {
			Rating *float64 `json:"rating"`
		}
		if json.Unmarshal(raw, &v) != nil || v.Rating == nil || *v.Rating < 1 || *v.Rating > 10 {
			return false
		}
		rating = *v.Rating
		return true
	}
	found := fits([]byte(last)) || reward.FindJSON(text, fits)
	return rating, found
}
