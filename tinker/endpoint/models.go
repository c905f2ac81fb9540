package endpoint

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

// List answers GET models.
func (a *API) List(ctx context.Context, w http.ResponseWriter, tenant string) error {
	return a.cards(ctx, w, tenant, "data", a.card, param.Object{"object": "list"})
}

// Describe answers GET models/{name}.
func (a *API) Describe(ctx context.Context, w http.ResponseWriter, tenant, name string) error {
	return a.describe(ctx, w, tenant, name, a.card)
}

// describe sends the card of a model in a form.
func (a *API) describe(ctx context.Context, w http.ResponseWriter, tenant, name string,
	form func(Card) param.Object) error {
	cards, err := a.models.List(ctx, tenant)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(cards, func(c Card) bool { return c.ID == name })
	if at < 0 {
		return tinker.Userf("model %q: %w; GET models lists the names", name, tinker.ErrNotFound)
	}
	param.Reply(w, http.StatusOK, form(cards[at]))
	return nil
}

// cards sends the list of all models: each in a form, under a key of the answer.
func (a *API) cards(ctx context.Context, w http.ResponseWriter, tenant, key string, form func(Card) param.Object,
	answer param.Object) error {
	list, err := a.models.List(ctx, tenant)
	if err != nil {
		return err
	}
	answer[key] = formed(list, form)
	param.Reply(w, http.StatusOK, answer)
	return nil
}

// formed are cards in a form.
func formed(cards []Card, form func(Card) param.Object) []any {
	list := make([]any, len(cards))
	for i, c := range cards {
		list[i] = form(c)
	}
	return list
}

// card is a model as JSON. max_model_len is vLLM's name of the context length, parent of an adapter's base.
func (a *API) card(c Card) param.Object {
	created := c.Created
	if created.IsZero() {
		created = a.now()
	}
	return param.Object{"id": c.ID, "object": "model", "created": created.Unix(), "owned_by": "trinity",
		"max_model_len": c.Context, "parent": param.OrNull(c.Parent), "root": c.ID, "kind": c.Kind}
}

// Anthropic's clients ask for models at the path that OpenAI's have. What they always send is the version of the
// interface, by which the two are told apart (https://docs.anthropic.com/en/api/models-list).

// ForAnthropic reports whether a request is of a client of Anthropic's interface.
func ForAnthropic(r *http.Request) bool { return r.Header.Get("Anthropic-Version") != "" }

// Models of a page that asks for no number, and the most, as Anthropic's.
const (
	pageModels = 20
	mostModels = 1000
)

// ListAnthropic answers GET models in Anthropic's form, one page at a time; q has limit, after_id and before_id.
func (a *API) ListAnthropic(ctx context.Context, w http.ResponseWriter, tenant string, q url.Values) error {
	cards, err := a.models.List(ctx, tenant)
	if err != nil {
		return err
	}
	page, more, err := pageOf(cards, q)
	if err != nil {
		return err
	}
	out := param.Object{"data": formed(page, anthropicCard), "has_more": more, "first_id": nil, "last_id": nil}
	if len(page) > 0 {
		out["first_id"], out["last_id"] = page[0].ID, page[len(page)-1].ID
	}
	param.Reply(w, http.StatusOK, out)
	return nil
}

// pageOf is the page of a list that q asks for, and whether there is more in its direction.
func pageOf(cards []Card, q url.Values) (page []Card, more bool, err error) {
	n, after, before := pageModels, q.Get("after_id"), q.Get("before_id")
	if text := q.Get("limit"); text != "" {
		if n, err = strconv.Atoi(text); err != nil || n < 1 || n > mostModels {
			return nil, false, param.Invalid("limit", "limit is %q; it must be 1 to %d", text, mostModels)
		}
	}
	if after != "" && before != "" {
		return nil, false, param.Invalid("after_id", "after_id and before_id are both given; send one")
	}
	if id := after + before; id != "" {
		at := slices.IndexFunc(cards, func(c Card) bool { return c.ID == id })
		switch {
		case at < 0:
			return nil, false, param.Invalid("after_id", "model %q is not in the list", id)
		case before != "":
			from := max(0, at-n)
			return cards[from:at], from > 0, nil
		}
		cards = cards[at+1:]
	}
	n = min(n, len(cards))
	return cards[:n], n < len(cards), nil
}

// DescribeAnthropic answers GET models/{name} in Anthropic's form.
func (a *API) DescribeAnthropic(ctx context.Context, w http.ResponseWriter, tenant, name string) error {
	return a.describe(ctx, w, tenant, name, anthropicCard)
}

// anthropicCard is a model as Anthropic's clients read it. A model of unknown age has the date that Anthropic gives
// such models.
func anthropicCard(c Card) param.Object {
	created := c.Created
	if created.IsZero() {
		created = time.Unix(0, 0)
	}
	return param.Object{"type": "model", "id": c.ID, "display_name": c.ID,
		"created_at": created.UTC().Format(time.RFC3339)}
}
