package translate

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

// chatMessage is a message of a chat, as readMessages reads it.
type chatMessage struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	Reasoning  string     `json:"reasoning_content,omitempty"`
	ToolCalls  []chatTool `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	IsError    bool       `json:"is_error,omitempty"`
}

// chatTool is a tool of a chat or a call of one.
type chatTool struct {
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type"` // function
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // of a tool: its JSON schema
	Arguments   string          `json:"arguments,omitempty"`  // of a call: JSON
}

// anthropicMessages reads system and messages as the messages of a chat.
func anthropicMessages(f param.Fields) (json.RawMessage, error) {
	var out []chatMessage
	if raw, ok := f["system"]; ok {
		delete(f, "system")
		text, err := readText(raw)
		if err != nil {
			return nil, param.Within("system", err)
		}
		out = append(out, chatMessage{Role: "system", Content: text})
	}
	var list []json.RawMessage
	there, err := f.Take("messages", &list)
	if err != nil {
		return nil, param.Invalid("messages", "messages must be a list with at least one message")
	}
	if !there || len(list) == 0 {
		return nil, param.Invalid("messages", "messages must be a list with at least one message")
	}
	for i, raw := range list {
		more, err := turn(raw)
		if err != nil {
			return nil, param.Within(fmt.Sprintf("messages[%d]", i), err)
		}
		out = append(out, more...)
	}
	return param.Encoded(out), nil
}

// turn reads a message of Anthropic's as one or more of a chat: results of tools are messages of their own there.
func turn(raw json.RawMessage) ([]chatMessage, error) {
	m, err := param.ReadObject(raw)
	if err != nil {
		return nil, err
	}
	role := ""
	if _, err := m.Take("role", &role); err != nil {
		return nil, err
	}
	content, ok := m["content"]
	delete(m, "content")
	if err := m.Refuse(nil, nil); err != nil {
		return nil, err
	}
	switch {
	case role != "user" && role != "assistant" && role != "system":
		return nil, param.Invalid("", "role is %q; it must be user, assistant or system", role)
	case !ok:
		return nil, param.Invalid("", "content is missing")
	}
	var list []json.RawMessage
	if json.Unmarshal(content, &list) != nil || role == "system" {
		text, err := readText(content)
		return []chatMessage{{Role: role, Content: text}}, err
	}
	t := turns{role: role}
	for i, raw := range list {
		if err := t.add(raw); err != nil {
			return nil, param.Within(fmt.Sprintf("content[%d]", i), err)
		}
	}
	return t.end(), nil
}

// turns makes messages of the blocks of one.
type turns struct {
	role string
	out  []chatMessage
	open bool // the last of out continues
}

// add reads the next block.
func (t *turns) add(raw json.RawMessage) error {
	b, err := param.ReadObject(raw)
	if err != nil {
		return err
	}
	kind := ""
	if _, err := b.Take("type", &kind); err != nil {
		return err
	}
	switch {
	case kind == "text":
		text, err := textBlock(b)
		t.last().Content += text
		return err
	case kind == "tool_result" && t.role == "user":
		return t.result(b)
	case kind == "tool_use" && t.role == "assistant":
		return t.call(b)
	case kind == "thinking" && t.role == "assistant":
		thought, signature := "", ""
		_, err1 := b.Take("thinking", &thought)
		_, err2 := b.Take("signature", &signature) // nothing is trusted because of it
		t.last().Reasoning += thought
		return errors.Join(err1, err2, b.Refuse(blockLabels, blockUnsupported))
	}
	return param.Invalid("", "a block of type %q cannot be read in a message of role %s; text and tool_result are "+
		"read from a user, text, thinking and tool_use from an assistant", kind, t.role)
}

// blockLabels are members of blocks and tools that do not change a prompt.
var blockLabels = []string{"cache_control", "eager_input_streaming", "defer_loading", "strict"}

// blockUnsupported are members of blocks and tools that are refused unless they ask for what happens anyway.
var blockUnsupported = param.Refusals{
	"citations":       {[]string{"[]", `{"enabled":false}`}, "leave it out"},
	"caller":          {[]string{`{"type":"direct"}`}, "nothing is executed here"},
	"toolset_name":    {nil, "give the tools one by one"},
	"allowed_callers": {[]string{`["direct"]`}, "nothing is executed here"},
	"input_examples":  {[]string{"[]"}, "put them into the description"},
}

// last is the message that text goes to.
func (t *turns) last() *chatMessage {
	if !t.open {
		t.out, t.open = append(t.out, chatMessage{Role: t.role}), true
	}
	return &t.out[len(t.out)-1]
}

// result reads a block of type tool_result.
func (t *turns) result(b param.Fields) error {
	m := chatMessage{Role: "tool"}
	_, err1 := b.Take("tool_use_id", &m.ToolCallID)
	_, err2 := b.Take("is_error", &m.IsError)
	var err3 error
	if raw, ok := b["content"]; ok {
		delete(b, "content")
		if m.Content, err3 = readText(raw); err3 != nil {
			err3 = param.Within("content", err3)
		}
	}
	t.out, t.open = append(t.out, m), false
	return errors.Join(err1, err2, err3, b.Refuse(blockLabels, blockUnsupported))
}

// call reads a block of type tool_use.
func (t *turns) call(b param.Fields) error {
	c := chatTool{Type: "function"}
	c.Function.Arguments = takeArguments(b, "input")
	_, err1 := b.Take("id", &c.ID)
	_, err2 := b.Take("name", &c.Function.Name)
	var err3 error
	if c.Function.Name == "" {
		err3 = param.Invalid("", "name is missing")
	}
	m := t.last()
	m.ToolCalls = append(m.ToolCalls, c)
	return errors.Join(err1, err2, err3, b.Refuse(blockLabels, blockUnsupported))
}

// end returns the messages. A message without blocks is an empty one.
func (t *turns) end() []chatMessage {
	if len(t.out) == 0 {
		t.last()
	}
	return t.out
}

// textBlock reads a block of type text.
func textBlock(b param.Fields) (text string, err error) {
	there, err := b.Take("text", &text)
	if err == nil && !there {
		err = param.Invalid("", "text is missing")
	}
	return text, errors.Join(err, b.Refuse(blockLabels, blockUnsupported))
}

// readText reads a text, or a list of blocks of text.
func readText(raw json.RawMessage) (string, error) {
	one := ""
	if json.Unmarshal(raw, &one) == nil {
		return one, nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return "", param.Invalid("", "%s must be a text or a list of blocks", param.Brief(raw))
	}
	var all strings.Builder
	for i, raw := range list {
		b, err := param.ReadObject(raw)
		if err != nil {
			return "", param.Within(fmt.Sprintf("[%d]", i), err)
		}
		kind := ""
		if _, err := b.Take("type", &kind); err != nil || kind != "text" {
			return "", param.Invalid("", "[%d]: a block of type %q cannot be read here; only text is", i, kind)
		}
		text, err := textBlock(b)
		if err != nil {
			return "", param.Within(fmt.Sprintf("[%d]", i), err)
		}
		all.WriteString(text)
	}
	return all.String(), nil
}
