package endpoint

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/translate"
)

// OpenAI's responses (https://platform.openai.com/docs/api-reference/responses) are translated into a chat, as messages
// are (anthropic.go). Nothing is stored: a client sends the whole conversation each time.

// Respond answers POST responses with that body for a tenant, as Chat does for chats.
func (a *API) Respond(ctx context.Context, w http.ResponseWriter, tenant string, body []byte) error {
	return a.serve(ctx, w, tenant, body, readResponse, "resp_")
}

// responseUnsupported are the parameters of responses that are refused unless they ask for what happens anyway, besides
// those of chats.
var responseUnsupported = param.Refusals{
	"previous_response_id": {nil, "answers are not stored; send the earlier items in input"},
	"conversation":         {nil, "conversations are not stored; send the earlier items in input"},
	"prompt":               {nil, "prompts are not stored; send the text in input"},
	"background":           {[]string{"false"}, "use stream"},
	"max_tool_calls":       {nil, "nothing is executed here; leave it out"},
	"truncation":           {[]string{`"disabled"`}, "shorten the input"},
	"store":                {[]string{"true", "false"}, "answers are not stored"},
	"service_tier":         param.Unsupported["service_tier"],
	"stream_options":       {[]string{"{}", `{"include_obfuscation":false}`}, "leave it out"},
	"top_logprobs":         {[]string{"0"}, "it needs include: [\"" + translate.IncludeLogprobs + "\"]"},
	"context_management":   {[]string{"[]"}, "the input is read as it is"},
	"moderation":           {nil, "leave it out"},
}

// responseEcho are the parameters that a response repeats, with the value of a missing one.
var responseEcho = map[string]string{"instructions": "null", "max_output_tokens": "null", "metadata": "{}",
	"parallel_tool_calls": "true", "temperature": "1", "tool_choice": `"auto"`, "tools": "[]", "top_logprobs": "0",
	"top_p": "1", "text": `{"format":{"type":"text"}}`, "reasoning": `{"effort":null,"summary":null}`}

// responseNames are the names in chats of the parameters that mean the same.
var responseNames = map[string]string{"max_output_tokens": "max_tokens", "temperature": "temperature",
	"top_p": "top_p", "parallel_tool_calls": "parallel_tool_calls", "stream": "stream",
	"chat_template_kwargs": "chat_template_kwargs", "top_k": "top_k", "min_p": "min_p", "seed": "seed",
	"stop_token_ids": "stop_token_ids", "return_token_ids": "return_token_ids",
	"cache_salt": "cache_salt"}

// readResponse reads the parameters of a response.
func readResponse(f param.Fields, t *Text) (*request, error) {
	form := &responseForm{echo: param.Object{}}
	for name, missing := range responseEcho {
		form.echo[name] = json.RawMessage(missing)
		if raw, ok := f[name]; ok {
			form.echo[name] = raw
		}
	}
	chat := param.Fields{}
	var err error
	if chat["messages"], err = translate.ResponseMessages(f); err != nil {
		return nil, err
	}
	notes, err := translate.ResponseTools(f, chat)
	if err != nil {
		return nil, err
	}
	more, err := translate.ResponseText(f, chat)
	if err != nil {
		return nil, first(err)
	}
	for name, own := range responseNames {
		if raw, ok := f[name]; ok {
			chat[own] = raw
			delete(f, name)
		}
	}
	spoken, err := translate.ResponseInclude(f)
	if err != nil {
		return nil, err
	}
	if spoken {
		chat["logprobs"] = json.RawMessage("true")
		if top, ok := f["top_logprobs"]; ok {
			chat["top_logprobs"] = top
			delete(f, "top_logprobs")
		}
	}
	if err := f.Refuse(append([]string{"client_metadata"}, param.Labels...), responseUnsupported); err != nil {
		return nil, err
	}
	clear(f)
	r, err := readChat(chat, t)
	if err != nil {
		return nil, param.Renamed(err, "response_format", "text.format")
	}
	r.shape.rename("text.format")
	r.form, r.spoken, r.notes = form, spoken, append(append(notes, more...), r.notes...)
	return r, chat.Rest()
}
