// Package supervised turns rows of a data set into experiences to learn from: conversations whose answers are trained
// (sft), pairs of a chosen and a rejected answer (dpo), and plain texts (cpt). Nobody sampled them, so they have no
// logprobs.
package supervised

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/jinja"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// Examples reads the rows of a data set, batch by batch. It is for one goroutine.
type Examples struct {
	Rows   *dataset.Source
	Reader *dataset.Reader // the order, and the position in it
	Format dataset.Format

	Tokenizer *tokenizer.Tokenizer
	Template  *chat.Template
	Thinking  *bool  // enable_thinking of the template; nil leaves it open
	ToolsKey  string // the column of the tools at hand; "" for none
	MaxTokens int    // longer rows are cut; 0: no limit is known

	Pairs bool // each row is two experiences: chosen, rejected
	Turns bool // every answer of a conversation is trained, not the last alone
	Plain bool // each row is a text, in the column Format.PromptKey, and all of it is trained

	Warn func(string) // told of a row that trains nothing, and once of a template's other prompt

	told bool // of the prompt
}

// Next returns the experiences of the next batch of rows, or dataset.ErrEnd.
func (s *Examples) Next() ([]*experience.Experience, error) {
	items, err := s.Reader.Next()
	if err != nil {
		return nil, err // dataset.ErrEnd among them
	}
	var list []*experience.Experience
	for _, it := range items {
		row, err := s.Row(it)
		if err != nil {
			return nil, err
		}
		list = append(list, row...)
	}
	return list, nil
}

// Row makes experiences of a row: one, or a pair.
func (s *Examples) Row(it dataset.Item) ([]*experience.Experience, error) {
	if s.Plain {
		return s.text(it)
	}
	var sides [][]chat.Message
	if s.Pairs {
		p, err := s.Format.Pair(s.Rows, it.Index)
		if err != nil {
			return nil, err
		}
		sides = [][]chat.Message{slices.Concat(p.Prompt, p.Chosen), slices.Concat(p.Prompt, p.Rejected)}
	} else {
		m, err := s.Format.Messages(s.Rows, it.Index)
		if err != nil {
			return nil, err
		}
		sides = [][]chat.Message{m}
	}
	var list []*experience.Experience
	for run, side := range sides {
		id := experience.EID{Batch: strconv.Itoa(it.Epoch), Task: strconv.Itoa(it.Index), Run: run}
		e, err := s.example(id, it.Index, side)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Rows.Place(it.Index), err)
		}
		e.Logprobs = nil // nobody sampled it
		e.Info.TaskIndex = it.Index
		list = append(list, e)
	}
	if s.Pairs && (masked(list[0]) || masked(list[1])) { // half a pair prefers nothing
		clear(list[0].ActionMask)
		clear(list[1].ActionMask)
	}
	return list, nil
}

func masked(e *experience.Experience) bool { return e.TruncateStatus == experience.PromptTruncated }

// example makes an experience of a conversation: its last message is the response, or every answer in it is trained
// (format.enable_concatenated_multi_turn).
func (s *Examples) example(id experience.EID, index int, list []chat.Message) (*experience.Experience, error) {
	o := chat.Options{EnableThinking: s.Thinking}
	var err error
	if o.Tools, err = s.tools(index); err != nil {
		return nil, err
	}
	if !s.Turns {
		return s.lastTurn(id, index, list, o)
	}
	c, err := s.Template.Conversation(s.Tokenizer, list, o)
	if err != nil {
		return nil, err
	}
	if c.PromptLength == 0 {
		return nil, errors.New("supervised: the row has no answer to train; drop it")
	}
	n := s.most(len(c.Tokens))
	if c.PromptLength >= n {
		return s.tooLong(id, index, c.Tokens[:n]), nil
	}
	e := experience.Turn{Prompt: c.Tokens[:c.PromptLength], Response: c.Tokens[c.PromptLength:n]}.Experience(id)
	copy(e.ActionMask, c.Mask[c.PromptLength:n])
	return e, nil
}

// tools are those that a row's conversation has at hand: a list, or a list written as JSON text.
func (s *Examples) tools(index int) (jinja.List, error) {
	if s.ToolsKey == "" {
		return nil, nil
	}
	row, err := s.Rows.Row(index)
	if err != nil {
		return nil, err
	}
	v, ok := row.Get(s.ToolsKey)
	if !ok || v == nil {
		return nil, nil
	}
	text, isText := v.(string)
	if !isText {
		raw, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		text = string(raw)
	}
	if text == "" {
		return nil, nil
	}
	decoded, err := jinja.DecodeJSON([]byte(text))
	list, ok := decoded.(jinja.List)
	if err != nil || !ok {
		return nil, fmt.Errorf("column %q must be a list of tools: %.80s", s.ToolsKey, text)
	}
	if len(list) == 0 {
		return nil, nil
	}
	return list, nil
}

