package endpoint

import (
	"context"
	"net/http"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

// List answers GET models.
func (a *API) List(ctx context.Context, w http.ResponseWriter, tenant string) error {
	cards, err := a.models.List(ctx, tenant)
	if err != nil {
		return err
	}
	data := make([]any, len(cards))
	for i, c := range cards {
		data[i] = a.card(c)
	}
	param.Reply(w, http.StatusOK, param.Object{"object": "list", "data": data})
	return nil
}

// Describe answers GET models/{name}.
func (a *API) Describe(ctx context.Context, w http.ResponseWriter, tenant, name string) error {
	cards, err := a.models.List(ctx, tenant)
	if err != nil {
		return err
	}
	for _, c := range cards {
		if c.ID == name {
			param.Reply(w, http.StatusOK, a.card(c))
			return nil
		}
	}
	return tinker.Userf("model %q: %w; GET models lists the names", name, tinker.ErrNotFound)
}

// card is a model as JSON. max_model_len is vLLM's name of the context length, parent that of its adapters.
func (a *API) card(c Card) param.Object {
	created := c.Created
	if created.IsZero() {
		created = a.now()
	}
	return param.Object{"id": c.ID, "object": "model", "created": created.Unix(), "owned_by": "trinity",
		"max_model_len": c.Context, "parent": param.OrNull(c.Parent), "root": c.ID, "kind": c.Kind}
}
