package server

import (
	"context"
	"net/http"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// answerer is a handler of package endpoint.
type answerer = func(ctx context.Context, w http.ResponseWriter, tenant string, body []byte) error

// Where clients look for the interfaces. vLLM has its routes for tokens at the root, and clients take /v1 or the
// route's name off the address that they were given. The calls of a session are recorded; an id is the same under both
// of its prefixes.
var (
	openaiAt    = []string{"/oai/api/v1", "/v1"}
	anthropicAt = []string{"/anthropic/api/v1", "/v1"}
	tokensAt    = []string{"", "/v1", "/oai/api", "/oai/api/v1"}
	generateAt  = []string{"", "/oai/api"}
	recordedAt  = []string{"/sessions/{session}", "/rollouts/{session}"}
)

// routes adds the routes of all interfaces.
func (s *endpoints) routes() {
	api := endpoint.New(s, s.life.now)
	s.modelRoutes(api)
	s.ollamaRoutes(api)
	s.post(openaiAt, s.failOpenAI, map[string]answerer{"/chat/completions": api.Chat,
		"/chat/completions/tokens": api.ChatTokens, "/completions": api.Complete, "/responses": api.Respond})
	s.post(anthropicAt, s.failAnthropic, map[string]answerer{"/messages": api.Messages,
		"/messages/count_tokens": api.CountTokens})
	s.post(tokensAt, s.failOpenAI, map[string]answerer{"/tokenize": api.Tokenize, "/detokenize": api.Detokenize})
	s.post(generateAt, s.failOpenAI, map[string]answerer{"/inference/v1/generate": api.Generate})
	s.post(recordedAt, s.failOpenAI, map[string]answerer{"/v1/chat/completions": api.Chat,
		"/v1/chat/completions/tokens": api.ChatTokens, "/v1/completions": api.Complete, "/v1/responses": api.Respond,
		"/inference/v1/generate": api.Generate})
	s.post(recordedAt, s.failAnthropic, map[string]answerer{"/v1/messages": api.Messages,
		"/v1/messages/count_tokens": api.CountTokens})
	for _, prefix := range tokensAt {
		s.edge.onOther("GET "+prefix+"/tokenizer_info", noBody, func(c *call) (any, error) {
			return answered(api.TokenizerInfo(c.ctx, c.w, c.tenant, c.r.URL.Query().Get("model")))
		}, s.failOpenAI)
	}
	for _, prefix := range recordedAt {
		s.edge.onOther("GET "+prefix+"/v1/models", noBody, s.plain(api.List), s.failOpenAI)
		s.edge.onOther("GET "+prefix+"/traces", noBody, s.traces, s.failOpenAI)
		s.edge.onOther("DELETE "+prefix, noBody, s.forgetTraces, s.failOpenAI)
	}
	for _, path := range []string{"/v1/embeddings", "/oai/api/v1/embeddings", "/api/embed", "/api/embeddings"} {
		s.edge.onOther("POST "+path, ignoredBody, noEmbeddings, s.fail)
	}
}

// post serves paths below each prefix.
func (s *endpoints) post(prefixes []string, fail failure, paths map[string]answerer) {
	for _, prefix := range prefixes {
		for path, h := range paths {
			s.edge.onOther("POST "+prefix+path, largeBody, s.posted(h), fail)
		}
	}
}

// posted is the handler of a request with a body that package endpoint answers.
func (s *endpoints) posted(h answerer) handler {
	return func(c *call) (any, error) {
		ctx, release := s.life.until(c.ctx)
		defer release()
		ctx, err := withSession(ctx, c.r)
		if err != nil {
			return nil, err
		}
		return answered(h(ctx, c.w, c.tenant, c.body))
	}
}

// plain is the handler of a request without a body that package endpoint answers.
func (s *endpoints) plain(h func(context.Context, http.ResponseWriter, string) error) handler {
	return func(c *call) (any, error) { return answered(h(c.ctx, c.w, c.tenant)) }
}

// modelRoutes adds the lists of models, which at /v1 have the form of the client that asks.
func (s *endpoints) modelRoutes(api *endpoint.API) {
	for prefix, anthropic := range map[string]func(*http.Request) bool{
		"/oai/api/v1": func(*http.Request) bool { return false }, "/v1": endpoint.ForAnthropic,
		"/anthropic/api/v1": func(*http.Request) bool { return true }} {
		fail := func(w http.ResponseWriter, r *http.Request, err error) int {
			if anthropic(r) {
				return s.failAnthropic(w, r, err)
			}
			return s.failOpenAI(w, r, err)
		}
		s.edge.onOther("GET "+prefix+"/models", noBody, func(c *call) (any, error) {
			if anthropic(c.r) {
				return answered(api.ListAnthropic(c.ctx, c.w, c.tenant, c.r.URL.Query()))
			}
			return answered(api.List(c.ctx, c.w, c.tenant))
		}, fail)
		s.edge.onOther("GET "+prefix+"/models/{name...}", noBody, func(c *call) (any, error) {
			name := c.r.PathValue("name")
			if anthropic(c.r) {
				return answered(api.DescribeAnthropic(c.ctx, c.w, c.tenant, name))
			}
			return answered(api.Describe(c.ctx, c.w, c.tenant, name))
		}, fail)
	}
}

// ollamaRoutes adds Ollama's routes at the root, where its clients look for them.
func (s *endpoints) ollamaRoutes(api *endpoint.API) {
	s.edge.onOther("POST /api/chat", largeBody, s.posted(api.OllamaChat), s.failOllama)
	s.edge.onOther("POST /api/generate", largeBody, s.posted(api.OllamaGenerate), s.failOllama)
	s.edge.onOther("POST /api/show", smallBody, s.posted(api.OllamaShow), s.failOllama)
	s.edge.onOther("GET /api/tags", noBody, s.plain(api.OllamaTags), s.failOllama)
	s.edge.onOther("GET /api/ps", noBody, s.plain(api.OllamaLoaded), s.failOllama)
	s.edge.onOther("GET /api/version", noBody, s.plain(api.OllamaVersionOf), s.failOllama)
	s.edge.onOther("GET /{$}", noBody, func(c *call) (any, error) { // which clients send to see whether it is there
		write(c.w, http.StatusOK, "text/plain; charset=utf-8", []byte("trinity is running\n"))
		return nil, errAnswered
	}, s.failOllama)
}

// unknown answers routes that are not there.
func unknown(c *call) (any, error) {
	return nil, status(http.StatusNotFound, "%s %s is no route of this server; it has the Tinker protocol below %s, "+
		"and parts of the interfaces of OpenAI (/v1), Anthropic (/v1/messages) and Ollama (/api)", c.r.Method,
		c.r.URL.Path, wire.Prefix)
}

// noEmbeddings answers the routes that clients ask for embeddings. The status is one that no client repeats.
func noEmbeddings(c *call) (any, error) {
	return nil, status(http.StatusNotFound, "%s is not served: the models here generate text and give no embeddings; "+
		"set the client's embedding model to another server", c.r.URL.Path)
}

// fail writes an error in the form of the interface that the request's path belongs to.
func (s *endpoints) fail(w http.ResponseWriter, r *http.Request, err error) int {
	path := r.URL.Path
	below := func(prefix string) bool { return strings.HasPrefix(path, prefix+"/") }
	switch {
	case below("/anthropic"), below("/v1/messages"), below("/v1") && endpoint.ForAnthropic(r):
		return s.failAnthropic(w, r, err)
	case below("/v1"), below("/oai"):
		return s.failOpenAI(w, r, err)
	case below("/api") && !below(wire.Prefix):
		return s.failOllama(w, r, err)
	}
	return s.edge.fail(w, r, err)
}
