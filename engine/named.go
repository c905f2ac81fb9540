package engine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/executor"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// serve adds a base model that requests may name. It is called before the first request.
func (m *memory) serve(name string, from Model) error {
	b, err := m.open(name, from)
	if err == nil {
		m.named[name] = b
	}
	return err
}

// names lists the base models that requests may name, sorted.
func (m *memory) names() []string { return slices.Sorted(maps.Keys(m.named)) }

// find returns the base model of that name; nil if there is none.
func (m *memory) find(name string) *base { return m.named[name] }

// base returns the base model of that name.
func (m *memory) base(name string) (*base, error) {
	if b, ok := m.named[name]; ok {
		return b, nil
	}
	return nil, tinker.Userf("engine: base model %q is not served; there are %q: %w", name, m.names(),
		tinker.ErrUnserved)
}

// plain returns the base model without an adapter in a folder; nil if there is none.
func (m *memory) plain(dir string) *base {
	for _, name := range m.names() {
		if b := m.named[name]; b.dir == dir && b.adapter == "" {
			return b
		}
	}
	return nil
}

// byFingerprint returns the base model of a version.
func (m *memory) byFingerprint(v executor.Version) (*base, error) {
	for _, name := range m.names() {
		b := m.named[name]
		if b.adapter != "" {
			continue
		}
		if print, err := b.fingerprint(v.Full()); err == nil && print == v.Base {
			return b, nil
		}
	}
	return nil, fmt.Errorf("engine: base model %.20s is none of this engine's", v.Base)
}
