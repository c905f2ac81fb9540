package hub

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Tokenizer returns a folder with a model's tokenizer, settings and chat template; its weights may be missing.
func (h *Hub) Tokenizer(ctx context.Context, name string) (string, error) {
	return h.find(ctx, models, name, chooseTokenizer)
}

// CachedTokenizer is Tokenizer as far as the cache goes: the hub is not asked.
func (h *Hub) CachedTokenizer(ctx context.Context, name string) (string, error) {
	r, err := parse(models, name)
	if err != nil {
		return "", err
	}
	dir, err := h.cached(ctx, r, chooseTokenizer)
	if err != nil {
		return "", fmt.Errorf("hub: %s is not in the cache %s: %w", r, h.Cache, err)
	}
	return dir, nil
}

// chooseTokenizer takes the files that describe the model.
func chooseTokenizer(_ context.Context, l Listing) ([]string, error) {
	if !slices.Contains(l.Names, "tokenizer.json") {
		return nil, errors.New("there is no tokenizer.json")
	}
	var names []string
	for _, n := range l.Names {
		if isDescription(n) {
			names = append(names, n)
		}
	}
	return names, nil
}
