package workflow

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// conversation is an episode of several turns as one sequence of tokens: the model reads exactly the tokens that it wrote, so the sequence can be
// trained on as it was sampled. What it did not write is masked.
type conversation struct {
	r        *Rollout
	messages []Message
	opening  string  // the first prompt, rendered
	text     string  // all of it, as far as the tokens go
	tokens   []int32 // of all turns
	prompt   int     // tokens before the first answer
	logprobs []float32
	mask     []bool
	answers  []string
	stop     tinker.StopReason
}

// say adds a message and renders what is new of the conversation, up to the point where the model goes on.
func (c *conversation) say(m Message) error {
	c.messages = append(c.messages, m)
	if m.Role == "system" {
		return nil
	}
	text, tokens, err := c.r.Renderer.Prompt(c.messages)
	if err != nil {
		return err
	}
	if len(c.answers) == 0 {
		c.opening, c.text, c.tokens, c.prompt = text, text, tokens, len(tokens)
		return nil
	}
	rest, ok := strings.CutPrefix(text, c.text)
	if !ok {
		return errors.New("workflow: the chat template changes earlier turns when a later one is added, so that a conversation is no one sequence of tokens; use another template")
	}
	tail, err := c.r.Renderer.Encode(rest)
	if err != nil {
		return err
	}
	if n := len(c.tokens); len(tail) > 0 && c.tokens[n-1] == tail[0] { // the answer's end, which the model wrote itself
		tail = tail[1:]
	}
	for _, token := range tail {
		c.tokens, c.logprobs, c.mask = append(c.tokens, token), append(c.logprobs, 0), append(c.mask, false)
	}
	c.text = text
	return nil
}

// room is how many tokens an answer may have so that all that follows the first prompt stays within limit.
func (c *conversation) room(limit int) int { return limit - (len(c.tokens) - c.prompt) }

// answer samples the model's next turn of at most n tokens.
func (c *conversation) answer(ctx context.Context, n int, seed uint64) (string, error) {
	if c.r.MaxPrompt > 0 && c.prompt > c.r.MaxPrompt {
		return "", tinker.Userf("workflow: the first prompt has %d tokens, above max_prompt_tokens %d; raise it", c.prompt, c.r.MaxPrompt)
	}
	params := c.r.Params
	params.Seed, params.MaxTokens = &seed, n
	f, err := c.r.Sampler.Sample(ctx, tinker.SampleRequest{Prompt: tinker.Text(c.tokens), NumSamples: 1, Params: params})
	if err != nil {
		return "", fmt.Errorf("sample: %w", err)
	}
	res, err := f.Wait(ctx)
	if err != nil {
		return "", fmt.Errorf("sample: %w", err)
	}
	if len(res.Sequences) != 1 {
		return "", errors.New("workflow: the sampler returned no sequence")
	}
	q := res.Sequences[0]
	text := c.r.Renderer.Decode(q.Tokens)
	c.tokens, c.logprobs, c.stop = append(c.tokens, q.Tokens...), append(c.logprobs, q.Logprobs...), q.StopReason
	for range q.Tokens {
		c.mask = append(c.mask, true)
	}
	c.text += text
	c.answers = append(c.answers, text)
	c.messages = append(c.messages, Message{"assistant", text})
	return text, nil
}

// experience is the whole conversation. One that was cut for want of room gets no reward.
func (c *conversation) experience(t Task, run int, reward float64, cut bool) *experience.Experience {
	id := experience.EID{Batch: t.Batch, Task: t.ID, Run: run, Suffix: experience.Suffix(t.Seed + uint64(run))}
	turn := experience.Turn{Prompt: c.tokens[:c.prompt], Response: c.tokens[c.prompt:], Logprobs: c.logprobs, Text: strings.Join(c.answers, "\n"), Stop: experience.StopReason(c.stop)}
	e := turn.Experience(id)
	copy(e.ActionMask, c.mask)
	e.PromptText = c.opening
	e.Metrics = map[string]float64{}
	if cut || c.stop == tinker.StopLength {
		e.TruncateStatus, reward = experience.ResponseTruncated, 0
	}
	e.SetReward(reward)
	stamp(e, c.r, t)
	return e
}
