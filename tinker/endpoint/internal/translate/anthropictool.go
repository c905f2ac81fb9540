package translate

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

// anthropicTools reads tools and tool_choice into a chat.
func anthropicTools(f param.Fields, chat param.Fields) error {
	var list []json.RawMessage
	there, err := f.Take("tools", &list)
	if err != nil {
		return err
	}
	tools := make([]chatTool, len(list))
	for i, raw := range list {
		if tools[i], err = anthropicTool(raw); err != nil {
			return param.Within(fmt.Sprintf("tools[%d]", i), err)
		}
	}
	if there {
		chat["tools"] = param.Encoded(tools)
	}
	choice := param.Fields{}
	if there, err = f.Take("tool_choice", &choice); err != nil || !there {
		return err
	}
	return param.Within("tool_choice", anthropicChoice(choice, chat))
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
