package translate

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

// ResponseMessages reads instructions and input as the messages of a chat.
func ResponseMessages(f param.Fields) (json.RawMessage, error) {
	instructions := ""
	there, err := f.Take("instructions", &instructions)
	if err != nil {
		return nil, err
	}
	var c items
	if there {
		c.out = append(c.out, chatMessage{Role: "system", Content: instructions})
	}
	raw, ok := f["input"]
	if !ok {
		return nil, param.Invalid("input", "input is missing")
	}
	delete(f, "input")
	text := ""
	var list []json.RawMessage
	switch {
	case json.Unmarshal(raw, &text) == nil:
		c.out = append(c.out, chatMessage{Role: "user", Content: text})
	case json.Unmarshal(raw, &list) != nil || len(list) == 0:
		return nil, param.Invalid("input", "input is %s; it must be a text or a list of items", param.Brief(raw))
	}
	for i, raw := range list {
		if err := c.add(raw); err != nil {
			return nil, param.Within(fmt.Sprintf("input[%d]", i), err)
		}
	}
	return param.Encoded(c.out), nil
}

// items makes messages of items: thoughts, text and calls of an assistant that follow each other are one message.
type items struct {
	out  []chatMessage
	open bool // the last of out is an assistant's and continues
}

// itemLabels are members of items that do not change a prompt.
var itemLabels = []string{"id", "status", "phase", "encrypted_content", "summary"}

// add reads the next item.
func (c *items) add(raw json.RawMessage) error {
	b, err := param.ReadObject(raw)
	if err != nil {
		return err
	}
	kind := "message"
	if _, err := b.Take("type", &kind); err != nil {
		return err
	}
	switch kind {
	case "message":
		err = c.message(b)
	case "reasoning":
		err = c.reasoning(b)
	case "function_call":
		err = c.call(b)
	case "function_call_output":
		err = c.result(b)
	default:
		return param.Invalid("", "an item of type %q is not known here; message, reasoning, function_call and "+
			"function_call_output are", kind)
	}
	return errors.Join(err, b.Refuse(itemLabels, blockUnsupported))
}

// message reads an item of type message.
func (c *items) message(b param.Fields) error {
	role := ""
	if _, err := b.Take("role", &role); err != nil {
		return err
	}
	switch role {
	case "user", "assistant", "system", "developer":
	default:
		return param.Invalid("", "role is %q; it must be user, assistant, system or developer", role)
	}
	raw, ok := b["content"]
	if !ok {
		return param.Invalid("", "content is missing")
	}
	delete(b, "content")
	text, err := partsOf(raw, "input_text", "output_text", "text", "refusal")
	if err != nil {
		return err
	}
	m := &chatMessage{Role: role}
	if role == "assistant" {
		m = c.assistant(func(m *chatMessage) bool { return m.Content == "" && m.ToolCalls == nil })
	} else {
		c.out, c.open = append(c.out, *m), false
		m = &c.out[len(c.out)-1]
	}
	m.Content = text
	return nil
}

// assistant is the assistant's message that the next item belongs to: the last one if it continues and fits.
func (c *items) assistant(fits func(*chatMessage) bool) *chatMessage {
	if !c.open || !fits(&c.out[len(c.out)-1]) {
		c.out, c.open = append(c.out, chatMessage{Role: "assistant"}), true
	}
	return &c.out[len(c.out)-1]
}

// reasoning reads an item of type reasoning, with which an assistant's message begins.
func (c *items) reasoning(b param.Fields) error {
	m := c.assistant(func(*chatMessage) bool { return false })
	raw, ok := b["content"]
	if !ok {
		return nil
	}
	delete(b, "content")
	var err error
	m.Reasoning, err = partsOf(raw, "reasoning_text")
	return err
}

// call reads an item of type function_call.
func (c *items) call(b param.Fields) error {
	t := chatTool{Type: "function"}
	_, err1 := b.Take("call_id", &t.ID)
	_, err2 := b.Take("name", &t.Function.Name)
	t.Function.Arguments = takeArguments(b, "arguments")
	var err3 error
	if t.Function.Name == "" {
		err3 = param.Invalid("", "name is missing")
	}
	m := c.assistant(func(*chatMessage) bool { return true })
	m.ToolCalls = append(m.ToolCalls, t)
	return errors.Join(err1, err2, err3)
}

