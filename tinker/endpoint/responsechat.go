package endpoint

import (
	"encoding/json"
	"errors"
	"fmt"
)

// includeLogprobs is the value of include that asks for the logprobs of a message.
const includeLogprobs = "message.output_text.logprobs"

// responseInclude reads include and reports whether the logprobs of messages are asked for.
func responseInclude(f fields) (logprobs bool, err error) {
	var list []string
	if _, err := f.take("include", &list); err != nil {
		return false, err
	}
	for _, v := range list {
		switch v {
		case includeLogprobs:
			logprobs = true
		case "reasoning.encrypted_content": // thoughts are sent as they are
		default:
			return false, invalid("include", "include has %q, which is not supported here; it may have %s and "+
				"reasoning.encrypted_content", v, includeLogprobs)
		}
	}
	return logprobs, nil
}

// responseTools reads tools and tool_choice into a chat.
func responseTools(f fields, chat fields) error {
	var list []json.RawMessage
	there, err := f.take("tools", &list)
	if err != nil {
		return err
	}
	tools := make([]chatTool, len(list))
	for i, raw := range list {
		if tools[i], err = responseTool(raw); err != nil {
			return within(fmt.Sprintf("tools[%d]", i), err)
		}
	}
	if there {
		chat["tools"] = encoded(tools)
	}
	raw, ok := f["tool_choice"]
	if !ok {
		return nil
	}
	delete(f, "tool_choice")
	var named struct{ Type, Name string }
	if json.Unmarshal(raw, &named) == nil && named.Type == "function" && named.Name != "" {
		raw = encoded(object{"type": "function", "function": object{"name": named.Name}})
	}
	chat["tool_choice"] = raw
	return nil
}

// responseTool reads a tool that the client runs.
func responseTool(raw json.RawMessage) (chatTool, error) {
	b, err := readObject(raw)
	if err != nil {
		return chatTool{}, err
	}
	out := chatTool{}
	schema := map[string]json.RawMessage{}
	out.Function.Parameters = b["parameters"]
	_, err1 := b.take("type", &out.Type)
	if err1 == nil && out.Type != "function" {
		return chatTool{}, invalid("", "a tool of type %q is not known here; only functions are", out.Type)
	}
	_, err2 := b.take("name", &out.Function.Name)
	_, err3 := b.take("description", &out.Function.Description)
	_, err4 := b.take("parameters", &schema)
	if out.Function.Name == "" {
		err4 = errors.Join(err4, invalid("", "name is missing"))
	}
	return out, errors.Join(err1, err2, err3, err4, b.refuse(nil, blockUnsupported))
}
