// Package translate turns the bodies of Anthropic's, OpenAI's responses' and Ollama's interfaces into chats.
package translate

import (
	"encoding/json"

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
