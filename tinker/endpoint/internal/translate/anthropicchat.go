// Package translate turns the bodies of Anthropic's, OpenAI's responses' and Ollama's interfaces into chats.
package translate

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

// AnthropicChat takes the conversation of a message out of f and returns it as a chat has it.
func AnthropicChat(f param.Fields) (param.Fields, error) {
	messages, err := anthropicMessages(f)
	if err != nil {
		return nil, err
	}
	chat := param.Fields{"messages": messages}
	if err := anthropicTools(f, chat); err != nil {
		return nil, err
	}
	return chat, anthropicThinking(f, chat)
}

// StopSequences reads stop_sequences as stop of a chat.
func StopSequences(f param.Fields) (json.RawMessage, error) {
	var list []string
	if _, err := f.Take("stop_sequences", &list); err != nil {
		return nil, err
	}
	if len(list) > param.MaxStops {
		return nil, param.Invalid("stop_sequences", "stop_sequences has %d texts; it may have %d", len(list),
			param.MaxStops)
	}
	for i, s := range list {
		if s == "" {
			return nil, param.Invalid("stop_sequences", "stop_sequences[%d] is empty; leave it out", i)
		}
	}
	return param.Encoded(append([]string{}, list...)), nil
}

// anthropicThinking reads thinking, as enable_thinking of the template, and the template's other variables.
func anthropicThinking(f param.Fields, chat param.Fields) error {
	variables := param.Fields{}
	if _, err := f.Take("chat_template_kwargs", &variables); err != nil {
		return err
	}
	t := param.Fields{}
	there, err := f.Take("thinking", &t)
	if err != nil {
		return err
	}
	if there {
		if err := thinkingMembers(t, variables); err != nil {
			return err
		}
	}
	if len(variables) > 0 {
		chat["chat_template_kwargs"] = param.Encoded(variables)
	}
	return nil
}

// thinkingMembers reads the members of thinking. What a model thinks counts as max_tokens; a budget of its own is not
// kept.
func thinkingMembers(t param.Fields, variables param.Fields) error {
	kind, display, budget := "", "", 0
	if _, err := t.Take("type", &kind); err != nil {
		return param.Within("thinking", err)
	}
	if _, err := t.Take("budget_tokens", &budget); err != nil {
		return param.Within("thinking", err)
	}
	if _, err := t.Take("display", &display); err != nil {
		return param.Within("thinking", err)
	}
	switch kind {
	case "enabled", "disabled":
		variables["enable_thinking"] = param.Encoded(kind == "enabled")
	case "adaptive": // the model decides, as it does without thinking
	default:
		return param.Invalid("thinking", "thinking.type is %q; it must be enabled, disabled or adaptive", kind)
	}
	switch {
	case kind != "enabled" && budget != 0, budget < 0:
		return param.Invalid("thinking", "thinking.budget_tokens is %d with type %s; leave it out", budget, kind)
	case display != "" && display != "summarized":
		return param.Invalid("thinking", "thinking.display is %q; thoughts are shown", display)
	}
	return param.Within("thinking", t.Refuse(nil, nil))
}

// anthropicTools reads tools and tool_choice into a chat.
func anthropicTools(f param.Fields, chat param.Fields) error {
	if err := takeTools(f, chat, anthropicTool); err != nil {
		return err
	}
	choice := param.Fields{}
	if there, err := f.Take("tool_choice", &choice); err != nil || !there {
		return err
	}
	return param.Within("tool_choice", anthropicChoice(choice, chat))
}

// takeTools reads tools into a chat, each with read.
func takeTools(f, chat param.Fields, read func(json.RawMessage) (chatTool, error)) error {
	var list []json.RawMessage
	there, err := f.Take("tools", &list)
	if err != nil || !there {
		return err
	}
	tools := make([]chatTool, len(list))
	for i, raw := range list {
		if tools[i], err = read(raw); err != nil {
			return param.Within(fmt.Sprintf("tools[%d]", i), err)
		}
	}
	chat["tools"] = param.Encoded(tools)
	return nil
}

// anthropicTool reads a tool that the client runs.
func anthropicTool(raw json.RawMessage) (chatTool, error) {
	b, err := param.ReadObject(raw)
	if err != nil {
		return chatTool{}, err
	}
	kind := "custom"
	if _, err := b.Take("type", &kind); err != nil {
		return chatTool{}, err
	}
	if kind != "custom" {
		return chatTool{}, param.Invalid("", "a tool of type %q is not known here; give one with an input_schema, "+
			"without "+
			"type", kind)
	}
	out := chatTool{Type: "function"}
	schema := map[string]json.RawMessage{}
	out.Function.Parameters = b["input_schema"]
	_, err1 := b.Take("name", &out.Function.Name)
	_, err2 := b.Take("description", &out.Function.Description)
	there, err3 := b.Take("input_schema", &schema)
	switch {
	case out.Function.Name == "":
		err3 = errors.Join(err3, param.Invalid("", "name is missing"))
	case !there:
		err3 = param.Invalid("", "input_schema is missing")
	}
	return out, errors.Join(err1, err2, err3, b.Refuse(blockLabels, blockUnsupported))
}

// anthropicChoice reads the members of tool_choice into a chat.
func anthropicChoice(c param.Fields, chat param.Fields) error {
	kind, name, alone := "", "", false
	_, err1 := c.Take("type", &kind)
	_, err2 := c.Take("name", &name)
	_, err3 := c.Take("disable_parallel_tool_use", &alone)
	if err := errors.Join(err1, err2, err3, c.Refuse(nil, nil)); err != nil {
		return err
	}
	switch {
	case kind == "auto" && name == "", kind == "none" && name == "":
		chat["tool_choice"] = param.Encoded(kind)
	case kind == "any" && name == "":
		chat["tool_choice"] = param.Encoded("required")
	case kind == "tool" && name != "":
		chat["tool_choice"] = param.Encoded(param.Object{"type": "function", "function": param.Object{"name": name}})
	default:
		return param.Invalid("", "type %q with name %q; it must be auto, any, none, or tool with a name", kind, name)
	}
	chat["parallel_tool_calls"] = param.Encoded(!alone)
	return nil
}
