// Package translate turns the bodies of Anthropic's, OpenAI's responses' and Ollama's interfaces into chats.
package translate

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

// AnthropicChat takes the conversation of a message out of f and returns it as a chat has it, and what in it has no
// effect.
func AnthropicChat(f param.Fields) (chat param.Fields, notes []string, err error) {
	messages, err := anthropicMessages(f)
	if err != nil {
		return nil, nil, err
	}
	chat = param.Fields{"messages": messages}
	if notes, err = anthropicTools(f, chat); err != nil {
		return nil, nil, err
	}
	effort, err := anthropicFormat(f, chat)
	if err != nil {
		return nil, nil, err
	}
	shown, err := anthropicThinking(f, chat)
	return chat, slices.Concat(notes, effort, shown), err
}

// anthropicFormat reads output_config, and output_format, its older name for the format alone.
func anthropicFormat(f, chat param.Fields) (notes []string, err error) {
	c := param.Fields{}
	if _, err := f.Take("output_config", &c); err != nil {
		return nil, err
	}
	if raw, ok := f["output_format"]; ok {
		c["format"] = raw
		delete(f, "output_format")
	}
	effort := ""
	if there, err := c.Take("effort", &effort); err != nil {
		return nil, param.Within("output_config", err)
	} else if there {
		notes = append(notes, "output_config.effort has no effect")
	}
	var format struct {
		Type   string
		Schema json.RawMessage
	}
	there, err := c.Take("format", &format)
	switch {
	case err != nil || !there:
	case format.Type != "json_schema" || format.Schema == nil:
		err = param.Invalid("", "format has the type %q; it must be json_schema, with a schema", format.Type)
	default:
		chat["response_format"] = schemaFormat(format.Schema)
	}
	return notes, param.Within("output_config", errors.Join(err, c.Refuse(nil, nil)))
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
func anthropicThinking(f param.Fields, chat param.Fields) (notes []string, err error) {
	variables := param.Fields{}
	if _, err := f.Take("chat_template_kwargs", &variables); err != nil {
		return nil, err
	}
	t := param.Fields{}
	there, err := f.Take("thinking", &t)
	if err != nil {
		return nil, err
	}
	if there {
		if notes, err = thinkingMembers(t, variables); err != nil {
			return nil, err
		}
	}
	if len(variables) > 0 {
		chat["chat_template_kwargs"] = param.Encoded(variables)
	}
	return notes, nil
}

// thinkingMembers reads the members of thinking. What a model thinks counts as max_tokens; a budget of its own is not
// kept.
func thinkingMembers(t param.Fields, variables param.Fields) (notes []string, err error) {
	kind, display, budget := "", "", 0
	_, err1 := t.Take("type", &kind)
	_, err2 := t.Take("budget_tokens", &budget)
	_, err3 := t.Take("display", &display)
	for _, err := range []error{err1, err2, err3} {
		if err != nil {
			return nil, param.Within("thinking", err)
		}
	}
	switch kind {
	case "enabled", "disabled":
		variables["enable_thinking"] = param.Encoded(kind == "enabled")
	case "adaptive": // the model decides, as it does without thinking
	default:
		return nil, param.Invalid("thinking", "thinking.type is %q; it must be enabled, disabled or adaptive", kind)
	}
	switch {
	case kind != "enabled" && budget != 0, budget < 0:
		return nil, param.Invalid("thinking", "thinking.budget_tokens is %d with type %s; leave it out", budget, kind)
	case display == "omitted":
		notes = append(notes, "thinking.display has no effect: thoughts are shown")
	case display != "" && display != "summarized":
		return nil, param.Invalid("thinking", "thinking.display is %q; it must be summarized or omitted", display)
	}
	return notes, param.Within("thinking", t.Refuse(nil, nil))
}

// anthropicTools reads tools and tool_choice into a chat.
func anthropicTools(f param.Fields, chat param.Fields) (notes []string, err error) {
	notes, err = takeTools(f, chat, "custom", anthropicTool)
	if err != nil {
		return nil, err
	}
	choice := param.Fields{}
	if there, err := f.Take("tool_choice", &choice); err != nil || !there {
		return notes, err
	}
	return notes, param.Within("tool_choice", anthropicChoice(choice, chat))
}

// takeTools reads tools into a chat: those of a type, which a tool without one has too, with read. The others are run
// by a server or have a language of their own; they are left out, unless there are no others.
func takeTools(f, chat param.Fields, own string, read func(param.Fields) (chatTool, error)) (notes []string,
	err error) {
	var list []json.RawMessage
	there, err := f.Take("tools", &list)
	if err != nil || !there {
		return nil, err
	}
	tools := []chatTool{}
	for i, raw := range list {
		at := fmt.Sprintf("tools[%d]", i)
		b, err := param.ReadObject(raw)
		if err != nil {
			return nil, param.Within(at, err)
		}
		kind := own
		if _, err := b.Take("type", &kind); err != nil {
			return nil, param.Within(at, err)
		}
		if kind != own {
			notes = append(notes, fmt.Sprintf("%s (%s) is left out", at, tinker.BriefText(kind)))
			continue
		}
		t, err := read(b)
		if err != nil {
			return nil, param.Within(at, err)
		}
		tools = append(tools, t)
	}
	if len(tools) == 0 && len(list) > 0 {
		return nil, param.Invalid("tools", "%s: no tool is there that the client runs. A server runs the others, and "+
			"this one runs none; leave them out", strings.Join(notes, "; "))
	}
	chat["tools"] = param.Encoded(tools)
	return notes, nil
}

// anthropicTool reads a tool that the client runs.
func anthropicTool(b param.Fields) (chatTool, error) {
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
