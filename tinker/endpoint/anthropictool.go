package endpoint

import (
	"encoding/json"
	"errors"
	"fmt"
)

// anthropicTools reads tools and tool_choice into a chat.
func anthropicTools(f fields, chat fields) error {
	var list []json.RawMessage
	there, err := f.take("tools", &list)
	if err != nil {
		return err
	}
	tools := make([]chatTool, len(list))
	for i, raw := range list {
		if tools[i], err = anthropicTool(raw); err != nil {
			return within(fmt.Sprintf("tools[%d]", i), err)
		}
	}
	if there {
		chat["tools"] = encoded(tools)
	}
	choice := fields{}
	if there, err = f.take("tool_choice", &choice); err != nil || !there {
		return err
	}
	return within("tool_choice", anthropicChoice(choice, chat))
}

// anthropicTool reads a tool that the client runs.
func anthropicTool(raw json.RawMessage) (chatTool, error) {
	b, err := readObject(raw)
	if err != nil {
		return chatTool{}, err
	}
	kind := "custom"
	if _, err := b.take("type", &kind); err != nil {
		return chatTool{}, err
	}
	if kind != "custom" {
		return chatTool{}, invalid("", "a tool of type %q is not known here; give one with an input_schema, without "+
			"type", kind)
	}
	out := chatTool{Type: "function"}
	schema := map[string]json.RawMessage{}
	out.Function.Parameters = b["input_schema"]
	_, err1 := b.take("name", &out.Function.Name)
	_, err2 := b.take("description", &out.Function.Description)
	there, err3 := b.take("input_schema", &schema)
	switch {
	case out.Function.Name == "":
		err3 = errors.Join(err3, invalid("", "name is missing"))
	case !there:
		err3 = invalid("", "input_schema is missing")
	}
	return out, errors.Join(err1, err2, err3, b.refuse(blockLabels, blockUnsupported))
}

// anthropicChoice reads the members of tool_choice into a chat.
func anthropicChoice(c fields, chat fields) error {
	kind, name, alone := "", "", false
	_, err1 := c.take("type", &kind)
	_, err2 := c.take("name", &name)
	_, err3 := c.take("disable_parallel_tool_use", &alone)
	if err := errors.Join(err1, err2, err3, c.refuse(nil, nil)); err != nil {
		return err
	}
	switch {
	case kind == "auto" && name == "", kind == "none" && name == "":
		chat["tool_choice"] = encoded(kind)
	case kind == "any" && name == "":
		chat["tool_choice"] = encoded("required")
	case kind == "tool" && name != "":
		chat["tool_choice"] = encoded(object{"type": "function", "function": object{"name": name}})
	default:
		return invalid("", "type %q with name %q; it must be auto, any, none, or tool with a name", kind, name)
	}
	chat["parallel_tool_calls"] = encoded(!alone)
	return nil
}
