package proxy

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/jinja"
)

// chatRequest is the body of POST /v1/chat/completions.
type chatRequest struct {
	common
	RawMessages json.RawMessage `json:"messages"`
	Tools       json.RawMessage `json:"tools"`
	Variables   struct {
		EnableThinking *bool `json:"enable_thinking"`
	} `json:"chat_template_kwargs"`
}

// chat parses a chat completion.
func (s *Server) chat(w http.ResponseWriter, r *http.Request) (*request, error) {
	in := new(chatRequest)
	if err := read(w, r, in); err != nil {
		return nil, err
	}
	messages, err := readMessages(in.RawMessages)
	if err != nil {
		return nil, err
	}
	o := chat.Options{EnableThinking: in.Variables.EnableThinking, AddGenerationPrompt: true}
	if messages[len(messages)-1].Role == "assistant" {
		o.AddGenerationPrompt, o.ContinueFinal = false, true
	}
	if len(in.Tools) > 0 && string(in.Tools) != "null" {
		v, err := jinja.DecodeJSON(in.Tools)
		tools, ok := v.(jinja.List)
		if err != nil || !ok {
			return nil, bad("tools must be a list of tools")
		}
		if len(tools) > 0 {
			o.Tools = tools
		}
	}
	req := &request{common: in.common, chat: in, tools: o.Tools}
	var whole []int32
	if req.text, whole, err = s.Model.Render(messages, o); err != nil {
		return nil, bad("the messages cannot be rendered: %v", err)
	}
	if err := s.resume(req, whole); err != nil {
		return nil, err
	}
	req.anew = !req.continues && slices.ContainsFunc(messages[:len(messages)-1],
		func(m chat.Message) bool { return m.Role == "assistant" })
	return req, nil
}

func readMessages(raw json.RawMessage) ([]chat.Message, error) {
	v, err := jinja.DecodeJSON(raw)
	list, ok := v.(jinja.List)
	if err != nil || !ok || len(list) == 0 {
		return nil, bad("messages must be a list with at least one message")
	}
	var out []chat.Message
	for i, item := range list {
		m, ok := item.(*jinja.Map)
		if !ok {
			return nil, bad("messages[%d] is not an object", i)
		}
		msg, err := readMessage(m)
		if err != nil {
			return nil, bad("messages[%d]: %v", i, err)
		}
		out = append(out, msg)
	}
	return out, nil
}

func readMessage(m *jinja.Map) (msg chat.Message, err error) {
	msg.Extra = &jinja.Map{}
	for key, value := range m.All() {
		switch key {
		case "role":
			msg.Role, _ = value.(string)
		case "content":
			if msg.Content, err = readContent(value); err != nil {
				return msg, err
			}
		case "reasoning_content":
			msg.Reasoning, _ = value.(string)
		case "tool_calls":
			calls, _ := value.(jinja.List)
			for _, c := range calls {
				msg.ToolCalls = append(msg.ToolCalls, readCall(c))
			}
		default:
			msg.Extra.Set(key.(string), value)
		}
	}
	if msg.Role == "" {
		return msg, bad("role is missing")
	}
	return msg, nil
}

// readContent is a text, or a list of texts in parts.
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
			text, ok := part.Get("text")
			s, isText := text.(string)
			if !ok || !isText {
				return "", bad("only parts of text are supported")
			}
			b.WriteString(s)
		}
		return b.String(), nil
	}
	return "", bad("content must be a text or a list of parts")
}

// readCall makes the arguments of a tool call, which the API has as a text of JSON, the object that templates expect.
func readCall(v jinja.Value) jinja.Value {
	call, ok := v.(*jinja.Map)
	if !ok {
		return v
	}
	f, _ := call.Get("function")
	function, ok := f.(*jinja.Map)
	if !ok {
		return v
	}
	text, _ := function.Get("arguments")
	s, ok := text.(string)
	if !ok {
		return v
	}
	if arguments, err := jinja.DecodeJSON([]byte(s)); err == nil {
		function = function.Clone()
		function.Set("arguments", arguments)
		call = call.Clone()
		call.Set("function", function)
	}
	return call
}

// toJSON is a value as JSON, with the keys in their order.
func toJSON(v jinja.Value) string {
	switch x := v.(type) {
	case *jinja.Map:
		var parts []string
		for key, value := range x.All() {
			parts = append(parts, toJSON(key)+":"+toJSON(value))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case jinja.List:
		parts := make([]string, len(x))
		for i, value := range x {
			parts[i] = toJSON(value)
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return "null"
	}
	return string(raw)
}
