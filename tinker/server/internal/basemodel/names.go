// Package basemodel knows the base models by all their names, and serves their tokenizers as a hub does.
package basemodel

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/edge"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/life"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// Models names the base models of a server.
type Models struct {
	Aliases map[string]string // further names, which clients see
	// Folders are names that are accepted but never shown, such as the absolute paths of base models' folders.
	Folders map[string]string
	// Order lists base models in the order in which clients see them; the others follow.
	Order []string
	// HubNames gives, by base model, the name on the Hugging Face hub of a repository with its tokenizer.
	HubNames map[string]string
	// Tokenizers gives, by base model, the folder whose tokenizer files are served to clients as a hub serves them
	// (see Registry.Resolve).
	Tokenizers map[string]string
}

// Registry knows the base models by all their names.
type Registry struct {
	Models
	Life *life.Life
	Edge *edge.Edge
	Able func(context.Context) (tinker.Capabilities, error)
}

// Capabilities answers get_server_capabilities.
func (s *Registry) Capabilities(c *edge.Call) (any, error) { return s.List(c.Ctx) }

// List lists the base models, Models.Order first, and then their other names.
func (s *Registry) List(ctx context.Context) (wire.Capabilities, error) {
	caps, err := s.Able(ctx)
	if err != nil {
		return wire.Capabilities{}, err
	}
	yes := true
	out := wire.Capabilities{
		SupportedModels: []wire.SupportedModel{},
		ExactLogprobs:   caps.ExactLogprobs,
		ExactEntropy:    caps.ExactEntropy,
		SilentDatums:    caps.SilentDatums,
	}
	length := contextsOf(caps)
	list := func(name, base string) {
		if n, ok := length[base]; ok {
			out.SupportedModels = append(out.SupportedModels,
				wire.SupportedModel{ModelName: name, MaxContextLength: n, Trainable: &yes, Sampleable: &yes})
		}
	}
	for _, name := range s.ordered(caps) {
		list(name, name)
	}
	for _, alias := range slices.Sorted(maps.Keys(s.Aliases)) {
		list(alias, s.Aliases[alias])
	}
	return out, nil
}

// Contexts are the context lengths of the base models in tokens, by name.
func (s *Registry) Contexts(c *edge.Call) (map[string]int, error) {
	caps, err := s.Able(c.Ctx)
	return contextsOf(caps), err
}

func contextsOf(caps tinker.Capabilities) map[string]int {
	length := make(map[string]int, len(caps.Models))
	for _, m := range caps.Models {
		length[m.Name] = m.ContextLength
	}
	return length
}

// ordered returns the names of the base models, Models.Order first.
func (s *Registry) ordered(caps tinker.Capabilities) (names []string) {
	names = slices.Clone(s.Order)
	for _, m := range caps.Models {
		if !slices.Contains(names, m.Name) {
			names = append(names, m.Name)
		}
	}
	return names
}

// BaseName returns the backend's name of a base model. The part after a colon names a variant of the model, such as
// its context length; it is ignored here.
func (s *Registry) BaseName(name string) string {
	if base, ok := s.Aliases[name]; ok {
		return base
	}
	if base, ok := s.Folders[name]; ok {
		return base
	}
	plain, _, variant := strings.Cut(name, ":")
	if variant && s.Served(name) != nil {
		return s.BaseName(plain)
	}
	return name
}

// Told is the name in answers to a client: the one that it asked for, unless that is a folder of this machine.
func (s *Registry) Told(asked string) string {
	plain, _, _ := strings.Cut(asked, ":")
	if base, ok := s.Folders[plain]; ok {
		return base
	}
	return asked
}

// Served refuses an unknown base model at once, before the request is accepted.
func (s *Registry) Served(name string) error {
	caps, err := s.Able(s.Life.Ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(caps.Models, func(m tinker.SupportedModel) bool { return m.Name == name }) {
		return nil
	}
	return tinker.Userf("base model %q is not served; there are %q; trinity serve --alias NAME=MODEL gives one "+
		"another name", name, s.ordered(caps))
}

// ContextOf is the context length of a base model in tokens.
func (s *Registry) ContextOf(ctx context.Context, base string) (int, error) {
	caps, err := s.Able(ctx)
	if err != nil {
		return 0, err
	}
	for _, m := range caps.Models {
		if m.Name == base {
			return m.ContextLength, nil
		}
	}
	return 0, fmt.Errorf("model %q: %w; GET /v1/models lists the names", s.Told(base), tinker.ErrNotFound)
}
