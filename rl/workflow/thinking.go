package workflow

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/reward"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// ThinkingBudget is thinking_budget_workflow of Trinity-RFT's later branches: a thought that is open after
// thinking_token_budget tokens of the answer is ended with reasoning_end_str ("</think>"), and the model goes on from
// there. It did not choose those tokens, so they are masked. (Upstream masks the first end of a thought whoever wrote
// it.) The conversation is the row's column messages. Upstream leaves the reward open; here a reward function gives it.
type ThinkingBudget struct{}

// ReadsRows says that a row needs no prompt.
func (ThinkingBudget) ReadsRows() bool { return true }

// Prepare implements Preparer.
func (ThinkingBudget) Prepare(r *Rollout) error {
	if r.RewardName == "" {
		return errors.New("workflow: thinking_budget_workflow grades nothing itself; name a default_reward_fn_type")
	}
	_, err := readBudget(r.Args)
	return err
}

// budget is the arguments of the workflow.
type budget struct {
	tokens int
	end    string // of a thought
}

func readBudget(args map[string]any) (budget, error) {
	given := arg.Read(args)
	b := budget{tokens: given.Int("thinking_token_budget", -1, 0), end: given.Text("reasoning_end_str", "</think>")}
	err := given.Close()
	switch {
	case err != nil:
	case b.tokens < 0:
		err = errors.New("thinking_token_budget: is missing; give a number of tokens")
	case b.end == "":
		err = errors.New("reasoning_end_str: is empty; give the text that ends a thought")
	}
	if err != nil {
		return b, fmt.Errorf("workflow: thinking_budget_workflow: workflow_args.%w", err)
	}
	return b, nil
}

// open reports whether a text of prompt and answer ends within a thought. A thought begins with its end's tag without
// the slash; where the end is no such tag, with the answer.
func (b budget) open(prompt, answer string) bool {
	begin := strings.Replace(b.end, "</", "<", 1)
	if begin == b.end {
		return !strings.Contains(answer, b.end)
	}
	text := prompt + answer
	return strings.LastIndex(text, begin) > strings.LastIndex(text, b.end)
}

// Run implements Workflow.
func (ThinkingBudget) Run(ctx context.Context, r *Rollout, t Task) ([]*experience.Experience, error) {
	b, err := readBudget(r.Args)
	if err != nil {
		return nil, err
	}
	said, err := rowMessages(t)
	if err != nil {
		return nil, err
	}
	text, prompt, err := r.Renderer.Prompt(said)
	if err != nil {
		return nil, err
	}
	expected := reward.Expected(r.RewardName, t.Truth)
	return r.episodes(t, func(run int) ([]*experience.Experience, error) {
		if err := r.checkPrompt(fmt.Sprintf("the prompt of row %d", t.Index), prompt); err != nil {
			return nil, err
		}
		draws := rng.New(t.Seed).Stream("episode", run)
		q, forced, full, err := b.answer(ctx, r, text, prompt, draws.Uint64)
		if err != nil {
			return nil, err
		}
		e := sampled(r, t, experience.EID{Batch: t.Batch, Task: t.ID, Run: run}, text, prompt, q)
		clear(e.ActionMask[forced[0]:forced[1]])
		e.Metrics["thought_ended"] = min(1, float64(forced[1]-forced[0]))
		if full {
			e.Metrics[OutOfRoom] = 1
		}
		e.Note = &experience.Note{Messages: noteMessages(said)}
		return []*experience.Experience{e}, grade(r, t, e, expected)
	})
}

// answer samples up to the budget and, unless the answer ended there, the rest. forced is where it ended the thought.
func (b budget) answer(ctx context.Context, r *Rollout, text string, prompt []int32, seed func() uint64) (
	q tinker.SampledSequence, forced [2]int, full bool, err error) {
	q.StopReason = tinker.StopLength
	if n := min(b.tokens, b.room(r, prompt, 0)); n > 0 {
		q, full, err = r.sampleOne(ctx, prompt, n, seed())
	}
	if err != nil || q.StopReason != tinker.StopLength {
		return q, forced, full, err
	}
	if b.open(text, r.Renderer.Decode(q.Tokens)) {
		end, err := r.Renderer.Encode(b.end)
		if err != nil {
			return q, forced, full, err
		}
		if n := len(q.Tokens); b.room(r, prompt, n+len(end)) > 0 {
			forced = [2]int{n, n + len(end)}
			q.Tokens, q.Logprobs = append(q.Tokens, end...), append(q.Logprobs, make([]float32, len(end))...)
		}
	}
	left := b.room(r, prompt, len(q.Tokens))
	if left <= 0 {
		return q, forced, len(q.Tokens) != r.Params.MaxTokens, nil
	}
	rest, full, err := r.sampleOne(ctx, slices.Concat(prompt, q.Tokens), left, seed())
	q.Tokens, q.Logprobs = append(q.Tokens, rest.Tokens...), append(q.Logprobs, rest.Logprobs...)
	q.StopReason = rest.StopReason
	return q, forced, full, err
}

// room is how many tokens an answer may have after its first n.
func (budget) room(r *Rollout, prompt []int32, n int) int {
	left := math.MaxInt32
	if most := r.Params.MaxTokens; most > 0 {
		left = most - n
	}
	if context, bounded := r.left(len(prompt) + n); bounded {
		left = min(left, context)
	}
	return left
}

// rowMessages is the conversation of a row.
func rowMessages(t Task) (list []chat.Message, err error) {
	value, _ := t.Row.Get("messages")
	items, ok := value.([]any)
	if !ok || len(items) == 0 {
		return nil, fmt.Errorf("workflow: thinking_budget_workflow reads the column messages, a list; row %d has %v",
			t.Index, t.Row.Columns())
	}
	for _, item := range items {
		row, _ := item.(dataset.Row)
		role, _ := row.Get("role")
		content, ok := row.Get("content")
		if text, isText := content.(string); ok && isText {
			list = append(list, chat.Message{Role: fmt.Sprint(role), Content: text})
			continue
		}
		return nil, fmt.Errorf("workflow: thinking_budget_workflow: row %d: a message is %v; it must have a role and "+
			"a text as content", t.Index, item)
	}
	return list, nil
}
