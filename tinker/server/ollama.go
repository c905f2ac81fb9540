package server

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/tinker/openai"
)

// ollamaRoutes adds the routes of Ollama's interface to mux, at the root, where its clients look for them.
func (s *Server) ollamaRoutes(mux *router, api *openai.API) {
	on := func(pattern string, kind bodyKind, h func(*call) (any, error)) {
		mux.Handle(pattern, s.handlerFailing(pattern, kind, h, s.failOllama))
	}
	get := func(h func(context.Context, http.ResponseWriter, string) error) func(*call) (any, error) {
		return func(c *call) (any, error) { return answered(h(c.ctx, c.w, c.tenant)) }
	}
	on("POST /api/chat", largeBody, s.posted(api.OllamaChat))
	on("POST /api/generate", largeBody, s.posted(api.OllamaGenerate))
	on("POST /api/show", smallBody, s.posted(api.OllamaShow))
	on("GET /api/tags", noBody, get(api.OllamaTags))
	on("GET /api/ps", noBody, get(api.OllamaLoaded))
	on("GET /api/version", noBody, get(api.OllamaVersionOf))
	on("GET /{$}", noBody, func(c *call) (any, error) { // which clients send to see whether there is a server
		write(c.w, http.StatusOK, "text/plain; charset=utf-8", []byte("trinity is running\n"))
		return nil, errAnswered
	})
}

// failOllama writes an error as Ollama's clients read it, and returns its status.
func (s *Server) failOllama(w http.ResponseWriter, r *http.Request, err error) int {
	return s.openaiError(r, err).WriteOllama(w)
}

// latest is the tag that Ollama's clients add to a name without one.
const latest = ":latest"

// Loaded implements openai.LoadedModels: the base models whose weights were read, and the tenant's checkpoints that
// requests without a sampling session use.
func (m *endpointModels) Loaded(ctx context.Context, tenant string) ([]openai.Card, error) {
	cards, err := m.List(ctx, tenant)
	if err != nil {
		return nil, err
	}
	engine, _ := m.s.opts.Store.(interface{ Loaded(baseModel string) bool })
	m.s.mu.Lock()
	held := map[string]bool{}
	for key := range m.s.lent {
		if key.tenant == tenant && key.path != "" {
			held[key.path] = true
		}
	}
	m.s.mu.Unlock()
	return slices.DeleteFunc(cards, func(c openai.Card) bool {
		if strings.HasPrefix(c.ID, "tinker://") {
			return !held[c.ID]
		}
		return engine == nil || !engine.Loaded(m.s.baseName(c.ID))
	}), nil
}
