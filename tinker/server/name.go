package server

import (
	"maps"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// capabilities lists the base models, those of Options.Order first, and then their other names.
func (s *Server) capabilities(c *call) (any, error) {
	caps, err := s.backend.Capabilities(c.ctx)
	if err != nil {
		return nil, err
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
	for _, alias := range slices.Sorted(maps.Keys(s.opts.Aliases)) {
		list(alias, s.opts.Aliases[alias])
	}
	return out, nil
}

// contexts are the context lengths of the base models in tokens, by name.
func (s *Server) contexts(c *call) (map[string]int, error) {
	caps, err := s.backend.Capabilities(c.ctx)
	return contextsOf(caps), err
}

func contextsOf(caps tinker.Capabilities) map[string]int {
	length := make(map[string]int, len(caps.Models))
	for _, m := range caps.Models {
		length[m.Name] = m.ContextLength
	}
	return length
}

// ordered returns the names of the base models, those of Options.Order first.
func (s *Server) ordered(caps tinker.Capabilities) (names []string) {
	names = slices.Clone(s.opts.Order)
	for _, m := range caps.Models {
		if !slices.Contains(names, m.Name) {
			names = append(names, m.Name)
		}
	}
	return names
}

// baseName returns the backend's name of a base model. The part after a colon names a variant of the model, such as
// its context length; it is ignored here.
func (s *Server) baseName(name string) string {
	if base, ok := s.opts.Aliases[name]; ok {
		return base
	}
	if base, ok := s.opts.Folders[name]; ok {
		return base
	}
	plain, _, variant := strings.Cut(name, ":")
	if variant && s.served(name) != nil {
		return s.baseName(plain)
	}
	return name
}

// told is the name in answers to a client: the one that it asked for, unless that is a folder of this machine.
func (s *Server) told(asked string) string {
	plain, _, _ := strings.Cut(asked, ":")
	if base, ok := s.opts.Folders[plain]; ok {
		return base
	}
	return asked
}

// served refuses an unknown base model at once, before the request is accepted.
func (s *Server) served(name string) error {
	caps, err := s.backend.Capabilities(s.ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(caps.Models, func(m tinker.SupportedModel) bool { return m.Name == name }) {
		return nil
	}
	return tinker.Userf("base model %q is not served; there are %q; trinity serve --alias NAME=MODEL gives one "+
		"another name", name, s.ordered(caps))
}

// baseOf is the name of a run's base model in answers to clients, also for checkpoints of that run: the name that was
// asked for when the run was created. s.mu is held.
func (t *serverState) baseOf(modelID, base string) string {
	if m := t.models[modelID]; m != nil && m.Asked != "" {
		return m.Asked
	}
	return base
}
