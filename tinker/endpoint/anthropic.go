package endpoint

import (
	"context"
	"encoding/json"
	"net/http"
)

// Anthropic's messages (https://docs.anthropic.com/en/api/messages) are translated into a chat, so that they take the
// same steps: a message and a chat with the same prompt, parameters and seed have the same tokens. The answer is put
// into Anthropic's form (anthropicform.go).

// Messages answers POST messages of Anthropic's interface with that body for a tenant. The error is of a request that
// has got no answer yet; WriteAnthropic of ErrorOf gives it its form.
func (a *API) Messages(ctx context.Context, w http.ResponseWriter, tenant string, body []byte) error {
	return a.serve(ctx, w, tenant, body, fields.readAnthropic, "msg_")
}

// CountTokens answers POST messages/count_tokens: the length of the prompt that the same request of Messages has.
func (a *API) CountTokens(ctx context.Context, w http.ResponseWriter, tenant string, body []byte) error {
	o, err := a.open(ctx, tenant, body)
	if err != nil {
		return err
	}
	defer o.done()
	f, m := o.fields, o.model
	defer m.Close()
	chat, err := f.translate()
	if err != nil {
		return err
	}
	if err := f.refuse(anthropicLabels, anthropicUnsupported); err != nil {
		return err
	}
	_, p, err := chat.conversation(m.Text)
	if err != nil {
		return err
	}
	reply(w, http.StatusOK, object{"input_tokens": len(p.tokens)})
	return nil
}

// readAnthropic reads the parameters of a message.
func (f fields) readAnthropic(t *Text) (*request, error) {
	if _, ok := f["max_tokens"]; !ok {
		return nil, invalid("max_tokens", "max_tokens is missing; a message says how many tokens it may have")
	}
	chat, err := f.translate()
	if err != nil {
		return nil, err
	}
	if chat["stop"], err = f.stopSequences(); err != nil {
		return nil, err
	}
	for _, name := range sharedParameters {
		if raw, ok := f[name]; ok {
			chat[name] = raw
			delete(f, name)
		}
	}
	if err := f.refuse(anthropicLabels, anthropicUnsupported); err != nil {
		return nil, err
	}
	clear(f)
	r, err := chat.readChat(t)
	if err != nil {
		return nil, err
	}
	r.form = &messageForm{}
	return r, chat.rest()
}

// sharedParameters have the same name and meaning in a message and in a chat. Those after stream are vLLM's.
var sharedParameters = []string{"max_tokens", "temperature", "top_p", "top_k", "stream", "min_p", "seed",
	"stop_token_ids", "return_token_ids", "logprobs", "top_logprobs", "cache_salt"}

// anthropicLabels are parameters that do not change an answer: names for accounting, and marks for a cache, which is
// automatic here.
var anthropicLabels = []string{"metadata", "cache_control", "user_profile_id", "workspace_id"}

// anthropicUnsupported are the parameters of Anthropic's interface that are refused unless they ask for what happens
// anyway.
var anthropicUnsupported = refusals{
	"container":     {nil, "nothing is executed here; leave it out"},
	"mcp_servers":   {[]string{"[]"}, "give the tools in tools"},
	"service_tier":  {[]string{`"auto"`, `"standard_only"`}, "leave it out"},
	"speed":         {[]string{`"standard"`}, "leave it out"},
	"inference_geo": {nil, "leave it out"},
	"diagnostics":   {nil, "leave it out"},
	"output_config": {[]string{"{}", `{"effort":"high"}`}, "only text is generated, at one effort; leave it out"},
	"output_format": {nil, "only text is generated; ask for the format in the prompt"},
	"context_management": {[]string{`{"edits":[]}`,
		`{"edits":[{"keep":"all","type":"clear_thinking_20251015"}]}`}, "the messages are read as they are"},
}

// translate takes the conversation of a message out of f and returns it as a chat has it.
func (f fields) translate() (fields, error) {
	messages, err := f.anthropicMessages()
	if err != nil {
		return nil, err
	}
	chat := fields{"messages": messages}
	if err := f.anthropicTools(chat); err != nil {
		return nil, err
	}
	return chat, f.thinking(chat)
}

// stopSequences reads stop_sequences as stop of a chat.
func (f fields) stopSequences() (json.RawMessage, error) {
	var list []string
	if _, err := f.take("stop_sequences", &list); err != nil {
		return nil, err
	}
	if len(list) > maxStops {
		return nil, invalid("stop_sequences", "stop_sequences has %d texts; it may have %d", len(list), maxStops)
	}
	for i, s := range list {
		if s == "" {
			return nil, invalid("stop_sequences", "stop_sequences[%d] is empty; leave it out", i)
		}
	}
	return encoded(append([]string{}, list...)), nil
}

// thinking reads thinking, as enable_thinking of the template, and the template's other variables.
func (f fields) thinking(chat fields) error {
	variables := fields{}
	if _, err := f.take("chat_template_kwargs", &variables); err != nil {
		return err
	}
	t := fields{}
	there, err := f.take("thinking", &t)
	if err != nil {
		return err
	}
	if there {
		if err := t.thinks(variables); err != nil {
			return err
		}
	}
	if len(variables) > 0 {
		chat["chat_template_kwargs"] = encoded(variables)
	}
	return nil
}

// thinks reads the members of thinking. What a model thinks counts as max_tokens; a budget of its own is not kept.
func (t fields) thinks(variables fields) error {
	kind, display, budget := "", "", 0
	if _, err := t.take("type", &kind); err != nil {
		return within("thinking", err)
	}
	if _, err := t.take("budget_tokens", &budget); err != nil {
		return within("thinking", err)
	}
	if _, err := t.take("display", &display); err != nil {
		return within("thinking", err)
	}
	switch kind {
	case "enabled", "disabled":
		variables["enable_thinking"] = encoded(kind == "enabled")
	case "adaptive": // the model decides, as it does without thinking
	default:
		return invalid("thinking", "thinking.type is %q; it must be enabled, disabled or adaptive", kind)
	}
	switch {
	case kind != "enabled" && budget != 0, budget < 0:
		return invalid("thinking", "thinking.budget_tokens is %d with type %s; leave it out", budget, kind)
	case display != "" && display != "summarized":
		return invalid("thinking", "thinking.display is %q; thoughts are shown", display)
	}
	return within("thinking", t.refuse(nil, nil))
}

// encoded is a value as JSON.
func encoded(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}
