package translate

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

// OllamaUnsupported are the parameters of Ollama's interface that are refused unless they ask for what happens anyway.
var OllamaUnsupported = param.Refusals{
	"template":     {[]string{`""`}, "the model's own template is used"},
	"suffix":       {[]string{`""`}, "leave it out"},
	"images":       {[]string{"[]"}, "only text is read"},
	"context":      {[]string{"[]"}, "use api/chat with the messages"},
	"truncate":     {[]string{"false"}, "prompts are not cut; shorten them"},
	"shift":        {[]string{"false"}, "an answer ends with its context"},
	"logprobs":     {[]string{"false"}, "use v1/chat/completions"},
	"top_logprobs": {[]string{"0"}, "use v1/chat/completions"},
}

// OllamaOptionsUnsupported are such options.
var OllamaOptionsUnsupported = param.Refusals{
	"mirostat":  {[]string{"0"}, "leave it out"},
	"typical_p": {[]string{"1"}, "leave it out"},
	"tfs_z":     {[]string{"1"}, "leave it out"},
}

// ollamaLabels are options that do not change an answer: how Ollama loads a model and keeps a prompt that it cuts, and
// settings of features that are off.
var ollamaLabels = []string{"num_keep", "num_batch", "num_gpu", "main_gpu", "num_thread", "low_vram", "f16_kv",
	"logits_all", "vocab_only", "use_mmap", "use_mlock", "numa", "penalize_newline", "mirostat_tau", "mirostat_eta"}

// OllamaOptions reads options into a chat or a completion, and returns num_ctx; 0 if there is none.
func OllamaOptions(f param.Fields, own param.Fields) (window int, err error) {
	o := param.Fields{}
	if raw, ok := f["options"]; ok {
		delete(f, "options")
		if o, err = param.ReadObject(raw); err != nil {
			return 0, param.Within("options", err)
		}
	}
	for _, name := range []string{"temperature", "top_p", "top_k", "min_p", "seed", "stop"} {
		if raw, ok := o[name]; ok {
			own[name] = raw
			delete(o, name)
		}
	}
	if err := ollamaPenalties(o, own); err != nil {
		return 0, param.Within("options", err)
	}
	most := 0
	if _, err := o.Take("num_predict", &most); err != nil {
		return 0, param.Within("options", err)
	}
	if most > 0 { // 0, -1 and -2: to the end of the context
		own["max_tokens"] = param.Encoded(most)
	}
	if _, err := o.Take("num_ctx", &window); err != nil {
		return 0, param.Within("options", err)
	}
	if window < 0 {
		return 0, param.Invalid("options", "options: num_ctx is %d; it must be 1 or more", window)
	}
	return window, param.Within("options", o.Refuse(ollamaLabels, OllamaOptionsUnsupported))
}

// ollamaPenalties reads the penalties among the options, which look at the last 64 tokens unless repeat_last_n says
// another number: 0 none, -1 all.
func ollamaPenalties(o, own param.Fields) error {
	window := 64
	if _, err := o.Take("repeat_last_n", &window); err != nil {
		return err
	}
	if window < 0 {
		window = math.MaxInt32
	}
	for name, named := range map[string]string{"repeat_penalty": "repetition_penalty",
		"presence_penalty": "presence_penalty", "frequency_penalty": "frequency_penalty"} {
		if raw, ok := o[name]; ok {
			own[named], own[param.RepeatWindow] = raw, param.Encoded(window)
			delete(o, name)
		}
	}
	return nil
}

// OllamaFormat reads format, which is "json" or a JSON schema, as response_format of a chat or a completion.
func OllamaFormat(f, own param.Fields) error {
	raw, ok := f["format"]
	delete(f, "format")
	switch {
	case !ok, string(raw) == `""`:
	case string(raw) == `"json"`:
		own["response_format"] = param.Encoded(param.Object{"type": "json_object"})
	case raw[0] == '{':
		own["response_format"] = schemaFormat(raw)
	default:
		return param.Invalid("format", "format is %s; it must be \"json\" or a JSON schema", param.Brief(raw))
	}
	return nil
}

// schemaFormat is the response_format of a chat whose answer must be a value of a schema.
func schemaFormat(schema json.RawMessage) json.RawMessage {
	return param.Encoded(param.Object{"type": "json_schema", "json_schema": param.Object{"schema": schema}})
}

// OllamaMessages reads messages as a chat's.
func OllamaMessages(f param.Fields) (json.RawMessage, error) {
	var list []json.RawMessage
	if _, err := f.Take("messages", &list); err != nil {
		return nil, err
	}
	out := make([]param.Fields, len(list))
	for i, raw := range list {
		m, err := param.ReadObject(raw)
		if err != nil {
			return nil, param.Within(fmt.Sprintf("messages[%d]", i), err)
		}
		if images, ok := m["images"]; ok && string(images) != "[]" {
			return nil, param.Invalid("messages", "messages[%d] has images; only text is read", i)
		}
		delete(m, "images")
		for name, own := range map[string]string{"thinking": "reasoning_content", "tool_name": "name"} {
			if v, ok := m[name]; ok {
				m[own] = v
				delete(m, name)
			}
		}
		out[i] = m
	}
	return param.Encoded(out), nil
}
