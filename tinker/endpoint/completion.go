package endpoint

import (
	"encoding/json"

	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

// completionTokens is the length of a completion that asks for none, as OpenAI's.
const completionTokens = 16

// readCompletion reads the parameters of a completion.
func readCompletion(f param.Fields, t *Text) (*request, error) {
	_, limited := f["max_tokens"]
	_, also := f["max_completion_tokens"]
	r, err := readCommon(f, t)
	if err != nil {
		return nil, err
	}
	if !limited && !also {
		r.params.MaxTokens = completionTokens
	}
	if _, err := f.Take("echo", &r.echo); err != nil {
		return nil, err
	}
	special := !t.Plain
	if _, err := f.Take("add_special_tokens", &special); err != nil {
		return nil, err
	}
	if err := readCompletionLogprobs(f, r); err != nil {
		return nil, err
	}
	switch {
	case r.silent && !r.echo:
		return nil, param.Invalid("max_tokens", "max_tokens is 0; only a request with echo may generate nothing")
	case r.echo && r.logprobs && r.stream:
		return nil, param.Invalid("echo", "echo with logprobs is not streamed; set stream to false")
	}
	raw, ok := f["prompt"]
	if !ok {
		return nil, param.Invalid("prompt", "prompt is missing")
	}
	delete(f, "prompt")
	r.prompts, err = readPrompts(raw, t, special)
	return r, err
}

// readCompletionLogprobs reads logprobs: the number of the likeliest tokens that are listed with each token.
func readCompletionLogprobs(f param.Fields, r *request) error {
	raw, ok := f["logprobs"]
	if !ok {
		return nil
	}
	delete(f, "logprobs")
	if json.Unmarshal(raw, &r.logprobs) == nil { // true or false, as for chats
		return nil
	}
	if json.Unmarshal(raw, &r.top) != nil || r.top < 0 || r.top > maxTop {
		return param.Invalid("logprobs", "logprobs is %s; it must be 0 to %d", param.Brief(raw), maxTop)
	}
	r.logprobs = true
	return nil
}

// readPrompts reads prompt: a text, a list of texts, a list of token ids, or a list of such lists.
func readPrompts(raw json.RawMessage, t *Text, special bool) ([]prompt, error) {
	var one string
	var texts []string
	var ids []int32
	var lists [][]int32
	switch {
	case json.Unmarshal(raw, &one) == nil:
		texts = []string{one}
	case json.Unmarshal(raw, &texts) == nil:
	case json.Unmarshal(raw, &ids) == nil:
		texts, lists = nil, [][]int32{ids}
	case json.Unmarshal(raw, &lists) == nil:
		texts = nil
	default:
		return nil, param.Invalid("prompt", "prompt is %s; it must be a text, a list of texts, a list of token ids or "+
			"a list of such lists", param.Brief(raw))
	}
	var out []prompt
	if n := len(texts) + len(lists); n > maxChoices {
		return nil, param.Invalid("prompt", "prompt has %d prompts; one request may have %d", n, maxChoices)
	}
	for _, text := range texts {
		ids, err := t.encode(text, special)
		if err != nil {
			return nil, err
		}
		out = append(out, prompt{tokens: ids, text: text})
	}
	for _, list := range lists {
		for i, id := range list {
			if id < 0 || int(id) >= t.Tokenizer.VocabSize() {
				return nil, param.Invalid("prompt", "token %d of the prompt is %d; the model has tokens 0 to %d", i, id,
					t.Tokenizer.VocabSize()-1)
			}
		}
		text, err := t.decode(list, true)
		if err != nil {
			return nil, err
		}
		out = append(out, prompt{tokens: list, text: text, fixed: true})
	}
	if len(out) == 0 {
		return nil, param.Invalid("prompt", "prompt is an empty list")
	}
	return out, nil
}
