package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
)

// Pair is one row to learn a preference from: a conversation up to the answer, and two ways to continue.
type Pair struct {
	Prompt           []chat.Message // ends before the answer
	Chosen, Rejected []chat.Message // one message or more, the last is the assistant's
}

// Pair reads row index as a preference. The prompt is the list in MessagesKey, or system prompt and prompt as a
// conversation; ChosenKey and RejectedKey name the answers: text, a message, or a list of messages (or that as JSON
// text), which may begin with the prompt again.
func (f Format) Pair(src *Source, index int) (Pair, error) {
	row, err := src.Row(index)
	if err != nil {
		return Pair{}, err
	}
	var p Pair
	if p.Prompt, err = f.prompt(src, index, row); err != nil {
		return Pair{}, err
	}
	if p.Chosen, err = f.answer(src, index, row, "chosen_key", f.ChosenKey, p.Prompt); err != nil {
		return Pair{}, err
	}
	p.Rejected, err = f.answer(src, index, row, "rejected_key", f.RejectedKey, p.Prompt)
	return p, err
}

// prompt reads the conversation up to the answer.
func (f Format) prompt(src *Source, index int, row Row) ([]chat.Message, error) {
	if f.MessagesKey != "" {
		return f.conversation(src, index, row)
	}
	return f.opening(src, index, row)
}

// answer reads one side of a pair.
func (f Format) answer(src *Source, index int, row Row, setting, key string,
	prompt []chat.Message) ([]chat.Message, error) {
	value, ok := row.Get(key)
	if !ok {
		return nil, f.missing(src, index, row, setting, key)
	}
	if value == nil {
		return nil, f.null(src, index, setting, key)
	}
	list, err := answerMessages(value)
	if err == nil {
		list, err = behind(prompt, list)
	}
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: column %q: %w", src.Place(index), key, err)
	}
	return list, nil
}

// behind is an answer without the prompt: many data sets have the whole conversation on either side of a pair. The
// system prompt may be missing there.
func behind(prompt, answer []chat.Message) ([]chat.Message, error) {
	first := answer[0].Role
	if first != "user" && first != "system" {
		return answer, nil
	}
	if prompt[0].Role == "system" && first == "user" {
		prompt = prompt[1:]
	}
	same := func(a, b chat.Message) bool {
		return a.Role == b.Role && strings.TrimSpace(a.Content) == strings.TrimSpace(b.Content)
	}
	n := len(prompt)
	if len(answer) <= n || !slices.EqualFunc(answer[:n], prompt, same) {
		return nil, fmt.Errorf("it begins with a message of role %s, so it is a whole conversation, and this does not "+
			"begin with the row's prompt; give the answer alone, or the same prompt", first)
	}
	return answer[n:], nil
}

func answerMessages(value any) ([]chat.Message, error) {
	switch v := value.(type) {
	case []any:
		return messageList(v)
	case Row:
		m, err := message(v)
		return []chat.Message{m}, err
	case string:
		var rows []Row
		if json.Unmarshal([]byte(v), &rows) == nil && len(rows) > 0 {
			list := make([]any, len(rows))
			for i, r := range rows {
				list[i] = r
			}
			return messageList(list)
		}
	}
	s, err := text(value)
	return []chat.Message{{Role: "assistant", Content: s}}, err
}

func messageList(items []any) ([]chat.Message, error) {
	if len(items) == 0 {
		return nil, errors.New("an empty list of messages; give at least the answer")
	}
	list := make([]chat.Message, len(items))
	for i, item := range items {
		m, err := message(item)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		list[i] = m
	}
	return list, nil
}
