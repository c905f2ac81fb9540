// Package endpoints serves the interfaces of OpenAI, Anthropic, Ollama and vLLM (tinker/endpoint) for every base model
// and every sampler checkpoint, beside the Tinker protocol.
package endpoints

import (
	"context"
	"net/http"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/edge"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// Prefixes under which clients look for the interfaces. vLLM has its routes for tokens at the root, and clients take
// /v1 or the route's name off the address that they were given. The calls of a session are recorded; an id is the same
// under both of its prefixes.
var (
	openaiAt    = []string{"", "/oai/api"}
	anthropicAt = []string{"", "/anthropic/api"}
	TokensAt    = []string{"", "/v1", "/oai/api", "/oai/api/v1"}
	recordedAt  = []string{"/sessions/{session}", "/rollouts/{session}"}
)

// Routes adds the routes of all interfaces.
func (s *Endpoints) Routes() {
	api := endpoint.New(s, s.Life.Now)
	s.modelRoutes(api)
	s.ollamaRoutes(api)
	for _, r := range api.Routes() {
		at, fail := openaiAt, s.failOpenAI
		if r.Anthropic {
			at, fail = anthropicAt, s.failAnthropic
		}
		s.post(at, r.Path, r.Answer, fail)
		s.post(recordedAt, r.Path, r.Answer, fail)
	}
	s.post(TokensAt, "/tokenize", api.Tokenize, s.failOpenAI)
	s.post(TokensAt, "/detokenize", api.Detokenize, s.failOpenAI)
	for _, prefix := range TokensAt {
		s.Edge.OnOther("GET "+prefix+"/tokenizer_info", edge.NoBody, func(c *edge.Call) (any, error) {
			return edge.Answered(api.TokenizerInfo(c.Ctx, c.W, c.Tenant, c.R.URL.Query().Get("model")))
		}, s.failOpenAI)
	}
	for _, prefix := range recordedAt {
		s.Edge.OnOther("GET "+prefix+"/v1/models", edge.NoBody, s.plain(api.List), s.failOpenAI)
		s.Edge.OnOther("GET "+prefix+"/traces", edge.NoBody, s.traces, s.failOpenAI)
		s.Edge.OnOther("DELETE "+prefix, edge.NoBody, s.forgetTraces, s.failOpenAI)
	}
	for _, path := range []string{"/v1/embeddings", "/oai/api/v1/embeddings", "/api/embed", "/api/embeddings"} {
		s.Edge.OnOther("POST "+path, edge.IgnoredBody, noEmbeddings, s.Fail)
	}
}

// post serves a path below each prefix.
func (s *Endpoints) post(prefixes []string, path string, h endpoint.Answerer, fail edge.Failure) {
	for _, prefix := range prefixes {
		s.Edge.OnOther("POST "+prefix+path, edge.LargeBody, s.posted(h), fail)
	}
}

// posted is the handler of a request with a body that package endpoint answers.
func (s *Endpoints) posted(h endpoint.Answerer) edge.Handler {
	return func(c *edge.Call) (any, error) {
		ctx, release := s.Life.Until(c.Ctx)
		defer release()
		ctx, err := withSession(ctx, c.R)
		if err != nil {
			return nil, err
		}
		return edge.Answered(h(ctx, c.W, c.Tenant, c.Body))
	}
}

// plain is the handler of a request without a body that package endpoint answers.
func (s *Endpoints) plain(h func(context.Context, http.ResponseWriter, string) error) edge.Handler {
	return func(c *edge.Call) (any, error) { return edge.Answered(h(c.Ctx, c.W, c.Tenant)) }
}

// modelRoutes adds the lists of models, which at /v1 have the form of the client that asks.
func (s *Endpoints) modelRoutes(api *endpoint.API) {
	for prefix, anthropic := range map[string]func(*http.Request) bool{
		"/oai/api/v1": func(*http.Request) bool { return false }, "/v1": endpoint.ForAnthropic,
		"/anthropic/api/v1": func(*http.Request) bool { return true }} {
		fail := func(w http.ResponseWriter, r *http.Request, err error) int {
			if anthropic(r) {
				return s.failAnthropic(w, r, err)
			}
			return s.failOpenAI(w, r, err)
		}
		s.Edge.OnOther("GET "+prefix+"/models", edge.NoBody, func(c *edge.Call) (any, error) {
			if anthropic(c.R) {
				return edge.Answered(api.ListAnthropic(c.Ctx, c.W, c.Tenant, c.R.URL.Query()))
			}
			return edge.Answered(api.List(c.Ctx, c.W, c.Tenant))
		}, fail)
		s.Edge.OnOther("GET "+prefix+"/models/{name...}", edge.NoBody, func(c *edge.Call) (any, error) {
			name := c.R.PathValue("name")
			if anthropic(c.R) {
				return edge.Answered(api.DescribeAnthropic(c.Ctx, c.W, c.Tenant, name))
			}
			return edge.Answered(api.Describe(c.Ctx, c.W, c.Tenant, name))
		}, fail)
	}
}

// ollamaRoutes adds Ollama's routes at the root, as its clients expect.
func (s *Endpoints) ollamaRoutes(api *endpoint.API) {
	s.Edge.OnOther("POST /api/chat", edge.LargeBody, s.posted(api.OllamaChat), s.failOllama)
	s.Edge.OnOther("POST /api/generate", edge.LargeBody, s.posted(api.OllamaGenerate), s.failOllama)
	s.Edge.OnOther("POST /api/show", edge.SmallBody, s.posted(api.OllamaShow), s.failOllama)
	s.Edge.OnOther("GET /api/tags", edge.NoBody, s.plain(api.OllamaTags), s.failOllama)
	s.Edge.OnOther("GET /api/ps", edge.NoBody, s.plain(api.OllamaLoaded), s.failOllama)
	s.Edge.OnOther("GET /api/version", edge.NoBody, s.plain(api.OllamaVersionOf), s.failOllama)
	s.Edge.OnOther("GET /{$}", edge.NoBody, func(c *edge.Call) (any, error) {
		// clients send this to see whether there is a server
		edge.Write(c.W, http.StatusOK, "text/plain; charset=utf-8", []byte("trinity is running\n"))
		return nil, edge.ErrAnswered
	}, s.failOllama)
}

// Unknown answers routes that are not there.
func Unknown(c *edge.Call) (any, error) {
	return nil, edge.Status(http.StatusNotFound, "%s %s is no route of this server; it has the Tinker protocol below "+
		"%s, and parts of the interfaces of OpenAI (/v1), Anthropic (/v1/messages) and Ollama (/api)", c.R.Method,
		c.R.URL.Path, wire.Prefix)
}

// noEmbeddings answers the routes that clients ask for embeddings. The status is one that no client repeats.
func noEmbeddings(c *edge.Call) (any, error) {
	return nil, edge.Status(http.StatusNotFound, "%s is not served: the models here generate text and give no "+
		"embeddings; set the client's embedding model to another server", c.R.URL.Path)
}

// Fail writes an error in the form of the interface that the request's path belongs to.
func (s *Endpoints) Fail(w http.ResponseWriter, r *http.Request, err error) int {
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
	return s.Edge.Fail(w, r, err)
}
