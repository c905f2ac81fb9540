package workflow

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// ToolCall is tool_call_workflow: the model must answer a conversation with the right calls of tools. The row's columns
// are raw_system, tools (a list of JSON objects, or the text of one), conversations (from and value, as ShareGPT has
// them) and answer (the calls, as JSON). The reward is 1 if the calls inside the last <tool_call> tag, which must
// follow exactly one <think> block, are the calls of the answer in any order, else 0.
type ToolCall struct{}

// Run implements Workflow.
func (ToolCall) Run(ctx context.Context, r *Rollout, t Task) ([]*experience.Experience, error) {
	messages, err := toolMessages(t)
	if err != nil {
		return nil, err
	}
	answer, ok := t.Row.Get("answer")
	if !ok {
		return nil, fmt.Errorf("workflow: tool_call_workflow reads the column answer, and row %d has only %v", t.Index,
			t.Row.Columns())
	}
	want, err := callsOf(plainText(answer))
	if err != nil {
		return nil, fmt.Errorf("workflow: tool_call_workflow: the column answer of row %d: %w", t.Index, err)
	}
	list, err := sample(ctx, r, t, messages)
	for _, e := range list {
		setAccuracy(e, sameCalls(e.ResponseText, want))
	}
	return list, err
}

// Prepare implements Preparer.
func (ToolCall) Prepare(*Rollout) error { return nil }

const toolRules = `You can call tools. They are described here, one JSON object a line:
<tools>
%s
</tools>
First reason inside <think> and </think>. Then write the calls that are needed, as a JSON list of objects with name ` +
	`and arguments, inside <tool_call> and </tool_call>:
<think> the reasons </think>
<tool_call>[{"name": "…", "arguments": {…}}]</tool_call>`

// toolMessages is the conversation of a row.
func toolMessages(t Task) ([]chat.Message, error) {
	system, _ := t.Row.Get("raw_system")
	tools, _ := t.Row.Get("tools")
	lines, err := toolLines(tools)
	if err != nil {
		return nil, fmt.Errorf("workflow: tool_call_workflow: the column tools of row %d: %w", t.Index, err)
	}
	list := []chat.Message{{Role: "system", Content: strings.TrimSpace(plainText(system) + "\n\n" +
		fmt.Sprintf(toolRules, strings.Join(lines, "\n")))}}
	turns, _ := t.Row.Get("conversations")
	if text, ok := turns.(string); ok {
		if turns, err = dataset.Value([]byte(text)); err != nil {
			return nil, fmt.Errorf("workflow: tool_call_workflow: the column conversations of row %d: %w", t.Index, err)
		}
	}
	items, ok := turns.([]any)
	if !ok || len(items) == 0 {
		return nil, fmt.Errorf("workflow: tool_call_workflow reads the column conversations, a list of turns; row %d "+
			"has %v", t.Index, t.Row.Columns())
	}
	for _, item := range items {
		m, err := toolTurn(item)
		if err != nil {
			return nil, fmt.Errorf("workflow: tool_call_workflow: row %d: %w", t.Index, err)
		}
		list = append(list, m)
	}
	return list, nil
}

func toolTurn(item any) (chat.Message, error) {
	row, ok := item.(dataset.Row)
	if !ok {
		return chat.Message{}, fmt.Errorf("a turn is %v; it must be an object with from and value", item)
	}
	from, _ := row.Get("from")
	value, _ := row.Get("value")
	if from == nil {
		from, _ = row.Get("role")
		value, _ = row.Get("content")
	}
	if value == nil && (from == "human" || from == "user") {
		return chat.Message{}, fmt.Errorf("a turn of %v is null; give it a text or remove the row", from)
	}
	text := plainText(value)
	switch from {
	case "human", "user":
		return chat.Message{Role: "user", Content: text}, nil
	case "gpt", "assistant":
		return chat.Message{Role: "assistant", Content: text}, nil
	case "observation", "tool":
		return chat.Message{Role: "user", Content: "<tool_response>\n" + text + "\n</tool_response>"}, nil
	case "function_call":
		return chat.Message{Role: "assistant", Content: "<tool_call>" + text + "</tool_call>"}, nil
	}
	return chat.Message{}, fmt.Errorf("a turn is from %v; it must be from human, gpt, observation or function_call",
		from)
}

// toolLines is one line of JSON for each tool.
func toolLines(tools any) ([]string, error) {
	if text, ok := tools.(string); ok {
		var list []json.RawMessage
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			return nil, err
		}
		lines := make([]string, len(list))
		for i, raw := range list {
			var b bytes.Buffer
			if err := json.Compact(&b, raw); err != nil {
				return nil, err
			}
			lines[i] = b.String()
		}
		return lines, nil
	}
	list, ok := tools.([]any)
	if !ok {
		return nil, fmt.Errorf("it is %v; it must be a list of tools", tools)
	}
	lines := make([]string, len(list))
	for i, tool := range list {
		lines[i] = plainText(tool)
	}
	return lines, nil
}

// plainText is a column as text: a text itself, else its JSON.
func plainText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}

// callsOf reads calls, a JSON list of them or a single one, as texts that are equal when the calls are: name, and
// arguments with sorted keys.
func callsOf(text string) ([]string, error) {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return nil, err
	}
	if inner, ok := v.(string); ok {
		return callsOf(inner)
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	calls := []string{}
	for _, item := range list {
		call, ok := item.(map[string]any)
		name, named := call["name"]
		arguments, given := call["arguments"]
		if !ok || !named || !given {
			return nil, fmt.Errorf("%v is not a call; it must be an object with name and arguments", item)
		}
		raw, err := json.Marshal([]any{name, arguments}) // keys are sorted
		if err != nil {
			return nil, err
		}
		calls = append(calls, string(raw))
	}
	slices.Sort(calls)
	return calls, nil
}

// sameCalls grades an answer.
func sameCalls(text string, want []string) bool {
	opened, closed, call := strings.Index(text, "<think>"), strings.Index(text, "</think>"),
		strings.Index(text, "<tool_call>")
	if strings.Count(text, "<think>") != 1 || strings.Count(text, "</think>") != 1 || closed < opened || call < closed {
		return false
	}
	last := text[strings.LastIndex(text, "<tool_call>")+len("<tool_call>"):]
	inside, _, ended := strings.Cut(last, "</tool_call>")
	if !ended {
		return false
	}
	got, err := callsOf(strings.TrimSpace(inside))
	return err == nil && slices.Equal(got, want)
}
