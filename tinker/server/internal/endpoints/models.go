package endpoints

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/basemodel"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/checkpoint"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/edge"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/life"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/sampling"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/stats"
)

// Endpoints serves the interfaces of OpenAI, Anthropic, Ollama and vLLM.
type Endpoints struct {
	Life    *life.Life
	Stats   *stats.Stats
	Edge    *edge.Edge
	Names   *basemodel.Registry
	Saved   *checkpoint.Checkpoints
	Weights *sampling.Weights
	Store   checkpoint.Store
	texts   modelTexts
	traced  traceStore
}

// OpenAI's interface (package endpoint) is served for every base model and every sampler checkpoint, under the prefixes
// of the hosted service and of other servers. Its samples share the engine's batch, and the fairness between tenants,
// with samples of the Tinker protocol. They are not durable: a client that loses its connection asks again.

// failOpenAI writes an error as OpenAI's clients read it, and returns its status.
func (s *Endpoints) failOpenAI(w http.ResponseWriter, r *http.Request, err error) int {
	return s.openaiError(r, err).Write(w)
}

// failAnthropic writes an error as Anthropic's clients read it, and returns its status.
func (s *Endpoints) failAnthropic(w http.ResponseWriter, r *http.Request, err error) int {
	return s.openaiError(r, err).WriteAnthropic(w)
}

// failOllama writes an error as Ollama's clients read it, and returns its status.
func (s *Endpoints) failOllama(w http.ResponseWriter, r *http.Request, err error) int {
	return s.openaiError(r, err).WriteOllama(w)
}

// openaiError is an error as clients of package endpoint see it.
func (s *Endpoints) openaiError(r *http.Request, err error) *endpoint.Error {
	e := *endpoint.ErrorOf(err)
	var se *edge.StatusError
	code := edge.CodeOf(err)
	switch {
	case errors.As(err, &se) && se.Status == http.StatusUnauthorized:
		e.Code = "invalid_api_key"
		e.Message = "Incorrect API key provided: " + e.Message // words by which LiteLLM knows the error
	case e.Status == http.StatusInternalServerError && code != e.Status: // such as a malformed body
		e.Status, e.Type = code, "invalid_request_error"
	}
	if errors.Is(err, tinker.ErrBusy) {
		s.Stats.Full()
	}
	if e.Status >= 500 && e.Status != http.StatusServiceUnavailable {
		s.Life.Log.Error("request failed", "path", r.URL.Path, "status", e.Status, "error", err)
	}
	e.Message = s.Edge.Hide(e.Message)
	return &e
}

// Open implements endpoint.Models: a base model, a tinker:// path of sampler weights, or both with a semicolon between
// them.
func (s *Endpoints) Open(ctx context.Context, tenant, name string) (*endpoint.Model, error) {
	arrived := time.Now()
	key, err := s.find(tenant, name)
	if err != nil {
		return nil, err
	}
	length, err := s.Names.ContextOf(ctx, key.Base)
	if err != nil {
		return nil, err
	}
	text, err := s.text(key.Base)
	if err != nil {
		return nil, err
	}
	client, release, err := s.Weights.Lend(ctx, key)
	if err != nil {
		return nil, err
	}
	measured := s.Stats.Endpoint.Measure(client, s.Names.Told(key.Base), arrived,
		func(phase string, n int) { s.Stats.Activity.Done(tenant, phase, n) })
	model := &endpoint.Model{Text: text, Context: length, Sampler: measured,
		Close: func() { measured.Close(); release() }}
	if session, ok := ctx.Value(sessionKey{}).(string); ok {
		model.Keeper = &tracer{s: s, of: traceOwner{tenant, session}, model: name, begun: arrived}
	}
	return model, nil
}

