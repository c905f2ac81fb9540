package endpoint

import (
	"context"
	"net/http"

	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/translate"
)

// Anthropic's messages (https://docs.anthropic.com/en/api/messages) are translated into a chat, so that they take the
// same steps: a message and a chat with the same prompt, parameters and seed have the same tokens. The answer is put
// into Anthropic's form (anthropicform.go).

// Messages answers POST messages of Anthropic's interface with that body for a tenant. The error is of a request that
// has got no answer yet; WriteAnthropic of ErrorOf gives it its form.
func (a *API) Messages(ctx context.Context, w http.ResponseWriter, tenant string, body []byte) error {
	return a.serve(ctx, w, tenant, body, readAnthropic, "msg_")
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
	chat, _, err := translate.AnthropicChat(f)
	if err != nil {
		return err
	}
	delete(chat, "response_format") // it is not part of the prompt
	if err := f.Refuse(anthropicLabels, anthropicUnsupported); err != nil {
		return err
	}
	_, p, err := readConversation(chat, m.Text)
	if err != nil {
		return err
	}
	param.Reply(w, http.StatusOK, param.Object{"input_tokens": len(p.tokens)})
	return nil
}

// readAnthropic reads the parameters of a message.
func readAnthropic(f param.Fields, t *Text) (*request, error) {
	if _, ok := f["max_tokens"]; !ok {
		return nil, param.Invalid("max_tokens", "max_tokens is missing; a message says how many tokens it may have")
	}
	chat, notes, err := translate.AnthropicChat(f)
	if err != nil {
		return nil, err
	}
	if chat["stop"], err = translate.StopSequences(f); err != nil {
		return nil, err
	}
	for _, name := range sharedParameters {
		if raw, ok := f[name]; ok {
			chat[name] = raw
			delete(f, name)
		}
	}
	if err := f.Refuse(anthropicLabels, anthropicUnsupported); err != nil {
		return nil, err
	}
	clear(f)
	r, err := readChat(chat, t)
	if err != nil {
		return nil, param.Renamed(err, "response_format", "output_config.format")
	}
	r.shape.rename("output_config.format")
	r.form, r.notes = &messageForm{}, append(notes, r.notes...)
	return r, chat.Rest()
}

// sharedParameters have the same name and meaning in a message and in a chat. Those after stream are vLLM's.
var sharedParameters = []string{"max_tokens", "temperature", "top_p", "top_k", "stream", "min_p", "seed",
	"stop_token_ids", "return_token_ids", "logprobs", "top_logprobs", "cache_salt"}

// anthropicLabels are parameters that do not change an answer: names for accounting, and marks for a cache, which is
// automatic here.
var anthropicLabels = []string{"metadata", "cache_control", "user_profile_id", "workspace_id"}

// anthropicUnsupported are the parameters of Anthropic's interface that are refused unless they ask for what happens
// anyway.
var anthropicUnsupported = param.Refusals{
	"container":     {nil, "nothing is executed here; leave it out"},
	"mcp_servers":   {[]string{"[]"}, "give the tools in tools"},
	"service_tier":  {[]string{`"auto"`, `"standard_only"`}, "leave it out"},
	"speed":         {[]string{`"standard"`}, "leave it out"},
	"inference_geo": {nil, "leave it out"},
	"diagnostics":   {nil, "leave it out"},
	"context_management": {[]string{`{"edits":[]}`,
		`{"edits":[{"keep":"all","type":"clear_thinking_20251015"}]}`}, "the messages are read as they are"},
}
