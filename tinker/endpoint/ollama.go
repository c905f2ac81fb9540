package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/speech"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/translate"
)

// Ollama's interface (https://github.com/ollama/ollama/blob/main/docs/api.md), for editors and web interfaces that
// speak it. Its requests are translated into chats and completions, so that the same prompt, options and seed have the
// same tokens. Options that a request leaves out have the defaults of a chat here, not Ollama's.

// OllamaVersion is the version of Ollama whose interface this is. Clients refuse old ones.
const OllamaVersion = "0.12.6"

// OllamaChat answers POST api/chat with that body for a tenant, as Chat does for chats; WriteOllama of ErrorOf gives an
// error its form.
func (a *API) OllamaChat(ctx context.Context, w http.ResponseWriter, tenant string, body []byte) error {
	return a.ollama(ctx, w, tenant, body, "messages", readOllamaChat)
}

// OllamaGenerate answers POST api/generate.
func (a *API) OllamaGenerate(ctx context.Context, w http.ResponseWriter, tenant string, body []byte) error {
	return a.ollama(ctx, w, tenant, body, "prompt", readOllamaPrompt)
}

// ollama answers a request that says something in the parameter said, or loads its model if that is empty.
func (a *API) ollama(ctx context.Context, w http.ResponseWriter, tenant string, body []byte, said string,
	read func(param.Fields, *Text, *ollamaForm) (*request, error)) error {
	f, err := param.ReadFields(body)
	if err != nil {
		return err
	}
	keep, err := readKeepAlive(f)
	if err != nil {
		return err
	}
	t := &timedModels{Models: a.models, begun: time.Now()}
	timed := &API{models: t, now: a.now, pacer: a.pacer}
	form := &ollamaForm{times: t, now: a.now, key: "message"}
	if said == "prompt" {
		form.key = "response"
	}
	if raw := string(f[said]); raw == "" || raw == "[]" || raw == `""` {
		return timed.loadOllama(ctx, w, tenant, f, form, keep)
	}
	w.Header().Set("Content-Type", "application/x-ndjson") // of a stream
	err = timed.serve(ctx, w, tenant, body, func(f param.Fields, text *Text) (*request, error) {
		delete(f, "keep_alive")
		return read(f, text, form)
	}, "")
	if m, ok := a.models.(LoadedModels); ok && err == nil && !keep {
		name := ""
		if _, err := f.Take("model", &name); err == nil {
			m.Unload(ctx, tenant, name) // the answer is written: an error has no reader
		}
	}
	return err
}

// readKeepAlive reads keep_alive, a duration or seconds, and reports whether the model may stay. It has no effect
// beyond
// that: how long weights stay that are not used is the server's setting.
func readKeepAlive(f param.Fields) (stays bool, err error) {
	raw, ok := f["keep_alive"]
	if !ok {
		return true, nil
	}
	var seconds float64
	var text string
	if json.Unmarshal(raw, &seconds) == nil {
		return seconds != 0, nil
	}
	if json.Unmarshal(raw, &text) == nil {
		d, err := time.ParseDuration(text)
		if err == nil || text == "" {
			return text == "" || d != 0, nil
		}
	}
	return false, param.Invalid("keep_alive", "keep_alive is %s; it must be a duration, such as \"5m\", or seconds",
		param.Brief(raw))
}

// loadOllama answers a request that only wants its model loaded, or unloaded.
func (a *API) loadOllama(ctx context.Context, w http.ResponseWriter, tenant string, f param.Fields, form *ollamaForm,
	stays bool) error {
	name := ""
	if _, err := f.Take("model", &name); err != nil {
		return err
	}
	reason := "load"
	known, unloads := form.times.Models.(LoadedModels)
	if !stays {
		reason = "unload"
	}
	if !stays && unloads {
		if err := known.Unload(ctx, tenant, name); err != nil {
			return err
		}
	} else {
		m, err := a.models.Open(ctx, tenant, name)
		if err != nil {
			return err
		}
		m.Close()
	}
	b := form.head(name)
	form.put(b, speech.Part{})
	b["done"], b["done_reason"] = true, reason
	param.Reply(w, http.StatusOK, b)
	return nil
}

// readOllamaChat reads the parameters of api/chat.
func readOllamaChat(f param.Fields, t *Text, form *ollamaForm) (*request, error) {
	messages, err := translate.OllamaMessages(f)
	if err != nil {
		return nil, err
	}
	own := param.Fields{"messages": messages}
	if tools, ok := f["tools"]; ok && string(tools) != "[]" {
		own["tools"] = tools
	}
	delete(f, "tools")
	return readOllama(f, t, form, own, readChat)
}