// find returns the weights that a tenant means by a name.
func (s *Endpoints) find(tenant, name string) (sampling.LentKey, error) {
	if strings.Contains(name, "tinker://") {
		name = strings.TrimSuffix(name, latest)
	}
	base, path := name, ""
	if at := strings.LastIndex(name, "tinker://"); at == 0 {
		base, path = "", name
	} else if at > 0 && name[at-1] == ';' {
		base, path = name[:at-1], name[at:]
	}
	path = checkpoint.Sampled(path)
	key := sampling.LentKey{Tenant: tenant, Base: s.Names.BaseName(base), Path: path}
	if path != "" {
		k, err := s.Saved.Readable(tenant, path, "")
		if err != nil {
			return key, err
		}
		if base != "" && key.Base != k.BaseModel {
			return key, tinker.Userf("model %q: the checkpoint is of base model %q", name, k.BaseModel)
		}
		key.Base, key.Seq = k.BaseModel, k.SeqID
	}
	return key, nil
}

// List implements endpoint.Models.
func (s *Endpoints) List(ctx context.Context, tenant string) ([]endpoint.Card, error) {
	caps, err := s.Names.List(ctx)
	if err != nil {
		return nil, err
	}
	var out []endpoint.Card
	length := map[string]int{}
	for _, b := range caps.SupportedModels {
		out = append(out, endpoint.Card{ID: b.ModelName, Context: b.MaxContextLength, Kind: "base"})
		length[b.ModelName] = b.MaxContextLength
	}
	list, err := s.Saved.List(ctx, tenant, "", true)
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

// modelTexts are the tokenizers and chat templates of base models, read at first use. The zero value is ready.
type modelTexts struct {
	mu sync.Mutex
	of map[string]*endpoint.Text
}

// text returns the text side of a base model.
func (s *Endpoints) text(base string) (*endpoint.Text, error) {
	m := &s.texts
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.of[base]; t != nil {
		return t, nil
	}
	dir := s.Names.Tokenizers[base]
	if dir == "" {
		return nil, tinker.Userf("base model %q has no tokenizer on this server; sample with token ids over the "+
			"Tinker API", s.Names.Told(base))
	}
	var ends []int32
	if b, ok := s.Store.(interface {
		EndTokens(baseModel string) ([]int32, error)
	}); ok {
		var err error
		if ends, err = b.EndTokens(base); err != nil {
			return nil, err
		}
	}
	t, err := endpoint.LoadText(dir, ends, s.Life.Now())
	if err != nil {
		return nil, fmt.Errorf("server: the tokenizer of base model %q: %w", base, err)
	}
	if m.of == nil {
		m.of = map[string]*endpoint.Text{}
	}
	m.of[base] = t
	return t, nil
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
func (s *Endpoints) Loaded(ctx context.Context, tenant string) ([]endpoint.Card, error) {
	cards, err := s.List(ctx, tenant)
	if err != nil {
		return nil, err
	}
	engine, _ := s.Store.(weightsInMemory)
	held := s.Weights.LentUntil(tenant)
	var loaded []endpoint.Card
	for _, c := range cards {
		there := false
		if strings.HasPrefix(c.ID, "tinker://") {
			c.Until, there = held[c.ID]
		} else if engine != nil {
			c.Until, there = engine.LoadedUntil(s.Names.BaseName(c.ID))
		}
		if there {
			loaded = append(loaded, c)
		}
	}
	return loaded, nil
}

// Unload implements endpoint.LoadedModels: weights that no other request, sampling session or training run uses leave
// memory at once; base weights only if no other tenant has used them.
func (s *Endpoints) Unload(ctx context.Context, tenant, name string) error {
	key, err := s.find(tenant, name)
	if err != nil {
		return err
	}
	if _, err := s.Names.ContextOf(ctx, key.Base); err != nil {
		return err
	}
	s.Weights.Unload(key)
	if engine, ok := s.Store.(weightsInMemory); ok && key.Path == "" {
		engine.UnloadBase(key.Base, tenant)
	}
	return nil
}
