package endpoint

import (
	"context"
	"net/http"
)

// Answerer answers a tenant's request, or returns an error that is not yet sent.
type Answerer = func(ctx context.Context, w http.ResponseWriter, tenant string, body []byte) error

// Route is a POST route that asks the model of its request.
type Route struct {
	Path      string // as below https://api.openai.com, https://api.anthropic.com or vLLM's address
	Answer    Answerer
	Anthropic bool // errors have Anthropic's form, else OpenAI's
}

// Routes lists the routes that ask a model in the interfaces of OpenAI, Anthropic and vLLM. Programs that mount the
// API serve them, below prefixes of their own.
func (a *API) Routes() []Route {
	return []Route{
		{Path: "/v1/chat/completions", Answer: a.Chat},
		{Path: "/v1/chat/completions/tokens", Answer: a.ChatTokens},
		{Path: "/v1/completions", Answer: a.Complete},
		{Path: "/v1/responses", Answer: a.Respond},
		{Path: "/v1/messages", Answer: a.Messages, Anthropic: true},
		{Path: "/v1/messages/count_tokens", Answer: a.CountTokens, Anthropic: true},
		{Path: "/inference/v1/generate", Answer: a.Generate},
	}
}

// ListFor answers GET /v1/models in the form of the client that asks.
func (a *API) ListFor(w http.ResponseWriter, r *http.Request, tenant string) error {
	if ForAnthropic(r) {
		return a.ListAnthropic(r.Context(), w, tenant, r.URL.Query())
	}
	return a.List(r.Context(), w, tenant)
}
