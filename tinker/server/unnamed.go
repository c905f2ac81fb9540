package server

import (
	"cmp"
	"errors"
	"slices"
)

// collectSamplers deletes unnamed samplers that were not used for long.
func (s *Server) collectSamplers() error {
	now := s.opts.Now()
	return s.dropUnnamed(func(p *sampler) bool { return now.Sub(p.used) > s.opts.KeepUnnamed })
}

// trimUnnamed deletes a tenant's unnamed samplers, those first that were not used for longest, until what remains is
// within what a tenant may have of them: in number and in bytes on the disk. One in use stays, and so does the
// newest.
func (s *Server) trimUnnamed(tenant string) error {
	s.measureUnnamed(tenant)
	s.mu.Lock()
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
		excess[p] = i > 0 && (i >= s.opts.MaxUnnamed || bytes > s.opts.MaxUnnamedBytes)
	}
	s.mu.Unlock()
	if len(own) < s.opts.MaxUnnamed && bytes <= s.opts.MaxUnnamedBytes {
		return nil
	}
	return s.dropUnnamed(func(p *sampler) bool { return excess[p] })
}

// measureUnnamed learns the sizes of a tenant's unnamed samplers that were saved since it was called last.
func (s *Server) measureUnnamed(tenant string) {
	s.mu.Lock()
	var fresh []*sampler
	for _, id := range s.state.unnamed {
		if p := s.state.samplers[id]; p.bytes == 0 && s.state.tenantOf(id) == tenant {
			fresh = append(fresh, p)
		}
	}
	s.mu.Unlock()
	for _, p := range fresh {
		if k, err := s.opts.Store.Checkpoint(p.ModelPath); err == nil { // else its save still waits
			s.mu.Lock()
			p.bytes = k.Size
			s.mu.Unlock()
		}
	}
}

// dropUnnamed deletes the unnamed samplers that are meant, but for those in use and those whose save still waits.
func (s *Server) dropUnnamed(meant func(*sampler) bool) error {
	var idle []*sampler
	err := s.change(func(t *state) (at int64, err error) {
		for _, p := range t.samplers {
			if p.Unnamed && p.busy == 0 && meant(p) {
				if _, err := s.opts.Store.Checkpoint(p.ModelPath); err == nil {
					idle = append(idle, p)
				}
			}
		}
		for _, p := range idle {
			t.dropSampler(p.ID)
			if at, err = s.record(recDropped, samplerKey{p.ID}); err != nil {
				return at, err
			}
		}
		return at, nil
	})
	errs := []error{err}
	for _, p := range idle {
		errs = append(errs, s.delete(p.ModelPath))
	}
	return errors.Join(errs...)
}
