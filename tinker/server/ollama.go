package server

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
)

// ollamaRoutes adds the routes of Ollama's interface to mux, at the root, where its clients look for them.
func (s *Server) ollamaRoutes(mux *router, api *endpoint.API) {
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

// weightsInMemory is a Store that knows the base weights in memory, such as engine.Engine.
type weightsInMemory interface {
	// LoadedUntil reports whether base weights are in memory, and when they leave if nothing uses them; zero is never.
	LoadedUntil(baseModel string) (at time.Time, loaded bool)
	// UnloadBase unloads base weights that nothing uses and that no other owner has used, and reports whether they are
	// out of memory.
	UnloadBase(baseModel, owner string) bool
}

// Loaded implements endpoint.LoadedModels: the base models whose weights are in memory, and the tenant's checkpoints
// that requests without a sampling session use.
func (m *endpointModels) Loaded(ctx context.Context, tenant string) ([]endpoint.Card, error) {
	cards, err := m.List(ctx, tenant)
	if err != nil {
		return nil, err
	}
	engine, _ := m.s.opts.Store.(weightsInMemory)
	held := m.s.lentUntil(tenant)
	var loaded []endpoint.Card
	for _, c := range cards {
		there := false
		if strings.HasPrefix(c.ID, "tinker://") {
			c.Until, there = held[c.ID]
		} else if engine != nil {
			c.Until, there = engine.LoadedUntil(m.s.baseName(c.ID))
		}
		if there {
			loaded = append(loaded, c)
		}
	}
	return loaded, nil
}

// Unload implements endpoint.LoadedModels: weights that no other request, sampling session or training run uses leave
// memory at once, those of a base model only if no other tenant has used them.
func (m *endpointModels) Unload(ctx context.Context, tenant, name string) error {
	key, err := m.find(tenant, name)
	if err != nil {
		return err
	}
	if _, err := m.s.contextOf(ctx, key.base); err != nil {
		return err
	}
	m.s.mu.Lock()
	if l := m.s.lent[key]; l != nil && l.busy == 0 {
		m.s.drop(key)
	}
	m.s.mu.Unlock()
	if engine, ok := m.s.opts.Store.(weightsInMemory); ok && key.path == "" {
		engine.UnloadBase(key.base, tenant)
	}
	return nil
}