// takeArguments takes the arguments of a call as JSON, whatever they are: readCall makes an object of them.
func takeArguments(f param.Fields, name string) string {
	raw := f[name]
	delete(f, name)
	text := ""
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// result reads an item of type function_call_output.
func (c *items) result(b param.Fields) error {
	m := chatMessage{Role: "tool"}
	if _, err := b.Take("call_id", &m.ToolCallID); err != nil {
		return err
	}
	raw, ok := b["output"]
	if !ok {
		return param.Invalid("", "output is missing")
	}
	delete(b, "output")
	var err error
	m.Content, err = partsOf(raw, "input_text", "output_text", "text")
	c.out, c.open = append(c.out, m), false
	return err
}

// partsOf reads a text, or a list of parts of given types.
func partsOf(raw json.RawMessage, kinds ...string) (string, error) {
	one := ""
	if json.Unmarshal(raw, &one) == nil {
		return one, nil
	}
	var list []struct {
		Type          string
		Text, Refusal *string
	}
	if json.Unmarshal(raw, &list) != nil {
		return "", param.Invalid("", "%s must be a text or a list of parts", param.Brief(raw))
	}
	var all strings.Builder
	for i, p := range list {
		known := false
		for _, kind := range kinds {
			known = known || p.Type == kind
		}
		if p.Type == "refusal" {
			p.Text = p.Refusal
		}
		if !known || p.Text == nil {
			return "", param.Invalid("", "[%d]: a part of type %q cannot be read here; only %s with a text is", i,
				p.Type, strings.Join(kinds, ", "))
		}
		all.WriteString(*p.Text)
	}
	return all.String(), nil
}

// IncludeLogprobs is the value of include that asks for the logprobs of a message.
const IncludeLogprobs = "message.output_text.logprobs"

// ResponseInclude reads include and reports whether the logprobs of messages are asked for.
func ResponseInclude(f param.Fields) (logprobs bool, err error) {
	var list []string
	if _, err := f.Take("include", &list); err != nil {
		return false, err
	}
	for _, v := range list {
		switch v {
		case IncludeLogprobs:
			logprobs = true
		case "reasoning.encrypted_content": // thoughts are sent as they are
		default:
			return false, param.Invalid("include", "include has %q, which is not supported here; it may have %s and "+
				"reasoning.encrypted_content", v, IncludeLogprobs)
		}
	}
	return logprobs, nil
}

// ResponseTools reads tools and tool_choice into a chat.
func ResponseTools(f param.Fields, chat param.Fields) (notes []string, err error) {
	notes, err = takeTools(f, chat, "function", responseTool)
	raw, ok := f["tool_choice"]
	if err != nil || !ok {
		return notes, err
	}
	delete(f, "tool_choice")
	var named struct{ Type, Name string }
	if json.Unmarshal(raw, &named) == nil && named.Type == "function" && named.Name != "" {
		raw = param.Encoded(param.Object{"type": "function", "function": param.Object{"name": named.Name}})
	}
	chat["tool_choice"] = raw
	return notes, nil
}

// ResponseText reads text, the format of an answer and how much it says, and reasoning, how much is thought.
func ResponseText(f param.Fields, chat param.Fields) (notes []string, err error) {
	text, reasoning := param.Fields{}, param.Fields{}
	_, err1 := f.Take("text", &text)
	_, err2 := f.Take("reasoning", &reasoning)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	for _, x := range []struct {
		in    param.Fields
		name  string
		place string
	}{{text, "verbosity", "text"}, {reasoning, "effort", "reasoning"}, {reasoning, "summary", "reasoning"},
		{reasoning, "context", "reasoning"}} {
		said := ""
		if there, err := x.in.Take(x.name, &said); err != nil {
			return nil, param.Within(x.place, err)
		} else if there {
			notes = append(notes, x.place+"."+x.name+" has no effect")
		}
	}
	var format struct {
		Type   string
		Schema json.RawMessage
	}
	there, err := text.Take("format", &format)
	switch {
	case err != nil || !there || format.Type == "text":
	case format.Type == "json_object":
		chat["response_format"] = param.Encoded(param.Object{"type": format.Type})
	case format.Type != "json_schema" || format.Schema == nil:
		err = param.Invalid("", "format has the type %q; it must be text, json_object, or json_schema with a schema",
			format.Type)
	default:
		chat["response_format"] = schemaFormat(format.Schema)
	}
	return notes, errors.Join(param.Within("text", errors.Join(err, text.Refuse(nil, nil))),
		param.Within("reasoning", reasoning.Refuse(nil, nil)))
}

// responseTool reads a tool that the client runs.
func responseTool(b param.Fields) (chatTool, error) {
	out := chatTool{Type: "function"}
	schema := map[string]json.RawMessage{}
	out.Function.Parameters = b["parameters"]
	_, err1 := b.Take("name", &out.Function.Name)
	_, err2 := b.Take("description", &out.Function.Description)
	_, err3 := b.Take("parameters", &schema)
	if out.Function.Name == "" {
		err3 = errors.Join(err3, param.Invalid("", "name is missing"))
	}
	return out, errors.Join(err1, err2, err3, b.Refuse(blockLabels, blockUnsupported))
}
