package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// OpenAI's interface (package openai) is served for every base model and every sampler checkpoint, under the prefix of
// the hosted service and under that of other servers. Its samples share the engine's batch and the fairness between
// tenants with those of the Tinker protocol. They are not durable: a client that loses its connection asks again.

// openaiPrefixes are the paths of OpenAI's interface.
var openaiPrefixes = []string{"/oai/api/v1", "/v1"}

// openaiRoutes adds the routes to mux.
func (s *Server) openaiRoutes(mux *router) {
	api := endpoint.New(&endpointModels{s}, s.opts.Now)
	for _, prefix := range openaiPrefixes {
		on := func(pattern string, kind bodyKind, h func(*call) (any, error)) {
			method, path, _ := strings.Cut(pattern, " ")
			pattern = method + " " + prefix + path
			mux.Handle(pattern, s.handlerFailing(pattern, kind, h, s.failOpenAI))
		}
		on("POST /chat/completions", largeBody, s.posted(api.Chat))
		on("POST /chat/completions/tokens", largeBody, s.posted(api.ChatTokens))
		on("POST /completions", largeBody, s.posted(api.Complete))
		on("POST /responses", largeBody, s.posted(api.Respond))
	}
	s.modelRoutes(mux, api)
	s.tokenRoutes(mux, api)
	s.anthropicRoutes(mux, api)
	s.ollamaRoutes(mux, api)
	s.recordedRoutes(mux, api)
	s.embeddingRoutes(mux)
}

// modelRoutes adds the lists of models, which at /v1 have the form of the client that asks.
func (s *Server) modelRoutes(mux *router, api *endpoint.API) {
	for prefix, anthropic := range map[string]func(*http.Request) bool{
		"/oai/api/v1": func(*http.Request) bool { return false }, "/v1": endpoint.ForAnthropic,
		"/anthropic/api/v1": func(*http.Request) bool { return true }} {
		fail := func(w http.ResponseWriter, r *http.Request, err error) int {
			if anthropic(r) {
				return s.failAnthropic(w, r, err)
			}
			return s.failOpenAI(w, r, err)
		}
		on := func(pattern string, h func(*call) (any, error)) {
			mux.Handle(pattern, s.handlerFailing(pattern, noBody, h, fail))
		}
		on("GET "+prefix+"/models", func(c *call) (any, error) {
			if anthropic(c.r) {
				return answered(api.ListAnthropic(c.ctx, c.w, c.tenant, c.r.URL.Query()))
			}
			return answered(api.List(c.ctx, c.w, c.tenant))
		})
		on("GET "+prefix+"/models/{name...}", func(c *call) (any, error) {
			if name := c.r.PathValue("name"); anthropic(c.r) {
				return answered(api.DescribeAnthropic(c.ctx, c.w, c.tenant, name))
			} else {
				return answered(api.Describe(c.ctx, c.w, c.tenant, name))
			}
		})
	}
}

// posted is the handler of a request with a body that package openai answers.
func (s *Server) posted(h func(context.Context, http.ResponseWriter, string, []byte) error) func(*call) (any, error) {
	return func(c *call) (any, error) {
		ctx, release := s.until(c.ctx)
		defer release()
		ctx, err := withSession(ctx, c.r)
		if err != nil {
			return nil, err
		}
		return answered(h(ctx, c.w, c.tenant, c.body))
	}
}

// answered is what a handler returns that has written its answer unless there was an error.
func answered(err error) (any, error) {
	if err == nil {
		err = errAnswered
	}
	return nil, err
}

// until returns a context that also ends when the server closes.
func (s *Server) until(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.ctx, func() { cancel(context.Cause(s.ctx)) })
	return ctx, func() { stop(); cancel(nil) }
}

// failOpenAI writes an error as OpenAI's clients read it, and returns its status.
func (s *Server) failOpenAI(w http.ResponseWriter, r *http.Request, err error) int {
	return s.openaiError(r, err).Write(w)
}

