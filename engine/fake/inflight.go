package fake

import (
	"context"
	"sync/atomic"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// mover is a tinker.Mover. A sampler has no keys and values, so a change of its weights is one of its biases.
type mover struct {
	*sampler
	model string
	now   *atomic.Pointer[version]
}

// version is saved weights.
type version struct {
	path    string
	factors [classes + 1]float64
}

// flight is the weights of one request of a mover.
type flight struct {
	now   *atomic.Pointer[version]
	first *version // nil of the mover itself
	again [][]tinker.Version
	known map[string]*version // the paths of again
}

func newMover(c *sampler, path string) *mover {
	m := &mover{sampler: c, now: &atomic.Pointer[version]{}}
	p, _ := tinker.ParsePath(path) // it was read
	m.model = p.ModelID
	m.now.Store(&version{path, c.factors})
	c.flight = &flight{now: m.now}
	return m
}

// Move implements tinker.Mover.
func (m *mover) Move(_ context.Context, path string) error {
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	p, err := tinker.ParsePath(path)
	if err == nil && p.ModelID != m.model {
		err = tinker.Userf("fake: %s is of another training run than %s", path, m.model)
	}
	if err != nil {
		return err
	}
	c, err := m.s.saved(path)
	if err == nil {
		m.now.Store(&version{path, c.factors})
	}
	return err
}

// takeOff is the sampler of one request, with the weights that its prompt is computed with; c.s.mu is held.
func (c *sampler) takeOff(req tinker.SampleRequest) (*sampler, error) {
	switch {
	case c.flight == nil && len(req.Versions) > 0:
		return nil, tinker.Userf("fake: versions are for in-flight samplers")
	case c.flight == nil:
		return c, nil
	}
	if err := tinker.CheckVersions(req); err != nil {
		return nil, err
	}
	f := &flight{now: c.flight.now, again: req.Versions, known: map[string]*version{}}
	for _, list := range req.Versions {
		for _, v := range list {
			w, err := c.s.saved(v.Path)
			if err != nil {
				return nil, err
			}
			f.known[v.Path] = &version{v.Path, w.factors}
			if f.first == nil {
				f.first = f.known[v.Path]
			}
		}
	}
	if f.first == nil {
		f.first = f.now.Load()
	}
	one := *c
	one.flight, one.factors = f, f.first.factors
	return &one, nil
}

// weights are those that draw the next token of sample i, and are noted in its answer q.
func (f *flight) weights(c *sampler, i int, q *tinker.SampledSequence) *[classes + 1]float64 {
	if f == nil {
		return &c.factors
	}
	v, at := f.now.Load(), len(q.Tokens)
	if at == 0 {
		v = f.first
	}
	if i < len(f.again) {
		for _, w := range f.again[i] {
			if w.From <= at {
				v = f.known[w.Path]
			}
		}
	}
	if n := len(q.Versions); n == 0 || q.Versions[n-1].Path != v.path {
		q.Versions = append(q.Versions, tinker.Version{From: at, Path: v.path})
	}
	return &v.factors
}
