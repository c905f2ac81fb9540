package endpoint

import (
	"encoding/json"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/jinja"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

// readMessages reads the messages of a chat.
func readMessages(raw json.RawMessage) ([]chat.Message, error) {
	v, err := jinja.DecodeJSON(raw)
	list, ok := v.(jinja.List)
	if err != nil || !ok || len(list) == 0 {
		return nil, param.Invalid("messages", "messages must be a list with at least one message")
	}
	out := make([]chat.Message, len(list))
	for i, item := range list {
		m, ok := item.(*jinja.Map)
		if !ok {
			return nil, param.Invalid("messages", "messages[%d] is not an object", i)
		}
		if out[i], err = readMessage(m); err != nil {
			return nil, param.Invalid("messages", "messages[%d]: %v", i, err)
		}
	}
	return out, nil
}

func readMessage(m *jinja.Map) (msg chat.Message, err error) {
	msg.Extra = &jinja.Map{}
	for key, value := range m.All() {
		name, _ := key.(string)
		switch name {
		case "role":
			msg.Role, _ = value.(string)
		case "content":
			if msg.Content, err = readContent(value); err != nil {
				return msg, err
			}
		case "reasoning_content", "reasoning":
			if text, ok := value.(string); ok {
				msg.Reasoning = text
			}
		case "tool_calls":
			calls, _ := value.(jinja.List)
			for _, c := range calls {
				msg.ToolCalls = append(msg.ToolCalls, readCall(c))
			}
		default:
			if value != nil {
				msg.Extra.Set(name, value)
			}
		}
	}
	switch msg.Role {
	case "":
		return msg, param.Invalid("", "role is missing")
	case "developer": // OpenAI's newer name of the same
		msg.Role = "system"
	}
	return msg, nil
}

// readContent reads a text, or a list of texts in parts.
func readContent(v jinja.Value) (string, error) {
	switch c := v.(type) {
	case nil:
		return "", nil
	case string:
		return c, nil
	case jinja.List:
		var b strings.Builder
		for _, item := range c {
			part, _ := item.(*jinja.Map)
			if part == nil {
				return "", param.Invalid("", "a part of content is not an object")
			}
			kind, _ := part.Get("type")
			name := "text"
			if kind == "refusal" {
				name = "refusal"
			}
			text, _ := part.Get(name)
			s, ok := text.(string)
			if !ok || !isTextPart(kind) {
				return "", param.Invalid("", "content has a part of type %v; only text is read", kind)
			}
			b.WriteString(s)
		}
		return b.String(), nil
	}
	return "", param.Invalid("", "content must be a text or a list of parts")
}

// isTextPart reports whether parts of a type say something in words. Whatever else a part has, such as the text beside
// an image, it is not read in place of it.
func isTextPart(kind jinja.Value) bool {
	switch kind {
	case nil, "text", "input_text", "output_text", "refusal":
		return true
	}
	return false
}

// readCall makes the arguments of a tool call, which the API has as a text of JSON, the object that templates expect. A
// model writes them, and a call that was cut off stays in the conversation: arguments that are no object become an
// empty one, as in vLLM. An object that templates cannot have, because of a number beyond 64 bits, stays a text.
func readCall(v jinja.Value) jinja.Value {
	call, _ := v.(*jinja.Map)
	if call == nil {
		return v
	}
	f, _ := call.Get("function")
	function, _ := f.(*jinja.Map)
	if function == nil {
		return v
	}
	given, _ := function.Get("arguments")
	if text, ok := given.(string); ok {
		var err error
		given, err = jinja.DecodeJSON([]byte(text))
		if err != nil && json.Valid([]byte(text)) {
			return v
		}
	}
	arguments, ok := given.(*jinja.Map)
	if !ok {
		arguments = &jinja.Map{}
	}
	function, call = function.Clone(), call.Clone()
	function.Set("arguments", arguments)
	call.Set("function", function)
	return call
}

// ReadMessages reads the messages of a chat as clients send them: a list of objects with role and content.
func ReadMessages(raw json.RawMessage) ([]chat.Message, error) { return readMessages(raw) }
