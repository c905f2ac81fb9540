package dataset

import (
	"errors"
	"fmt"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/jinja"
)

// Messages reads row index as a conversation to learn from: the list in MessagesKey, or system prompt (the
// column wins over the constant), prompt and response as a conversation of their own.
func (f Format) Messages(src *Source, index int) ([]chat.Message, error) {
	row, err := src.Row(index)
	if err != nil {
		return nil, err
	}
	if f.MessagesKey != "" {
		return f.conversation(src, index, row)
	}
	messages, err := f.opening(src, index, row)
	if err != nil {
		return nil, err
	}
	response, err := f.column(src, index, row, "response_key", f.ResponseKey)
	return append(messages, chat.Message{Role: "assistant", Content: response}), err
}

// opening is system prompt (the column wins over the constant) and prompt as a conversation.
func (f Format) opening(src *Source, index int, row Row) ([]chat.Message, error) {
	prompt, err := f.column(src, index, row, "prompt_key", f.PromptKey)
	if err != nil {
		return nil, err
	}
	system := f.SystemPrompt
	if f.SystemPromptKey != "" {
		if system, err = f.column(src, index, row, "system_prompt_key", f.SystemPromptKey); err != nil {
			return nil, err
		}
	}
	if system != "" {
		return []chat.Message{{Role: "system", Content: system}, {Role: "user", Content: prompt}}, nil
	}
	return []chat.Message{{Role: "user", Content: prompt}}, nil
}

// conversation reads the messages column: a list, or a list written as JSON text.
func (f Format) conversation(src *Source, index int, row Row) ([]chat.Message, error) {
	value, ok := row.Get(f.MessagesKey)
	if !ok {
		return nil, f.missing(src, index, row, "messages_key", f.MessagesKey)
	}
	if s, isText := value.(string); isText {
		var err error
		if value, err = Value([]byte(s)); err != nil {
			return nil, fmt.Errorf("dataset: %s: column %q is text that is not a JSON list of messages: %w: %s",
				src.Place(index), f.MessagesKey, err, excerpt([]byte(s)))
		}
	}
	list, ok := value.([]any)
	if !ok || len(list) == 0 {
		return nil, fmt.Errorf("dataset: %s: column %q must be a list of messages with role and content, and is not "+
			"or is empty", src.Place(index), f.MessagesKey)
	}
	messages, err := messageList(list)
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: column %q: %w", src.Place(index), f.MessagesKey, err)
	}
	return messages, nil
}

// message is a message with all that the chat template may show: the content as text, and every other member
// unchanged. A message with tool calls may have no content, or null, which templates tell from an empty text.
func message(item any) (m chat.Message, err error) {
	row, ok := item.(Row)
	if !ok {
		return m, fmt.Errorf("not an object: %v", item)
	}
	role, _ := row.Get("role")
	content, has := row.Get("content")
	calls, _ := row.Get("tool_calls")
	list, _ := calls.([]any)
	if m.Role, ok = role.(string); !ok || m.Role == "" || !has && len(list) == 0 {
		return m, fmt.Errorf("role and content are needed, the keys are %v", row.Columns())
	}
	if m.Content, err = contentText(content); err != nil {
		return m, err
	}
	if m.Extra, err = members(row); err != nil {
		return m, err
	}
	switch {
	case content == nil && len(list) > 0:
		m.Extra.Set("content", nil)
	case content == nil && m.Extra == nil && (m.Role == "user" || m.Role == "assistant"):
		return m, errors.New("the content is null; give the message a text, or remove the row")
	}
	return m, nil
}

// members are the members of a message besides role and content, such as tool_calls, reasoning_content and name; nil
// for none.
func members(row Row) (*jinja.Map, error) {
	var extra *jinja.Map
	for _, f := range row {
		if f.Key == "role" || f.Key == "content" || absent(f) {
			continue
		}
		raw, err := plainJSON(f.Value)
		if err != nil {
			return nil, err
		}
		v, err := jinja.DecodeJSON(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Key, err)
		}
		if extra == nil {
			extra = &jinja.Map{}
		}
		extra.Set(f.Key, v)
	}
	return extra, nil
}

// absent reports whether a member counts as none: a null, as parquet has one wherever another message has a member, and
// an empty list of tool calls, which the templates of Llama 3.1 and 3.2 refuse.
func absent(f Field) bool {
	list, isList := f.Value.([]any)
	return f.Value == nil || f.Key == "tool_calls" && isList && len(list) == 0
}

// contentText is the text of a message: a text, or the joined texts of a list of parts. Parts that are not text are
// refused.
func contentText(content any) (string, error) {
	parts, isList := content.([]any)
	if !isList {
		return text(content)
	}
	var all strings.Builder
	for i, part := range parts {
		row, _ := part.(Row)
		kind, typed := row.Get("type")
		if !typed {
			return text(content)
		}
		words, _ := row.Get("text")
		if s, ok := words.(string); ok && kind == "text" {
			all.WriteString(s)
			continue
		}
		return "", fmt.Errorf("part %d of the content is of type %v; the models here read text only, so leave such "+
			"rows or parts out", i, kind)
	}
	return all.String(), nil
}
