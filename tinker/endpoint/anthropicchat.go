package endpoint

import "encoding/json"

// anthropicChat takes the conversation of a message out of f and returns it as a chat has it.
func anthropicChat(f fields) (fields, error) {
	messages, err := anthropicMessages(f)
	if err != nil {
		return nil, err
	}
	chat := fields{"messages": messages}
	if err := anthropicTools(f, chat); err != nil {
		return nil, err
	}
	return chat, anthropicThinking(f, chat)
}

// stopSequences reads stop_sequences as stop of a chat.
func stopSequences(f fields) (json.RawMessage, error) {
	var list []string
	if _, err := f.take("stop_sequences", &list); err != nil {
		return nil, err
	}
	if len(list) > maxStops {
		return nil, invalid("stop_sequences", "stop_sequences has %d texts; it may have %d", len(list), maxStops)
	}
	for i, s := range list {
		if s == "" {
			return nil, invalid("stop_sequences", "stop_sequences[%d] is empty; leave it out", i)
		}
	}
	return encoded(append([]string{}, list...)), nil
}

// anthropicThinking reads thinking, as enable_thinking of the template, and the template's other variables.
func anthropicThinking(f fields, chat fields) error {
	variables := fields{}
	if _, err := f.take("chat_template_kwargs", &variables); err != nil {
		return err
	}
	t := fields{}
	there, err := f.take("thinking", &t)
	if err != nil {
		return err
	}
	if there {
		if err := thinkingMembers(t, variables); err != nil {
			return err
		}
	}
	if len(variables) > 0 {
		chat["chat_template_kwargs"] = encoded(variables)
	}
	return nil
}

// thinkingMembers reads the members of thinking. What a model thinks counts as max_tokens; a budget of its own is not kept.
func thinkingMembers(t fields, variables fields) error {
	kind, display, budget := "", "", 0
	if _, err := t.take("type", &kind); err != nil {
		return within("thinking", err)
	}
	if _, err := t.take("budget_tokens", &budget); err != nil {
		return within("thinking", err)
	}
	if _, err := t.take("display", &display); err != nil {
		return within("thinking", err)
	}
	switch kind {
	case "enabled", "disabled":
		variables["enable_thinking"] = encoded(kind == "enabled")
	case "adaptive": // the model decides, as it does without thinking
	default:
		return invalid("thinking", "thinking.type is %q; it must be enabled, disabled or adaptive", kind)
	}
	switch {
	case kind != "enabled" && budget != 0, budget < 0:
		return invalid("thinking", "thinking.budget_tokens is %d with type %s; leave it out", budget, kind)
	case display != "" && display != "summarized":
		return invalid("thinking", "thinking.display is %q; thoughts are shown", display)
	}
	return within("thinking", t.refuse(nil, nil))
}