// lastTurn makes an experience of a conversation whose last message is the response.
func (s *Examples) lastTurn(id experience.EID, index int, list []chat.Message,
	o chat.Options) (*experience.Experience, error) {
	shown, err := s.Template.Render(list, o)
	if err != nil {
		return nil, err
	}
	if role := list[len(list)-1].Role; role != "assistant" {
		return nil, fmt.Errorf("supervised: the last message of the row is of role %q and not of the assistant, so "+
			"there is no answer to train; drop it", role)
	}
	o.AddGenerationPrompt = true
	open, err := s.Template.Render(list[:len(list)-1], o)
	if err != nil {
		return nil, err
	}
	prompt, whole := s.Tokenizer.Encode(open, false), s.Tokenizer.Encode(shown, false)
	n := common(prompt, whole)
	if n == 0 || n >= len(whole) {
		return nil, errors.New("supervised: the row has no prompt, or no answer after it; drop it")
	}
	if !strings.HasPrefix(shown, open) {
		if err := s.sameHistory(open, shown, prompt[:n], list[:len(list)-1], o); err != nil {
			return nil, err
		}
	}
	s.tell(index, len(prompt), n)
	if whole = whole[:s.most(len(whole))]; n >= len(whole) {
		return s.tooLong(id, index, whole), nil
	}
	return experience.Turn{Prompt: whole[:n:n], Response: whole[n:]}.Experience(id), nil
}

// sameHistory refuses a row whose template shows the messages before the answer differently once the answer follows
// them: everything after the first difference is trained, and that would include the question. The tokens that begin
// the prompt and the conversation are alike. A prompt may lack or have more of what only ends a conversation: white
// space, special tokens.
func (s *Examples) sameHistory(prompt, whole string, alike []int32, history []chat.Message, o chat.Options) error {
	o.AddGenerationPrompt = false
	closed, err := s.Template.Render(history, o)
	if err != nil {
		return err
	}
	end := common([]byte(prompt), []byte(closed)) // of history in prompt; what opens the answer follows
	if common([]byte(prompt), []byte(whole)) >= end {
		return nil
	}
	from := min(len(s.Tokenizer.DecodeBytes(alike, false)), end)
	rest := s.Tokenizer.Encode(prompt[from:end], false)
	if strings.TrimSpace(s.Tokenizer.Decode(rest, true)) == "" {
		return nil
	}
	return fmt.Errorf("supervised: the chat template shows the messages before the answer differently when the answer "+
		"follows, so the question would be trained too; without the answer they continue with %.40q; if that is a "+
		"system prompt, put it into the first message of the user, or choose another template with "+
		"model.custom_chat_template, or drop the row", prompt[from:end])
}

// common is how many elements a and b begin with alike.
func common[T comparable](a, b []T) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// tell warns once if only n of the prompt's tokens begin the whole conversation. That is so if the template opens an
// answer differently from how it shows one: DeepSeek-R1's opens a thought.
func (s *Examples) tell(index, prompt, n int) {
	if n == prompt || s.told {
		return
	}
	s.told = true
	s.Warn(fmt.Sprintf("%s: the chat template's prompt for an answer has %d tokens, and %d of them begin the "+
		"whole conversation too; what the conversation has after those is trained, in this row and in others",
		s.Rows.Place(index), prompt, n))
}

// most is how many of n tokens are read.
func (s *Examples) most(n int) int {
	if s.MaxTokens > 0 {
		n = min(n, s.MaxTokens)
	}
	return n
}

// tooLong marks a row whose answer comes after the tokens that are read: nothing of it is trained, and it
// is counted.
func (s *Examples) tooLong(id experience.EID, index int, tokens []int32) *experience.Experience {
	s.Warn(fmt.Sprintf("%s: nothing of the answer is left within %d tokens (model.max_model_len, or the model's "+
		"context); the row trains nothing", s.Rows.Place(index), len(tokens)))
	last := len(tokens) - 1
	return experience.Turn{Prompt: tokens[:last], Response: tokens[last:],
		Stop: experience.StopPromptTruncated}.Experience(id)
}
