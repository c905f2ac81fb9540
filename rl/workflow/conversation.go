package workflow

import (
	"context"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// conversation is an episode of several turns as one experience: the model reads exactly the tokens that it
// wrote, so the episode can be trained on as it was sampled. Tokens that it did not write are masked. If the
// chat template changes earlier turns, the episode continues in a new sequence (chat.Sequence.Next).
type conversation struct {
	r        *Rollout
	messages []chat.Message
	seq      chat.Sequence // the present one
	next     reading       // what the model reads for its next answer
	opening  string        // the first prompt, rendered
	prompt   int           // tokens of it

	tokens   []int32 // of all sequences, one after another
	starts   []int   // where in tokens a further sequence begins
	logprobs []float32
	mask     []bool
	answers  []string
	stop     tinker.StopReason
	full     bool // the context ended the last answer
}

// reading is a rendered conversation with its tokens; continues says that they begin with all of the present sequence.
type reading struct {
	text      string
	tokens    []int32
	continues bool
}

// say adds a message and renders the conversation up to the point where the model continues.
func (c *conversation) say(m chat.Message) error {
	c.messages = append(c.messages, m)
	if m.Role == "system" {
		return nil
	}
	text, whole, err := c.r.Renderer.Prompt(c.messages)
	if err != nil {
		return err
	}
	c.next.text = text
	c.next.tokens, c.next.continues, err = c.seq.Next(text, func(part string) ([]int32, error) {
		if part == text {
			return whole, nil
		}
		return c.r.Renderer.Encode(part)
	})
	if len(c.answers) == 0 {
		c.opening, c.prompt = text, len(whole)
	}
	return err
}

// room is how many tokens an answer may have so that all that follows the first prompt stays within limit, and
// the sequence within the model's context.
func (c *conversation) room(limit int) (int, error) {
	n := limit - (len(c.next.tokens) - c.prompt)
	if left, bounded := c.r.left(len(c.next.tokens)); bounded {
		n = min(n, left)
	}
	return n, c.checkPrompt()
}

// checkPrompt refuses a first prompt that nothing is sampled for.
func (c *conversation) checkPrompt() error {
	if len(c.answers) > 0 {
		return nil
	}
	return c.r.checkPrompt("the first prompt", c.next.tokens)
}

// answer samples the model's next turn of at most n tokens; 0 is as many as the context takes.
func (c *conversation) answer(ctx context.Context, n int, seed uint64) (string, error) {
	if err := c.checkPrompt(); err != nil {
		return "", err
	}
	q, full, err := c.r.sampleOne(ctx, c.next.tokens, n, seed)
	if err != nil {
		return "", err
	}
	text := c.r.Renderer.Decode(q.Tokens)
	c.read()
	c.append(q.Tokens, q.Logprobs, true)
	c.seq.Record(c.next.tokens, c.next.text, q.Tokens, text, q.StopReason == tinker.StopStop)
	c.stop, c.full = q.StopReason, full
	c.answers = append(c.answers, text)
	c.messages = append(c.messages, chat.Message{Role: "assistant", Content: text})
	return text, nil
}

// read takes up what the model has read since its last answer.
func (c *conversation) read() {
	switch known := len(c.seq.Tokens); {
	case len(c.answers) == 0:
		c.tokens = append(c.tokens, c.next.tokens...) // the prompt, which has neither logprobs nor a mask
	case c.next.continues:
		c.append(c.next.tokens[known:], nil, false)
	default:
		c.starts = append(c.starts, len(c.tokens))
		c.append(c.next.tokens, nil, false)
	}
}

// append adds tokens after the prompt, which the model wrote or read.
func (c *conversation) append(tokens []int32, logprobs []float32, wrote bool) {
	if !wrote {
		logprobs = make([]float32, len(tokens))
	}
	c.tokens, c.logprobs = append(c.tokens, tokens...), append(c.logprobs, logprobs...)
	for range tokens {
		c.mask = append(c.mask, wrote)
	}
}

// unanswered takes up the last message of a conversation that was cut for want of room, as far as it continues
// the sequence and is known to fit into the context.
func (c *conversation) unanswered() {
	if left, bounded := c.r.left(len(c.next.tokens)); c.next.continues && bounded && left >= 0 {
		c.read()
	}
}

// experience is the whole conversation. One that was cut for want of room gets no reward.
func (c *conversation) experience(t Task, run int, reward float64, cut bool) *experience.Experience {
	if cut {
		c.unanswered()
	}
	id := experience.EID{Batch: t.Batch, Task: t.ID, Run: run, Suffix: experience.Suffix(t.Seed + uint64(run))}
	turn := experience.Turn{Prompt: c.tokens[:c.prompt], Response: c.tokens[c.prompt:], Logprobs: c.logprobs,
		Text: strings.Join(c.answers, "\n"), Stop: experience.StopReason(c.stop)}
	e := turn.Experience(id)
	copy(e.ActionMask, c.mask)
	e.PromptText, e.Starts = c.opening, c.starts
	e.Metrics = map[string]float64{}
	if cut || c.stop == tinker.StopLength {
		e.TruncateStatus, reward = experience.ResponseTruncated, 0
	}
	if cut || c.full {
		e.Metrics[OutOfRoom] = 1
	}
	if n := len(c.starts); n > 0 {
		e.Metrics[NewSequences] = float64(n)
	}
	e.SetReward(reward)
	e.Note = &experience.Note{Messages: noteMessages(c.messages), Turns: len(c.answers)}
	c.r.Stamp(e, t)
	return e
}