// openaiError is what clients of package openai are told of an error.
func (s *Server) openaiError(r *http.Request, err error) *endpoint.Error {
	e := *endpoint.ErrorOf(err)
	var se *statusError
	code := codeOf(err)
	switch {
	case errors.As(err, &se) && se.Status == http.StatusUnauthorized:
		e.Code = "invalid_api_key"
		e.Message = "Incorrect API key provided: " + e.Message // words by which LiteLLM knows the error
	case e.Status == http.StatusInternalServerError && code != e.Status: // such as a malformed body
		e.Status, e.Type = code, "invalid_request_error"
	}
	if errors.Is(err, tinker.ErrBusy) {
		s.stats.pushedBack.Inc()
	}
	if e.Status >= 500 && e.Status != http.StatusServiceUnavailable {
		s.opts.Log.Error("request failed", "path", r.URL.Path, "status", e.Status, "error", err)
	}
	e.Message = s.hide(e.Message)
	return &e
}

// endpointModels finds models for package openai.
type endpointModels struct{ s *Server }

// Open implements endpoint.Models: a base model, a tinker:// path of sampler weights, or both with a semicolon between
// them.
func (m *endpointModels) Open(ctx context.Context, tenant, name string) (*endpoint.Model, error) {
	s, arrived := m.s, time.Now()
	key, err := m.find(tenant, name)
	if err != nil {
		return nil, err
	}
	length, err := s.contextOf(ctx, key.base)
	if err != nil {
		return nil, err
	}
	text, err := s.texts.get(s, key.base)
	if err != nil {
		return nil, err
	}
	client, release, err := s.lend(ctx, key)
	if err != nil {
		return nil, err
	}
	measured := s.stats.endpoint.measure(client, s.told(key.base), arrived,
		func(phase string, n int) { s.activity.done(tenant, phase, n) })
	model := &endpoint.Model{Text: text, Context: length, Sampler: measured,
		Close: func() { measured.close(); release() }}
	if session, ok := ctx.Value(sessionKey{}).(string); ok {
		model.Keeper = &tracer{s: s, of: traceOwner{tenant, session}, model: name, begun: arrived}
	}
	return model, nil
}

// find returns the weights that a tenant means by a name.
func (m *endpointModels) find(tenant, name string) (lentKey, error) {
	s := m.s
	if strings.Contains(name, "tinker://") {
		name = strings.TrimSuffix(name, latest)
	}
	base, path := name, ""
	if at := strings.LastIndex(name, "tinker://"); at == 0 {
		base, path = "", name
	} else if at > 0 && name[at-1] == ';' {
		base, path = name[:at-1], name[at:]
	}
	key := lentKey{tenant: tenant, base: s.baseName(base), path: path}
	if path != "" {
		k, err := s.readable(tenant, path, "")
		if err != nil {
			return key, err
		}
		if base != "" && key.base != k.BaseModel {
			return key, tinker.Userf("model %q: the checkpoint is of base model %q", name, k.BaseModel)
		}
		key.base, key.seq = k.BaseModel, k.SeqID
	}
	return key, nil
}

// contextOf is the context length of a base model in tokens.
func (s *Server) contextOf(ctx context.Context, base string) (int, error) {
	caps, err := s.backend.Capabilities(ctx)
	if err != nil {
		return 0, err
	}
	for _, m := range caps.Models {
		if m.Name == base {
			return m.ContextLength, nil
		}
	}
	return 0, fmt.Errorf("model %q: %w; GET /v1/models lists the names", s.told(base), tinker.ErrNotFound)
}

// List implements endpoint.Models.
func (m *endpointModels) List(ctx context.Context, tenant string) ([]endpoint.Card, error) {
	c := &call{ctx: ctx, tenant: tenant, r: new(http.Request)}
	v, err := m.s.capabilities(c)
	if err != nil {
		return nil, err
	}
	caps, _ := v.(wire.Capabilities)
	var out []endpoint.Card
	length := map[string]int{}
	for _, b := range caps.SupportedModels {
		out = append(out, endpoint.Card{ID: b.ModelName, Context: b.MaxContextLength, Kind: "base"})
		length[b.ModelName] = b.MaxContextLength
	}
	list, err := m.s.checkpoints(c, "")
	if err != nil {
		return nil, err
	}
	for _, k := range list {
		if k.Path.Kind == tinker.KindSampler {
			out = append(out, endpoint.Card{ID: k.Path.String(), Created: k.Time, Context: length[k.BaseModel],
				Parent: k.BaseModel, Kind: "sampler", Size: k.Size})
		}
	}
	return out, nil
}
