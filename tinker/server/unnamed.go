package server

import (
	"cmp"
	"errors"
	"slices"
)

// collectSamplers deletes unnamed samplers that were not used for KeepUnnamed.
func (s *samplers) collectSamplers() error {
	now := s.life.now()
	return s.dropUnnamed(func(p *sampler) bool { return now.Sub(p.used) > s.keep.Unnamed })
}

// Trim deletes a tenant's least recently used unnamed samplers until the rest is within the limits, in number
// and in bytes on disk. Samplers in use and the newest one stay.
func (s *samplers) Trim(tenant string) error {
	s.measureUnnamed(tenant)
	s.state.Lock()
	var own []*sampler
	for _, id := range s.state.unnamed {
		if s.state.tenantOf(id) == tenant {
			own = append(own, s.state.samplers[id])
		}
	}
	slices.SortFunc(own, func(a, b *sampler) int {
		return cmp.Or(b.used.Compare(a.used), b.Created.Compare(a.Created), cmp.Compare(b.ID, a.ID))
	})
	excess, bytes := map[*sampler]bool{}, int64(0)
	for i, p := range own {
		bytes += p.bytes
		excess[p] = i > 0 && (i >= s.keep.MaxUnnamed || bytes > s.keep.MaxUnnamedBytes)
	}
	s.state.Unlock()
	if len(own) < s.keep.MaxUnnamed && bytes <= s.keep.MaxUnnamedBytes {
		return nil
	}
	return s.dropUnnamed(func(p *sampler) bool { return excess[p] })
}

// measureUnnamed determines the sizes of a tenant's unnamed samplers that were saved since the last call.
func (s *samplers) measureUnnamed(tenant string) {
	s.state.Lock()
	var fresh []*sampler
	for _, id := range s.state.unnamed {
		if p := s.state.samplers[id]; p.bytes == 0 && s.state.tenantOf(id) == tenant {
			fresh = append(fresh, p)
		}
	}
	s.state.Unlock()
	for _, p := range fresh {
		if k, err := s.store.Checkpoint(p.ModelPath); err == nil { // else its save is pending
			s.state.Lock()
			p.bytes = k.Size
			s.state.Unlock()
		}
	}
}

// dropUnnamed deletes the unnamed samplers that meant selects, except those in use and those whose save is pending.
func (s *samplers) dropUnnamed(meant func(*sampler) bool) error {
	var idle []*sampler
	err := s.state.change(func(t *store) (at int64, err error) {
		for _, p := range t.samplers {
			if p.Unnamed && p.busy == 0 && meant(p) {
				if _, err := s.store.Checkpoint(p.ModelPath); err == nil {
					idle = append(idle, p)
				}
			}
		}
		for _, p := range idle {
			t.dropSampler(p.ID)
			if at, err = s.state.record(recDropped, samplerKey{p.ID}); err != nil {
				return at, err
			}
		}
		return at, nil
	})
	errs := []error{err}
	for _, p := range idle {
		errs = append(errs, s.saved.delete(p.ModelPath))
	}
	return errors.Join(errs...)
}
