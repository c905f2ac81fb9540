package workflow

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/experience"
	"github.com/seed-d9ad8ee0/trinity/reward"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// thinkPrompt asks for the form that math_reward looks at.
const thinkPrompt = `Solve the problem. First work it out inside <think> and </think>, then give the result alone inside <answer> and </answer>, in this form:
<think> the steps </think><answer> the result </answer>`

// Simple asks the model once and grades each answer.
type Simple struct{}

// Math is Simple with the prompt and the reward of mathematics (see WithDefaults).
type Math struct{ Simple }

// Run implements Workflow: one request with all repetitions, so that they share the prompt's computation.
func (Simple) Run(ctx context.Context, r *Rollout, t Task) ([]*experience.Experience, error) {
	text, prompt, err := r.Renderer.Prompt(messages(r, t))
	if err != nil {
		return nil, err
	}
	if r.MaxPrompt > 0 && len(prompt) > r.MaxPrompt {
		if !r.Truncate {
			return nil, fmt.Errorf("workflow: the prompt of row %d has %d tokens, above max_prompt_tokens %d; raise it, or set enable_prompt_truncation", t.Index, len(prompt), r.MaxPrompt)
		}
		return truncated(r, t, prompt), nil
	}
	params := r.Params
	params.Seed = &t.Seed
	f, err := r.Sampler.Sample(ctx, tinker.SampleRequest{Prompt: tinker.Text(prompt), NumSamples: t.Repeat, Params: params})
	if err != nil {
		return nil, fmt.Errorf("sample: %w", err)
	}
	res, err := f.Wait(ctx)
	if err != nil {
		return nil, fmt.Errorf("sample: %w", err)
	}
	var list []*experience.Experience
	for i, seq := range res.Sequences {
		e, err := graded(r, t, i, text, prompt, seq)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	if len(list) == 0 {
		return nil, errors.New("workflow: the sampler returned no sequence")
	}
	return list, nil
}

func messages(r *Rollout, t Task) []Message {
	var m []Message
	if r.SystemPrompt != "" {
		m = append(m, Message{"system", r.SystemPrompt})
	}
	m = append(m, Message{"user", t.Prompt})
	if r.ReplyPrefix != "" {
		m = append(m, Message{"assistant", r.ReplyPrefix})
	}
	return m
}

// graded makes one sample an experience with its reward.
func graded(r *Rollout, t Task, run int, text string, prompt []int32, seq tinker.SampledSequence) (*experience.Experience, error) {
	response := r.Renderer.Decode(seq.Tokens)
	turn := experience.Turn{Prompt: prompt, Response: seq.Tokens, Logprobs: seq.Logprobs, Text: response, Stop: experience.StopReason(seq.StopReason)}
	e := turn.Experience(experience.EID{Batch: t.Batch, Task: t.ID, Run: run, Suffix: experience.Suffix(t.Seed + uint64(run))})
	e.PromptText = text
	if seq.StopReason == tinker.StopLength {
		e.TruncateStatus = experience.ResponseTruncated
	}
	stamp(e, r, t)
	scores, err := r.Reward(reward.Sample{Prompt: t.Prompt, Response: r.ReplyPrefix + response, Truth: t.Truth, ResponseTokens: seq.Tokens, Args: r.RewardArgs})
	if err != nil {
		return nil, fmt.Errorf("reward %s: %w", r.RewardName, err)
	}
	sum := 0.0
	e.Metrics = map[string]float64{}
	for _, s := range scores {
		e.Metrics[s.Name] = s.Value
		sum += s.Value
	}
	e.SetReward(sum)
	return e, nil
}

func stamp(e *experience.Experience, r *Rollout, t Task) {
	e.Info.ModelVersion, e.Info.TaskIndex, e.Info.Seed = r.Version, t.Index, int64(t.Seed>>1)
}

// truncated makes the experiences of an over-long prompt: its first MaxPrompt+1 tokens, nothing to train on, reward 0.
func truncated(r *Rollout, t Task, prompt []int32) []*experience.Experience {
	list := make([]*experience.Experience, t.Repeat)
	for i := range list {
		turn := experience.Turn{Prompt: prompt[:r.MaxPrompt], Response: prompt[r.MaxPrompt : r.MaxPrompt+1], Logprobs: []float32{0}, Stop: experience.StopPromptTruncated}
		e := turn.Experience(experience.EID{Batch: t.Batch, Task: t.ID, Run: i, Suffix: experience.Suffix(t.Seed + uint64(i))})
		e.ActionMask[0] = false
		e.ResponseText = "[prompt truncated: nothing was sampled]"
		e.TruncateStatus = experience.PromptTruncated
		e.Metrics = map[string]float64{}
		e.SetReward(0)
		stamp(e, r, t)
		list[i] = e
	}
	return list
}
