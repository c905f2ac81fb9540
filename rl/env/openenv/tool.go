package openenv

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/jinja"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// offered is a tool of an environment.
type offered struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
	schema      *schema
}

// listTools is the action that asks for the tools.
var listTools = json.RawMessage(`{"type":"list_tools"}`)

// readTools reads the observation of list_tools.
func readTools(observation json.RawMessage) ([]offered, error) {
	var o struct {
		Tools []offered `json:"tools"`
	}
	if err := json.Unmarshal(observation, &o); err != nil {
		return nil, garbage(observation, err.Error())
	}
	for i := range o.Tools {
		t := &o.Tools[i]
		if t.Name == "" {
			return nil, garbage(observation, "a tool has no name")
		}
		if !isObject(t.InputSchema) {
			t.InputSchema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		if err := json.Unmarshal(t.InputSchema, &t.schema); err != nil {
			return nil, garbage(observation, "the schema of the tool "+t.Name+": "+err.Error())
		}
	}
	if len(o.Tools) == 0 {
		return nil, fmt.Errorf("the environment takes calls of tools, and lists none: %s", quoted(observation))
	}
	return o.Tools, nil
}

// function is a tool as chat templates describe it.
func (t offered) function() json.RawMessage {
	data, _ := encode(struct {
		Type     string `json:"type"`
		Function any    `json:"function"`
	}{"function", struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}{t.Name, t.Description, t.InputSchema}}) // of JSON that was read
	return data
}

// described are tools for a chat template, and the same in words for a model without one.
func described(tools []offered) (list jinja.List, words string, err error) {
	var b strings.Builder
	b.WriteString("You have these tools. Each line describes one:\n")
	for _, t := range tools {
		data := t.function()
		v, err := jinja.DecodeJSON(data)
		if err != nil {
			return nil, "", fmt.Errorf("the tool %s: %w", t.Name, err)
		}
		list = append(list, v)
		b.Write(data)
		b.WriteByte('\n')
	}
	b.WriteString("Call a tool by writing its name and arguments as JSON:\n" +
		`<tool_call>{"name": "…", "arguments": {…}}</tool_call>`)
	return list, b.String(), nil
}

// calls reads the calls of an answer, in any of the styles of chat templates, as actions. An answer without a call is
// no mistake: it ends the episode.
func (k *kind) calls(answer string) ([]json.RawMessage, error) {
	m, err := chat.ParseAnswer(answer, styleOf(answer), k.toolList...)
	if err != nil {
		return nil, mistakef("The call of a tool cannot be read: %v", err)
	}
	var list []json.RawMessage
	for _, c := range m.ToolCalls {
		call, _ := c.(*jinja.Map)
		f, _ := call.Get("function")
		function, _ := f.(*jinja.Map)
		if function == nil {
			continue
		}
		name, _ := function.Get("name")
		arguments, _ := function.Get("arguments")
		action, err := encode(struct {
			Type string `json:"type"`
			Name any    `json:"tool_name"`
			Args any    `json:"arguments"`
		}{"call_tool", name, ordinary(arguments)})
		if err != nil {
			return nil, err
		}
		list = append(list, action)
	}
	return list, nil
}

// ordinary is a value of a template as encoding/json takes it.
func ordinary(v jinja.Value) any {
	switch v := v.(type) {
	case *jinja.Map:
		m := map[string]any{}
		for key, x := range v.All() {
			m[fmt.Sprint(key)] = ordinary(x)
		}
		return m
	case jinja.List:
		list := make([]any, len(v))
		for i, x := range v {
			list[i] = ordinary(x)
		}
		return list
	}
	return v
}

// styleOf tells from an answer how it writes calls.
func styleOf(answer string) chat.CallStyle {
	_, call, tagged := strings.Cut(answer, "<tool_call>")
	call = strings.TrimSpace(call)
	switch {
	case strings.Contains(answer, chat.HarmonyMessage):
		return chat.HarmonyCalls
	case tagged && strings.HasPrefix(call, "<function="):
		return chat.FunctionCalls
	case tagged && strings.Contains(call, "<arg_key>"):
		return chat.PairCalls
	case tagged:
		return chat.QwenCalls
	}
	return chat.LlamaCalls
}

// answered is the text of a call's result for the player. A failed tool is text too; one that could not be reached is
// an error.
func answered(observation json.RawMessage) (string, error) {
	var o struct {
		Result *json.RawMessage `json:"result"`
		Error  *struct {
			Type    string `json:"error_type"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal(observation, &o); err != nil {
		return "", garbage(observation, err.Error())
	}
	switch {
	case o.Error != nil && o.Error.Type == "transport_error":
		return "", fmt.Errorf("the environment did not reach its tool: %s", cut(o.Error.Message, 500))
	case o.Error != nil:
		return fmt.Sprintf("Error (%s): %s", o.Error.Type, o.Error.Message), nil
	case o.Result == nil:
		return string(without(observation, "metadata")), nil
	}
	return resultText(*o.Result), nil
}

// resultText is the text of a result: its blocks of text, else its data, else all of it.
func resultText(result json.RawMessage) string {
	var r struct {
		Content []struct {
			Type string  `json:"type"`
			Text *string `json:"text"`
		} `json:"content"`
		Data json.RawMessage `json:"data"`
	}
	if !isObject(result) || json.Unmarshal(result, &r) != nil {
		return plain(result)
	}
	var texts []string
	for _, c := range r.Content {
		if c.Text != nil {
			texts = append(texts, *c.Text)
		}
	}
	switch {
	case len(texts) > 0:
		return strings.Join(texts, "\n")
	case len(r.Data) > 0 && string(r.Data) != "null":
		return plain(r.Data)
	}
	return string(result)
}

// sampleCall is a call of some tool, with arguments that its schema allows.
func (k *kind) sampleCall(r env.Draws) string {
	names := slices.Sorted(maps.Keys(k.toolTypes))
	name := names[r.IntN(len(names))]
	s := k.toolTypes[name]
	data, err := encode(struct {
		Name string         `json:"name"`
		Args map[string]any `json:"arguments"`
	}{name, s.object(r, s.Defs, 0)})
	if err != nil {
		return ""
	}
	return "<tool_call>" + string(data) + "</tool_call>"
}
