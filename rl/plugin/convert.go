package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
)

// convert makes a finished conversation one experience, in which the assistant's messages are trained. What was sampled
// here has the ids that were; the rest is encoded, and its logprobs are asked for.
func (s *session) convert(ctx context.Context, a *asking) (any, error) {
	text, spans, err := s.spans(a)
	if err != nil {
		return nil, err
	}
	if len(spans) == 0 {
		return nil, errors.New("the conversation has no message of the assistant, so there is nothing to train on")
	}
	tokens, trained, err := s.encode(text, spans)
	if err != nil {
		return nil, err
	}
	status, stop := experience.TruncateStatus(""), tinker.StopStop
	if most := s.r.Model.MaxTokens; most > 1 && len(tokens) > most-1 {
		tokens, trained = tokens[:most-1], trained[:most-1]
		status, stop = experience.ResponseTruncated, tinker.StopLength
	}
	first := 0
	for first < len(trained) && !trained[first] {
		first++
	}
	first = max(1, min(first, len(tokens)-1))
	logprobs, err := s.exact(ctx, tokens, trained)
	if err != nil {
		return nil, err
	}
	r := &record{text: text[:spans[0].from], heard: text[spans[0].from:], prompt: tokens[:first],
		sampled: tokens[first:], logprobs: logprobs[first:], mask: trained[first:], stop: stop}
	s.keep(r)
	out := r.answer()
	out.Truncate, out.Messages = string(status), a.Messages
	return out, nil
}

// span is a part of a text that the assistant wrote, with the end of its turn.
type span struct{ from, to int }

// spans renders a conversation up to its last message of the assistant, and finds where the assistant's messages are:
// those from the last user's message on, if the template mentions <think> and so drops earlier thoughts, else all.
func (s *session) spans(a *asking) (text string, list []span, err error) {
	messages, err := endpoint.ReadMessages(a.Messages)
	if err != nil {
		return "", nil, err
	}
	last := -1
	for i, m := range messages {
		if m.Role == "assistant" {
			last = i
		}
	}
	if last < 0 {
		return "", nil, nil
	}
	messages = messages[:last+1]
	full, ok := s.r.Renderer.(renderer)
	if !ok {
		return "", nil, errors.New("a model behind OpenAI's interface shows neither its tokens nor its template")
	}
	var o chat.Options
	if o.Tools, err = a.tools(); err != nil {
		return "", nil, err
	}
	if text, _, err = full.Render(messages, o); err != nil {
		return "", nil, err
	}
	for i, m := range messages {
		if m.Role != "assistant" {
			continue
		}
		open := o
		open.AddGenerationPrompt = true
		before, _, err := full.Render(messages[:i], open)
		if err != nil {
			return "", nil, err
		}
		upto, _, err := full.Render(messages[:i+1], o)
		if err != nil {
			return "", nil, err
		}
		if strings.HasPrefix(text, upto) && strings.HasPrefix(upto, before) {
			list = append(list, span{len(before), len(upto)}) // elsewhere the template changes earlier turns
		}
	}
	return text, list, nil
}

// encode gives the ids of a text up to the end of its last span, and which of them are trained: sampled ones, and
// all of spans that nobody sampled.
func (s *session) encode(text string, spans []span) (tokens []int32, trained []bool, err error) {
	at, sampled := 0, 0
	if best := s.longest(text); best != nil {
		tokens, trained = best.tokens(), s.sampledIn(best)
		at = len(best.text) + len(best.heard)
		if best.stop == tinker.StopStop && len(best.sampled) > 0 { // the text has the token that ends the answer, too
			at += s.lengthOf(text[at:], best.sampled[len(best.sampled)-1])
		}
		sampled = at
	}
	for _, p := range spans {
		for _, part := range []struct {
			to      int
			trained bool
		}{{p.from, false}, {p.to, p.from >= sampled}} {
			if part.to <= at || p.from < sampled && p == spans[len(spans)-1] {
				continue
			}
			ids, err := s.r.Renderer.Encode(text[at:part.to])
			if err != nil {
				return nil, nil, err
			}
			for range ids {
				trained = append(trained, part.trained)
			}
			tokens, at = append(tokens, ids...), part.to
		}
	}
	return tokens, trained, nil
}

// sampledIn says which tokens of a record were sampled, in it or in the answers that its prompt has.
func (s *session) sampledIn(r *record) []bool {
	tokens := r.tokens()
	out := make([]bool, len(tokens))
	for _, other := range s.known() {
		if other.mask == nil && begins(tokens, other) {
			for i := range other.sampled {
				out[len(other.prompt)+i] = true
			}
		}
	}
	return out
}

// lengthOf is how many bytes of a text its first token has, if that is the token id, else 0.
func (s *session) lengthOf(text string, id int32) int {
	ids, err := s.r.Renderer.Encode(text)
	if err != nil || len(ids) == 0 || ids[0] != id {
		return 0
	}
	for n := 1; n <= len(text); n++ {
		head, err := s.r.Renderer.Encode(text[:n])
		if err == nil && len(head) == 1 && head[0] == id {
			return n
		}
	}
	return 0
}

// begins reports whether tokens begin with a record's.
func begins(tokens []int32, r *record) bool {
	p, n := len(r.prompt), len(r.prompt)+len(r.sampled)
	return len(tokens) >= n && slices.Equal(tokens[:p], r.prompt) && slices.Equal(tokens[p:n], r.sampled)
}

// exact are the logprobs of the trained tokens, 0 of the others: from sampling if the tokens were sampled after the
// same prefix, else from the step's weights.
func (s *session) exact(ctx context.Context, tokens []int32, trained []bool) ([]float32, error) {
	out, known := make([]float32, len(tokens)), make([]bool, len(tokens))
	for _, r := range s.known() {
		if r.cut || !begins(tokens, r) {
			continue
		}
		for i, v := range r.logprobs {
			if r.mask == nil || r.mask[i] {
				out[len(r.prompt)+i], known[len(r.prompt)+i] = v, true
			}
		}
	}
	missing := false
	for i, on := range trained {
		if !on {
			out[i] = 0
		} else if i > 0 && !known[i] {
			missing = true
		}
	}
	if !missing {
		return out, nil
	}
	all, err := s.logprobs(ctx, tokens)
	if err != nil {
		return nil, err
	}
	for i, on := range trained {
		if on && i > 0 && !known[i] {
			out[i] = all[i-1]
		}
	}
	return out, nil
}

// messagesOf is a list of messages as text, "" for none.
func messagesOf(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	return string(raw)
}
