package workflow

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/reward"
)

const rulerPrompt = `Compare the solutions of several students to one problem.

Problem:
%s

How a solution should look:
%s

%s
Give each solution a score between 0 (worthless) and 1 (perfect): a right result counts most, then sound and clear ` +
	`steps, then the form asked for.
Write down your reasons first. Then end with the scores of all %d solutions in their order, as a list in brackets ` +
	`such as [0.2, 0.9].`

// rulerQuestion shows the judge all solutions of a task.
func rulerQuestion(r *Rollout, t Task, list []*experience.Experience) []chat.Message {
	var solutions strings.Builder
	for i, e := range list {
		fmt.Fprintf(&solutions, "Solution %d:\n%s\n\n", i+1, e.ResponseText)
	}
	return []chat.Message{{Role: "user", Content: fmt.Sprintf(rulerPrompt, t.Prompt, r.SystemPrompt, solutions.String(),
		len(list))}}
}

// readScores reads the list between the last [ and the last ] of a text, or else the first list of JSON that fits: n
// numbers, cut to 0 … 1.
func readScores(text string, n int) (scores []float64, ok bool) {
	if scores, ok = lastScores(text, n); ok {
		return scores, true
	}
	ok = reward.FindJSON(text, func(raw []byte) bool {
		var list []*float64
		if json.Unmarshal(raw, &list) != nil || len(list) != n || slices.Contains(list, nil) {
			return false
		}
		for _, v := range list {
			scores = append(scores, min(max(*v, 0), 1))
		}
		return true
	})
	return scores, ok
}

func lastScores(text string, n int) ([]float64, bool) {
	open, end := strings.LastIndex(text, "["), strings.LastIndex(text, "]")
	if open < 0 || end < open {
		return nil, false
	}
	parts := strings.Split(text[open+1:end], ",")
	if len(parts) != n {
		return nil, false
	}
	scores := make([]float64, n)
	for i, p := range parts {
		v, err := strconv.ParseFloat(strings.TrimSpace(p), 64)
		if err != nil || v != v {
			return nil, false
		}
		scores[i] = min(max(v, 0), 1)
	}
	return scores, true
}

// Ruler is math_ruler_workflow: a judge compares the answers of a task and its scores are their rewards (RULER, of the
// ART project). A verdict without scores that can be read is an error. The reward function's result
// is only the metric gold_reward.
type Ruler struct{}

// Run implements Workflow.
func (Ruler) Run(ctx context.Context, r *Rollout, t Task) ([]*experience.Experience, error) {
	j, err := judge(r, "math_ruler_workflow")
	if err != nil {
		return nil, err
	}
	list, err := goldSamples(ctx, r, t)
	if err != nil || list[0].TruncateStatus == experience.PromptTruncated {
		return list, err
	}
	draws := rng.New(t.Seed).Stream("judge")
	stop := r.Grading.Grade()
	verdict, err := j.Ask(ctx, rulerQuestion(r, t, list), 1, draws.Uint64())
	stop()
	if err != nil {
		return nil, fmt.Errorf("judge: %w", err)
	}
	if err := applyScores(verdict, list); err != nil {
		return nil, err
	}
	return list, nil
}

// applyScores makes the scores of a verdict the rewards of the answers.
func applyScores(verdict string, list []*experience.Experience) error {
	scores, ok := readScores(verdict, len(list))
	if !ok {
		return unreadable(verdict, fmt.Sprintf("a list of %d numbers in brackets", len(list)))
	}
	for i, e := range list {
		e.Metrics["judge_success"] = 1
		e.SetReward(scores[i])
	}
	return nil
}

// Prepare implements Preparer.
func (Ruler) Prepare(r *Rollout) error { return mathDefaults(r) }

// goldSamples are answers with the reward function's verdict as metric gold_reward.
func goldSamples(ctx context.Context, r *Rollout, t Task) ([]*experience.Experience, error) {
	list, err := sample(ctx, r, t, messages(r, t))
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		if e.TruncateStatus == experience.PromptTruncated {
			continue
		}
		if err := grade(r, t, e, reward.Expected(r.RewardName, t.Truth)); err != nil {
			return nil, err
		}
		e.Metrics["gold_reward"] = *e.Reward
	}
	return list, nil
}

// TrainableRuler is math_trainable_ruler_workflow: the policy judges its own answers. One task in five counts as one
// whose truth is known: its answers get the reward function's reward, and the policy's judgements are experiences too,
// in a group of their own (<task>-ruler), rewarded by how near their scores are to (reward + 0.1)/1.2. In all other
// tasks one judgement gives the answers their rewards.
type TrainableRuler struct{}

// truthKnown is the share of tasks whose truth counts as known.
const truthKnown = 0.2

// Run implements Workflow.
func (TrainableRuler) Run(ctx context.Context, r *Rollout, t Task) ([]*experience.Experience, error) {
	list, err := goldSamples(ctx, r, t)
	if err != nil || list[0].TruncateStatus == experience.PromptTruncated {
		return list, err
	}
	draws := rng.New(t.Seed).Stream("judge")
	known := draws.Float64() < truthKnown
	asked := t
	asked.ID, asked.Seed = t.ID+"-ruler", draws.Uint64()
	if !known {
		asked.Repeat = 1
	}
	stop := r.Grading.Grade()
	verdicts, err := sample(ctx, r, asked, rulerQuestion(r, t, list))
	stop()
	if err != nil {
		return nil, fmt.Errorf("judge: %w", err)
	}
	if !known {
		if err := applyScores(verdicts[0].ResponseText, list); err != nil {
			return nil, err
		}
		return list, nil
	}
	for _, v := range verdicts {
		rewardVerdict(v, list)
	}
	return append(list, verdicts...), nil
}

// rewardVerdict rewards a judgement of the policy by its mean distance from the truth; one that cannot be read is
// wrong in form and gets 0.
func rewardVerdict(v *experience.Experience, list []*experience.Experience) {
	v.SetReward(0)
	v.Metrics["judge_success"], v.Metrics["reward_for_judge"] = 0, 0
	scores, ok := readScores(v.ResponseText, len(list))
	if !ok {
		return
	}
	sum := 0.0
	for i, e := range list {
		d := scores[i] - (e.Metrics["gold_reward"]+0.1)/1.2
		sum += max(d, -d)
	}
	v.SetReward(1 - sum/float64(len(list)))
	v.Metrics["judge_success"], v.Metrics["reward_for_judge"] = 1, *v.Reward
}

// Prepare implements Preparer.
func (TrainableRuler) Prepare(r *Rollout) error { return mathDefaults(r) }
