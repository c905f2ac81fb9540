package hub

import (
	"context"
	"errors"
	"slices"
)

// Tokenizer returns a folder with a model's tokenizer, settings and chat template; its weights may be missing.
func (h *Hub) Tokenizer(ctx context.Context, name string) (string, error) {
	return h.find(ctx, models, name, chooseTokenizer)
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
