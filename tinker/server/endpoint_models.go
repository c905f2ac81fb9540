package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
)

// endpoints serves the interfaces of OpenAI, Anthropic, Ollama and vLLM.
type endpoints struct {
	life    *life
	stats   *stats
	edge    *edge
	names   *baseModels
	saved   *checkpoints
	weights *weights
	store   Store
	texts   modelTexts
	traced  traceStore
}

// OpenAI's interface (package endpoint) is served for every base model and every sampler checkpoint, under the prefix
// of the hosted service and under that of other servers. Its samples share the engine's batch and the fairness between
// tenants with those of the Tinker protocol. They are not durable: a client that loses its connection asks again.

// failOpenAI writes an error as OpenAI's clients read it, and returns its status.
func (s *endpoints) failOpenAI(w http.ResponseWriter, r *http.Request, err error) int {
	return s.openaiError(r, err).Write(w)
}

// failAnthropic writes an error as Anthropic's clients read it, and returns its status.
func (s *endpoints) failAnthropic(w http.ResponseWriter, r *http.Request, err error) int {
	return s.openaiError(r, err).WriteAnthropic(w)
}

// failOllama writes an error as Ollama's clients read it, and returns its status.
func (s *endpoints) failOllama(w http.ResponseWriter, r *http.Request, err error) int {
	return s.openaiError(r, err).WriteOllama(w)
}

// openaiError is what clients of package endpoint are told of an error.
func (s *endpoints) openaiError(r *http.Request, err error) *endpoint.Error {
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
		s.stats.full()
	}
	if e.Status >= 500 && e.Status != http.StatusServiceUnavailable {
		s.life.log.Error("request failed", "path", r.URL.Path, "status", e.Status, "error", err)
	}
	e.Message = s.edge.hide(e.Message)
	return &e
}

// Open implements endpoint.Models: a base model, a tinker:// path of sampler weights, or both with a semicolon between
// them.
func (s *endpoints) Open(ctx context.Context, tenant, name string) (*endpoint.Model, error) {
	arrived := time.Now()
	key, err := s.find(tenant, name)
	if err != nil {
		return nil, err
	}
	length, err := s.names.contextOf(ctx, key.base)
	if err != nil {
		return nil, err
	}
	text, err := s.text(key.base)
	if err != nil {
		return nil, err
	}
	client, release, err := s.weights.lend(ctx, key)
	if err != nil {
		return nil, err
	}
	measured := s.stats.endpoint.measure(client, s.names.told(key.base), arrived,
		func(phase string, n int) { s.stats.activity.done(tenant, phase, n) })
	model := &endpoint.Model{Text: text, Context: length, Sampler: measured,
		Close: func() { measured.close(); release() }}
	if session, ok := ctx.Value(sessionKey{}).(string); ok {
		model.Keeper = &tracer{s: s, of: traceOwner{tenant, session}, model: name, begun: arrived}
	}
	return model, nil
}

// find returns the weights that a tenant means by a name.
func (s *endpoints) find(tenant, name string) (lentKey, error) {
	if strings.Contains(name, "tinker://") {
		name = strings.TrimSuffix(name, latest)
	}
	base, path := name, ""
	if at := strings.LastIndex(name, "tinker://"); at == 0 {
		base, path = "", name
	} else if at > 0 && name[at-1] == ';' {
		base, path = name[:at-1], name[at:]
	}
	key := lentKey{tenant: tenant, base: s.names.baseName(base), path: path}
	if path != "" {
		k, err := s.saved.Readable(tenant, path, "")
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

// List implements endpoint.Models.
func (s *endpoints) List(ctx context.Context, tenant string) ([]endpoint.Card, error) {
	caps, err := s.names.list(ctx)
	if err != nil {
		return nil, err
	}
	var out []endpoint.Card
	length := map[string]int{}
	for _, b := range caps.SupportedModels {
		out = append(out, endpoint.Card{ID: b.ModelName, Context: b.MaxContextLength, Kind: "base"})
		length[b.ModelName] = b.MaxContextLength
	}
	list, err := s.saved.List(ctx, tenant, "", true)
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
