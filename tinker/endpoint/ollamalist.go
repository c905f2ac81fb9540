package endpoint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

// LoadedModels is a Models that knows which weights are in memory.
type LoadedModels interface {
	Models
	// Loaded returns the models of the tenant whose weights are in memory.
	Loaded(ctx context.Context, tenant string) ([]Card, error)
	// Unload makes weights leave memory that nothing uses. A name that means nothing to this tenant is ErrNotFound.
	Unload(ctx context.Context, tenant, name string) error
}

// OllamaTags answers GET api/tags with the models that the tenant can name.
func (a *API) OllamaTags(ctx context.Context, w http.ResponseWriter, tenant string) error {
	return a.cards(ctx, w, tenant, "models", a.tag, param.Object{})
}

// keptFor stands for a model that stays in memory until others need it.
const keptFor = 100 * 365 * 24 * time.Hour

// OllamaLoaded answers GET api/ps with the models in memory.
func (a *API) OllamaLoaded(ctx context.Context, w http.ResponseWriter, tenant string) error {
	list := []any{}
	if m, ok := a.models.(LoadedModels); ok {
		cards, err := m.Loaded(ctx, tenant)
		if err != nil {
			return err
		}
		for _, c := range cards {
			b := a.tag(c)
			if c.Until.IsZero() {
				c.Until = a.now().Add(keptFor)
			}
			b["expires_at"], b["size_vram"] = c.Until.UTC().Format(time.RFC3339), 0
			b["context_length"] = c.Context
			list = append(list, b)
		}
	}
	param.Reply(w, http.StatusOK, param.Object{"models": list})
	return nil
}

// tag is a model in a list. Its digest distinguishes the models that a name had, but is not of the weights.
func (a *API) tag(c Card) param.Object {
	created := c.Created
	if created.IsZero() {
		created = a.now()
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", c.ID, c.Created.UnixNano()))
	return param.Object{"name": c.ID, "model": c.ID, "modified_at": created.UTC().Format(time.RFC3339), "size": c.Size,
		"digest": hex.EncodeToString(sum[:]), "details": details(c)}
}

// details describe a model. The server does not tell how its weights are stored.
func details(c Card) param.Object {
	return param.Object{"parent_model": c.Parent, "format": "", "family": "trinity", "families": []string{"trinity"},
		"parameter_size": "", "quantization_level": ""}
}

// OllamaShow answers POST api/show: a model's capabilities, context length and chat template.
func (a *API) OllamaShow(ctx context.Context, w http.ResponseWriter, tenant string, body []byte) error {
	f, err := param.ReadFields(body)
	if err != nil {
		return err
	}
	name, old, verbose := "", "", false
	_, err1 := f.Take("model", &name)
	_, err2 := f.Take("name", &old) // before Ollama 0.3
	_, err3 := f.Take("verbose", &verbose)
	for _, err := range []error{err1, err2, err3, f.Refuse(nil, param.Refusals{"system": {[]string{`""`},
		"leave it out"},
		"template": {[]string{`""`}, "leave it out"}, "options": {[]string{"{}"}, "leave it out"}})} {
		if err != nil {
			return err
		}
	}
	if name == "" {
		name = old
	}
	m, err := a.models.Open(ctx, tenant, name)
	if err != nil {
		return err
	}
	defer m.Close()
	card, err := a.cardOf(ctx, tenant, name)
	if err != nil {
		return err
	}
	param.Reply(w, http.StatusOK, param.Object{"modelfile": "", "parameters": "", "license": "",
		"template": m.Text.template(),
		"details":  details(card), "modified_at": a.tag(card)["modified_at"], "capabilities": m.Text.capabilities(),
		"model_info": param.Object{"general.architecture": "trinity", "general.basename": name,
			"trinity.context_length": m.Context}})
	return nil
}

// cardOf finds a model in the list by its name, with or without the tag latest. A name that is not in the list, such as
// that of a training state, has a card of its own.
func (a *API) cardOf(ctx context.Context, tenant, name string) (Card, error) {
	cards, err := a.models.List(ctx, tenant)
	for _, c := range cards {
		if c.ID == name || c.ID == strings.TrimSuffix(name, ":latest") {
			return c, nil
		}
	}
	return Card{ID: name}, err
}

// capabilities are a model's, as Ollama names them.
func (t *Text) capabilities() []string {
	list := []string{"completion"}
	if t.Template == nil {
		return list
	}
	if t.Template.CallStyle() != chat.NoCalls {
		list = append(list, "tools")
	}
	if t.thinks() {
		list = append(list, "thinking")
	}
	return list
}

// OllamaVersionOf answers GET api/version.
func (a *API) OllamaVersionOf(_ context.Context, w http.ResponseWriter, _ string) error {
	param.Reply(w, http.StatusOK, param.Object{"version": OllamaVersion})
	return nil
}
