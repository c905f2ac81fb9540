package translate

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

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
func ResponseTools(f param.Fields, chat param.Fields) error {
	var list []json.RawMessage
	there, err := f.Take("tools", &list)
	if err != nil {
		return err
	}
	tools := make([]chatTool, len(list))
	for i, raw := range list {
		if tools[i], err = responseTool(raw); err != nil {
			return param.Within(fmt.Sprintf("tools[%d]", i), err)
		}
	}
	if there {
		chat["tools"] = param.Encoded(tools)
	}
	raw, ok := f["tool_choice"]
	if !ok {
		return nil
	}
	delete(f, "tool_choice")
	var named struct{ Type, Name string }
	if json.Unmarshal(raw, &named) == nil && named.Type == "function" && named.Name != "" {
		raw = param.Encoded(param.Object{"type": "function", "function": param.Object{"name": named.Name}})
	}
	chat["tool_choice"] = raw
	return nil
}

// responseTool reads a tool that the client runs.
func responseTool(raw json.RawMessage) (chatTool, error) {
	b, err := param.ReadObject(raw)
	if err != nil {
		return chatTool{}, err
	}
	out := chatTool{}
	schema := map[string]json.RawMessage{}
	out.Function.Parameters = b["parameters"]
	_, err1 := b.Take("type", &out.Type)
	if err1 == nil && out.Type != "function" {
		return chatTool{}, param.Invalid("", "a tool of type %q is not known here; only functions are", out.Type)
	}
	_, err2 := b.Take("name", &out.Function.Name)
	_, err3 := b.Take("description", &out.Function.Description)
	_, err4 := b.Take("parameters", &schema)
	if out.Function.Name == "" {
		err4 = errors.Join(err4, param.Invalid("", "name is missing"))
	}
	return out, errors.Join(err1, err2, err3, err4, b.Refuse(nil, blockUnsupported))
}
