package workflow

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/reward"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// thinkPrompt asks for the form that math_reward looks at.
const thinkPrompt = `Solve the problem. First work it out inside <think> and </think>, then give the result alone ` +
	`inside <answer> and </answer>, in this form:
<think> the steps </think><answer> the result </answer>`

// Simple asks the model once and grades each answer.
type Simple struct{}

// Math is Simple with the prompt and the reward of mathematics (see WithDefaults).
type Math struct{ Simple }

// Prepare implements Preparer.
func (Math) Prepare(r *Rollout) error { return mathDefaults(r) }

// Run implements Workflow.
func (Simple) Run(ctx context.Context, r *Rollout, t Task) ([]*experience.Experience, error) {
	list, err := sample(ctx, r, t, messages(r, t))
	if err != nil {
		return nil, err
	}
	expected := reward.Expected(r.RewardName, t.Truth)
	// a reward may ask another program
	_, err = repeat(len(list), false, func(i int) ([]*experience.Experience, error) {
		if list[i].TruncateStatus == experience.PromptTruncated {
			return nil, nil
		}
		return nil, grade(r, t, list[i], expected)
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// sample asks the model with one request for all repetitions, so that they share the prompt's computation. The
// experiences have no reward yet, except that an over-long prompt has 0.
func sample(ctx context.Context, r *Rollout, t Task, messages []chat.Message) ([]*experience.Experience, error) {
	text, prompt, err := r.Renderer.Prompt(messages)
	if err != nil {
		return nil, err
	}
	if err := r.checkPrompt(fmt.Sprintf("the prompt of row %d", t.Index), prompt); err != nil {
		var list []*experience.Experience
		for run := range t.Repeat {
			e, ok := r.masked(t, run, err)
			if !ok {
				return nil, err
			}
			list = append(list, e)
		}
		return list, nil
	}
	params := r.Params
	params.Seed = &t.Seed
	res, capped, err := r.Ask(ctx, tinker.SampleRequest{Prompt: tinker.Text(prompt), NumSamples: t.Repeat,
		Params: params})
	if err != nil {
		return nil, err
	}
	var list []*experience.Experience
	told := noteMessages(messages)
	for i, seq := range res.Sequences {
		e := sampled(r, t, experience.EID{Batch: t.Batch, Task: t.ID, Run: i}, text, prompt, seq)
		e.Note = &experience.Note{Messages: told}
		if capped && seq.StopReason == tinker.StopLength {
			e.Metrics[OutOfRoom] = 1
		}
		list = append(list, e)
	}
	if len(list) == 0 {
		return nil, errors.New("workflow: the sampler returned no sequence")
	}
	return list, nil
}

func messages(r *Rollout, t Task) []chat.Message {
	var m []chat.Message
	if r.SystemPrompt != "" {
		m = append(m, chat.Message{Role: "system", Content: r.SystemPrompt})
	}
	m = append(m, chat.Message{Role: "user", Content: t.Prompt})
	if r.ReplyPrefix != "" {
		m = append(m, chat.Message{Role: "assistant", Content: r.ReplyPrefix})
	}
	return m
}

// sampled makes one sample an experience.
func sampled(r *Rollout, t Task, id experience.EID, text string, prompt []int32,
	seq tinker.SampledSequence) *experience.Experience {
	id.Suffix = experience.Suffix(t.Seed + uint64(id.Run))
	turn := experience.Turn{Prompt: prompt, Response: seq.Tokens, Logprobs: seq.Logprobs,
		Text: r.Renderer.Decode(seq.Tokens), Stop: experience.StopReason(seq.StopReason)}
	e := turn.Experience(id)
	e.PromptText = text
	if seq.StopReason == tinker.StopLength {
		e.TruncateStatus = experience.ResponseTruncated
	}
	e.Metrics = map[string]float64{}
	r.Stamp(e, t)
	return e
}

// grade sets the reward: the sum of the reward function's parts, which are metrics too.
func grade(r *Rollout, t Task, e *experience.Experience, expected string) error {
	stop := r.Grading.Grade()
	scores, err := r.Reward(reward.Sample{Prompt: t.Prompt, Response: r.ReplyPrefix + e.ResponseText, Truth: t.Truth,
		ResponseTokens: e.Response(), Args: r.RewardArgs, Columns: t.Row})
	stop()
	if err != nil {
		return fmt.Errorf("reward %s: %w", r.RewardName, err)
	}
	for _, s := range scores {
		e.Metrics[s.Name] = s.Value
	}
	e.SetReward(scores.Total())
	noteGrade(e, r, t, expected, scores)
	return nil
}

// Stamp notes which weights and which row an experience comes from.
func (r *Rollout) Stamp(e *experience.Experience, t Task) {
	e.Info.ModelVersion, e.Info.TaskIndex, e.Info.Seed = r.Version, t.Index, int64(t.Seed>>1)
}

// setAccuracy rewards a right answer with 1, a wrong one with 0.
func setAccuracy(e *experience.Experience, right bool) {
	accuracy := 0.0
	if right {
		accuracy = 1
	}
	e.Metrics["accuracy"] = accuracy
	e.SetReward(accuracy)
}

// truncated makes an experience of an over-long prompt, cut after its first token too many: nothing to train
// on, reward 0.
func truncated(r *Rollout, t Task, run int, prompt []int32) *experience.Experience {
	last := len(prompt) - 1
	turn := experience.Turn{Prompt: prompt[:last], Response: prompt[last:], Logprobs: []float32{0},
		Stop: experience.StopPromptTruncated}
	e := turn.Experience(experience.EID{Batch: t.Batch, Task: t.ID, Run: run,
		Suffix: experience.Suffix(t.Seed + uint64(run))})
	e.ActionMask[0] = false
	e.ResponseText = "[prompt truncated: nothing was sampled]"
	e.TruncateStatus = experience.PromptTruncated
	e.Metrics = map[string]float64{}
	e.SetReward(0)
	r.Stamp(e, t)
	return e
}
