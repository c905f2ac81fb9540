package endpoint

import (
	"encoding/json"
	"fmt"
)

// ollamaUnsupported are the parameters of Ollama's interface that are refused unless they ask for what happens anyway.
var ollamaUnsupported = refusals{
	"format":       {[]string{`""`}, "only text is generated; ask for the format in the prompt"},
	"template":     {[]string{`""`}, "the model's own template is used"},
	"suffix":       {[]string{`""`}, "leave it out"},
	"images":       {[]string{"[]"}, "only text is read"},
	"context":      {[]string{"[]"}, "use api/chat with the messages"},
	"truncate":     {[]string{"false"}, "prompts are not cut; shorten them"},
	"shift":        {[]string{"false"}, "an answer ends with its context"},
	"logprobs":     {[]string{"false"}, "use v1/chat/completions"},
	"top_logprobs": {[]string{"0"}, "use v1/chat/completions"},
}

// ollamaOptionsUnsupported are such options.
var ollamaOptionsUnsupported = refusals{
	"repeat_penalty":    {[]string{"1"}, "set it to 1 or leave it out"},
	"presence_penalty":  {[]string{"0"}, "leave it out"},
	"frequency_penalty": {[]string{"0"}, "leave it out"},
	"mirostat":          {[]string{"0"}, "leave it out"},
	"typical_p":         {[]string{"1"}, "leave it out"},
	"tfs_z":             {[]string{"1"}, "leave it out"},
}

// ollamaLabels are options that do not change an answer: how Ollama loads a model and keeps a prompt that it cuts, and
// settings of what is off.
var ollamaLabels = []string{"num_keep", "num_batch", "num_gpu", "main_gpu", "num_thread", "low_vram", "f16_kv",
	"logits_all", "vocab_only", "use_mmap", "use_mlock", "numa", "repeat_last_n", "penalize_newline", "mirostat_tau",
	"mirostat_eta"}

// ollamaOptions reads options into a chat or a completion, and returns num_ctx; 0 if there is none.
func ollamaOptions(f fields, own fields) (window int, err error) {
	o := fields{}
	if raw, ok := f["options"]; ok {
		delete(f, "options")
		if o, err = readObject(raw); err != nil {
			return 0, within("options", err)
		}
	}
	for _, name := range []string{"temperature", "top_p", "top_k", "min_p", "seed", "stop"} {
		if raw, ok := o[name]; ok {
			own[name] = raw
			delete(o, name)
		}
	}
	most := 0
	if _, err := o.take("num_predict", &most); err != nil {
		return 0, within("options", err)
	}
	if most > 0 { // 0, -1 and -2: to the end of the context
		own["max_tokens"] = encoded(most)
	}
	if _, err := o.take("num_ctx", &window); err != nil {
		return 0, within("options", err)
	}
	if window < 0 {
		return 0, invalid("options", "options: num_ctx is %d; it must be 1 or more", window)
	}
	return window, within("options", o.refuse(ollamaLabels, ollamaOptionsUnsupported))
}

// ollamaMessages reads messages as those of a chat.
func ollamaMessages(f fields) (json.RawMessage, error) {
	var list []json.RawMessage
	if _, err := f.take("messages", &list); err != nil {
		return nil, err
	}
	out := make([]fields, len(list))
	for i, raw := range list {
		m, err := readObject(raw)
		if err != nil {
			return nil, within(fmt.Sprintf("messages[%d]", i), err)
		}
		if images, ok := m["images"]; ok && string(images) != "[]" {
			return nil, invalid("messages", "messages[%d] has images; only text is read", i)
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
	return encoded(out), nil
}
