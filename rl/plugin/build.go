package plugin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// experiences builds the experiences that a workflow returned, from the records.
func (s *session) experiences(ctx context.Context, list []returned, part Part) ([]*experience.Experience, error) {
	s.takeCalls()
	out := make([]*experience.Experience, len(list))
	for i := range list {
		e, err := s.experience(ctx, &list[i])
		if err != nil {
			return nil, fmt.Errorf("experience %d of %d: %w", i, len(list), err)
		}
		run := s.run
		if part.Repeats {
			run = list[i].Run
		}
		draw := rng.New(s.seed).Stream("eid", i)
		e.EID = experience.EID{Batch: s.task.Batch, Task: s.task.ID, Run: run, Step: list[i].Step,
			Suffix: experience.Suffix(draw.Uint64())}
		if t := list[i].Task; t != "" {
			e.EID.Task = t
		}
		if err := e.Validate(); err != nil {
			return nil, err
		}
		out[i] = e
	}
	return out, nil
}

// experience builds one.
func (s *session) experience(ctx context.Context, x *returned) (*experience.Experience, error) {
	e, err := s.sequence(ctx, x)
	if err != nil {
		return nil, err
	}
	if err := s.graded(e, x); err != nil {
		return nil, err
	}
	if x.Text != nil {
		e.PromptText = *x.Text
	}
	if x.Heard != nil {
		e.ResponseText = *x.Heard
	}
	if x.Truncate != nil {
		e.TruncateStatus = experience.TruncateStatus(*x.Truncate)
	}
	if m := messagesOf(x.Messages); m != "" {
		e.MessagesJSON = m
	}
	s.r.Stamp(e, s.task)
	return e, nil
}

// sequence is tokens, logprobs and mask.
func (s *session) sequence(ctx context.Context, x *returned) (*experience.Experience, error) {
	if x.Ref != nil && *x.Ref == auxiliary {
		return nil, errors.New("it is the answer of an auxiliary model, whose tokens are not the trained " +
			"model's")
	}
	var r *record
	if x.Ref != nil {
		if r = s.find(*x.Ref); r == nil {
			return nil, errors.New("it was sampled in another run of a workflow; an experience must be returned " +
				"by the run that sampled it")
		}
		if err := r.unchanged(x); err != nil {
			return nil, err
		}
	}
	if r == nil || x.Prompt != len(r.prompt) {
		return s.byHand(ctx, x, r)
	}
	turn := experience.Turn{Prompt: r.prompt, Response: r.sampled, Logprobs: r.logprobs, Text: r.heard,
		Stop: experience.StopReason(r.stop)}
	if r.cut {
		turn.Stop = experience.StopPromptTruncated
	}
	e := turn.Experience(experience.EID{})
	e.PromptText, e.Metrics = r.text, map[string]float64{}
	if r.capped {
		e.Metrics[workflow.OutOfRoom] = 1
	}
	if r.mask != nil {
		copy(e.ActionMask, r.mask)
	}
	if x.Mask == nil {
		return e, nil
	}
	if len(x.Mask) != len(r.sampled) {
		return nil, fmt.Errorf("its action_mask has %d entries for %d tokens of the answer", len(x.Mask),
			len(r.sampled))
	}
	for i, on := range x.Mask {
		if on && r.mask != nil && !r.mask[i] && !r.cut { // the workflow trains more of a conversation than it marked
			return s.byHand(ctx, x, r)
		}
		e.ActionMask[i] = on && !r.cut
	}
	return e, nil
}

func (s *session) find(ref int) *record {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ref < 0 || ref >= len(s.records) {
		return nil
	}
	return s.records[ref]
}

// unchanged refuses other tokens or logprobs than were sampled.
func (r *record) unchanged(x *returned) error {
	if x.Tokens != nil && !slices.Equal(x.Tokens, int32s(r.tokens())) {
		return fmt.Errorf("its tokens are not those that were sampled (%q): build a new Experience for other tokens",
			brief(r.heard))
	}
	if x.Logprobs != nil && !slices.EqualFunc(x.Logprobs, r.logprobs, sameBits) {
		return fmt.Errorf("its logprobs are not those that were sampled (%q): leave them as they are, and use "+
			"action_mask to train less", brief(r.heard))
	}
	return nil
}

func sameBits(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }

func brief(text string) string {
	if r := []rune(text); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return text
}

// byHand is an experience that the workflow put together. Its logprobs are always computed from the weights.
func (s *session) byHand(ctx context.Context, x *returned, r *record) (*experience.Experience, error) {
	tokens, prompt, mask := []int32(x.Tokens), x.Prompt, x.Mask
	if tokens == nil && r != nil {
		tokens = r.tokens()
	}
	if len(tokens) == 0 {
		return nil, errors.New("it has no tokens")
	}
	if len(tokens) == 1 { // nothing is trained, and a sequence needs a token after its first
		tokens = append(tokens, tokens[0])
		prompt, mask = 1, bools{false}
	}
	if prompt < 0 || prompt > len(tokens) {
		return nil, fmt.Errorf("its prompt_length is %d, and it has %d tokens", prompt, len(tokens))
	}
	if n := len(tokens) - prompt; mask != nil && len(mask) != n {
		return nil, fmt.Errorf("its action_mask has %d entries for %d tokens after prompt_length %d", len(mask), n,
			prompt)
	}
	if prompt == 0 { // the first token has no probability
		prompt = 1
		if mask != nil {
			mask = mask[1:]
		}
	}
	trained := make([]bool, len(tokens))
	for i := prompt; i < len(tokens); i++ {
		trained[i] = mask == nil || mask[i-prompt]
	}
	logprobs := make([]float32, len(tokens))
	if !s.evaluates() {
		var err error
		if logprobs, err = s.exact(ctx, tokens, trained); err != nil {
			return nil, err
		}
	}
	e := &experience.Experience{Tokens: slices.Clone(tokens), PromptLength: prompt, Metrics: map[string]float64{},
		Logprobs: slices.Clone(logprobs[prompt:]), ActionMask: slices.Clone(trained[prompt:]),
		StopReason: experience.StopReason(tinker.StopStop)}
	return e, nil
}

func (s *session) evaluates() bool { return strings.HasPrefix(s.task.Batch, "eval/") }

// graded takes over the reward and the metrics.
func (s *session) graded(e *experience.Experience, x *returned) error {
	for name, v := range x.Metrics {
		if name == "reward" { // the reward itself is one
			continue
		}
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("its metric %q is %v; metrics must be finite numbers", name, f)
		}
		e.Metrics[name] = float64(v)
	}
	if x.Rewards != nil {
		if len(x.Rewards) != e.ResponseLength() {
			return fmt.Errorf("its token_level_reward has %d numbers for %d tokens of the answer", len(x.Rewards),
				e.ResponseLength())
		}
		e.TokenRewards = slices.Clone(x.Rewards)
	}
	switch {
	case x.Reward == nil && (s.evaluates() || s.r.Model.Ungraded):
		return nil
	case x.Reward == nil:
		return errors.New("it has no reward; the workflow must set experience.reward to a number")
	}
	v := float64(*x.Reward)
	if !experience.Finite(v) {
		return fmt.Errorf("its reward is %v; it must be a finite number", v)
	}
	e.SetReward(v)
	return nil
}
