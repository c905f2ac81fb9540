package source

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/trxp"
	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// readExperience adds what a serialised experience has. What cannot be read is left out.
func readExperience(r *rollout.Record, data []byte) {
	items, err := trxp.Decode(data)
	if err != nil || len(items) == 0 {
		return
	}
	readTensors(r, items[0].Tensors, readFields(r, items[0].Fields))
}

// readTensors reads tokens and logprobs, of which so many are the prompt's; 0: it is not known.
func readTensors(r *rollout.Record, tensors map[string]trxp.Tensor, prompt int) {
	tokens := tensors["tokens"].Int32s()
	logprobs := tensors["logprobs"].Float32s()
	for i, v := range logprobs { // JSON has no others
		if v != v || math.IsInf(float64(v), 0) {
			logprobs[i] = 0
		}
	}
	mask := tensors["action_mask"].Int32s()
	n := max(len(logprobs), len(mask))
	if prompt > 0 && n == 0 {
		n = len(tokens) - prompt
	}
	if n < 0 || n > len(tokens) {
		return
	}
	r.PromptTokens, r.Tokens, r.Logprobs = tokens[:len(tokens)-n], tokens[len(tokens)-n:], logprobs
	if len(mask) == n {
		on := make([]bool, n)
		for i, m := range mask {
			on[i] = m != 0
		}
		r.Mask = rollout.MaskOf(on)
	}
}

// readFields adds what an experience has beside tensors: messages, texts, metrics and the parts of its id. It returns
// the number of prompt tokens, 0 if it is not known.
func readFields(r *rollout.Record, item map[string]any) (prompt int) {
	readID(r, item["eid"])
	if v := number(item["reward"]); v != nil && r.Reward == nil {
		r.Reward = v
	}
	for _, of := range []struct {
		into *string
		key  string
	}{{&r.Prompt, "prompt_text"}, {&r.Response, "response_text"}, {&r.Truncated, "truncate_status"}} {
		if text, ok := item[of.key].(string); ok && *of.into == "" {
			*of.into = text
		}
	}
	metrics, _ := item["metrics"].(map[string]any)
	for name, v := range metrics {
		if n := number(v); n != nil {
			r.Metrics[name] = *n
		}
	}
	if info, ok := item["info"].(map[string]any); ok && r.ModelVersion == 0 {
		if v := number(info["model_version"]); v != nil {
			r.ModelVersion = int(*v)
		}
	}
	readMessages(r, item["messages"])
	if n, ok := item["prompt_length"].(int64); ok && n > 0 && n < 1<<31 {
		prompt = int(n)
	}
	return prompt
}

// readID reads an EID. A database has the tasks of all steps, so the step is part of the group's name.
func readID(r *rollout.Record, v any) {
	eid, ok := v.(map[string]any)
	if !ok {
		return
	}
	text := func(key string) string { return strings.ReplaceAll(fmt.Sprint(eid[key]), "/", ".") }
	if eid["batch"] == "" && eid["task"] == "" { // not set
		return
	}
	r.Task = text("batch") + "." + text("task")
	r.ID = fmt.Sprintf("0/%s/%s/%s/%s", r.Task, text("run"), text("step"), text("suffix"))
}

// readMessages reads a conversation, and counts its tool calls and the model's turns. Where there is no text of prompt
// and answer, they are taken from it.
func readMessages(r *rollout.Record, v any) {
	data, err := json.Marshal(v)
	var list []rollout.Message
	if v == nil || err != nil || json.Unmarshal(data, &list) != nil || len(list) == 0 {
		return
	}
	r.Messages, r.Turns, r.ToolCalls = list, 0, 0
	prompt, response := []string{}, []string{}
	for _, m := range list {
		r.ToolCalls += len(m.ToolCalls)
		switch {
		case m.Role == "assistant":
			r.Turns++
			response = append(response, m.Thinking+m.Content)
		case len(response) == 0:
			prompt = append(prompt, m.Content)
		}
	}
	r.Turns = max(1, r.Turns)
	if r.Prompt == "" && r.Response == "" {
		r.Prompt, r.Response = strings.Join(prompt, "\n"), strings.Join(response, "\n")
	}
}

// number is a finite number of a pickle or of JSON, else nil.
func number(v any) *float64 {
	switch n := v.(type) {
	case json.Number:
		if f, err := n.Float64(); err == nil {
			return rollout.Finite(f)
		}
	case float64:
		return rollout.Finite(n)
	case int64:
		return rollout.Finite(float64(n))
	case bool:
		if n {
			return rollout.Finite(1)
		}
		return rollout.Finite(0)
	}
	return nil
}
