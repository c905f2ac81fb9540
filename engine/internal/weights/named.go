package weights

import (
	"fmt"
	"maps"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/executor"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Serve adds a base model that requests may name. It is called before the first request.
func (m *Memory) Serve(name string, from Model) error {
	b, err := m.Open(name, from)
	if err == nil {
		m.named[name] = b
	}
	return err
}

// Names lists the base models that requests may name, sorted.
func (m *Memory) Names() []string { return slices.Sorted(maps.Keys(m.named)) }

// Find returns the base model of that name; nil if there is none.
func (m *Memory) Find(name string) *Base { return m.named[name] }

// Base returns the base model of that name.
func (m *Memory) Base(name string) (*Base, error) {
	if b, ok := m.named[name]; ok {
		return b, nil
	}
	return nil, tinker.Userf("engine: base model %q is not served; there are %q: %w", name, m.Names(),
		tinker.ErrUnserved)
}

// plain returns the base model without an adapter in a folder; nil if there is none.
func (m *Memory) plain(dir string) *Base {
	for _, name := range m.Names() {
		if b := m.named[name]; b.Dir == dir && b.Adapter == "" {
			return b
		}
	}
	return nil
}

// ByFingerprint returns the base model of a version.
func (m *Memory) ByFingerprint(v executor.Version) (*Base, error) {
	for _, name := range m.Names() {
		b := m.named[name]
		if b.Adapter != "" {
			continue
		}
		if print, err := b.Fingerprint(v.Full()); err == nil && print == v.Base {
			return b, nil
		}
	}
	return nil, fmt.Errorf("engine: base model %.20s is none of this engine's", v.Base)
}