// readOllamaPrompt reads the parameters of api/generate. The prompt is a user's message unless it is raw.
func readOllamaPrompt(f param.Fields, t *Text, form *ollamaForm) (*request, error) {
	prompt, system, raw := "", "", false
	_, err1 := f.Take("prompt", &prompt)
	_, err2 := f.Take("system", &system)
	_, err3 := f.Take("raw", &raw)
	for _, err := range []error{err1, err2, err3} {
		if err != nil {
			return nil, err
		}
	}
	if raw || t.Template == nil {
		if system != "" {
			return nil, param.Invalid("system", "a raw prompt, or a model without a chat template, has no system "+
				"message; put it into the prompt")
		}
		return readOllama(f, t, form, param.Fields{"prompt": param.Encoded(prompt)}, readOllamaRaw)
	}
	messages := []param.Object{{"role": "user", "content": prompt}}
	if system != "" {
		messages = slices.Insert(messages, 0, param.Object{"role": "system", "content": system})
	}
	return readOllama(f, t, form, param.Fields{"messages": param.Encoded(messages)}, readChat)
}

// readOllamaRaw is readCompletion without its default length.
func readOllamaRaw(f param.Fields, t *Text) (*request, error) {
	_, limited := f["max_tokens"]
	r, err := readCompletion(f, t)
	if err == nil && !limited {
		r.params.MaxTokens = 0
	}
	return r, err
}

// readOllama reads what both routes have into own, a chat or a completion, which is then read.
func readOllama(f param.Fields, t *Text, form *ollamaForm, own param.Fields,
	read func(param.Fields, *Text) (*request, error)) (*request, error) {
	stream := true
	if _, err := f.Take("stream", &stream); err != nil {
		return nil, err
	}
	window, err := translate.OllamaOptions(f, own)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(readOllamaThink(f, t, own), translate.OllamaFormat(f, own)); err != nil {
		return nil, first(err)
	}
	if err := f.Refuse(nil, translate.OllamaUnsupported); err != nil {
		return nil, err
	}
	clear(f)
	r, err := read(own, t)
	if err != nil {
		return nil, param.Renamed(err, "response_format", "format")
	}
	r.shape.rename("format")
	r.stream, r.form = stream, form
	if err := own.Rest(); err != nil {
		return nil, err
	}
	return r, r.within(window, form.times.context)
}

// readOllamaThink reads think. Without it the template decides.
func readOllamaThink(f param.Fields, t *Text, own param.Fields) error {
	think := false
	there, err := f.Take("think", &think)
	if err != nil || !there {
		return err
	}
	thinks := t.thinks()
	if think && !thinks {
		return param.Invalid("think", "think is true and the model's chat template has no thoughts; leave it out")
	}
	if _, messages := own["messages"]; thinks && messages {
		own["chat_template_kwargs"] = param.Encoded(map[string]bool{"enable_thinking": think})
	}
	return nil
}

// thinks reports whether the chat template has thoughts.
func (t *Text) thinks() bool {
	text := t.template()
	return strings.Contains(text, "enable_thinking") || strings.Contains(text, speech.ThinkOpen)
}

// mayThink reports whether an answer may begin with a thought.
func (t *Text) mayThink(o *chat.Options) bool {
	said := o.EnableThinking == nil || *o.EnableThinking
	if v, ok := o.Variables.Get("enable_thinking"); ok {
		said = v != false
	}
	return said && t.thinks()
}

// template is the text of the chat template; "" if there is none.
func (t *Text) template() string {
	text, _ := t.Config["chat_template"].(string)
	return text
}

// within shortens the answer to the room that a window of tokens, and the model's context, leave beside the prompt. 0
// is no window of its own.
func (r *request) within(window, context int) error {
	prompt, p := len(r.prompts[0].tokens), &r.params
	limit := context
	if window > 0 {
		limit = min(limit, window)
	}
	if window > 0 && window < context && prompt >= window {
		return param.Invalid("num_ctx", "num_ctx is %d and the prompt has %d tokens; prompts are not cut: raise "+
			"num_ctx, or shorten the messages", window, prompt)
	}
	if left := limit - prompt; left > 0 && (p.MaxTokens > left || window > 0 && p.MaxTokens == 0) {
		p.MaxTokens = left
	}
	return nil
}
