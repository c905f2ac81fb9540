package sampling

import (
	"cmp"
	"errors"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/state"
)

// CollectSamplers deletes unnamed samplers that were not used for Keep.Unnamed.
func (s *Samplers) CollectSamplers() error {
	now := s.Life.Now()
	return s.dropUnnamed(func(p *state.Sampler) bool { return now.Sub(p.Used) > s.Keep.Unnamed })
}

// Trim deletes a tenant's least recently used unnamed samplers until the rest is within the limits, in number
// and in bytes on disk. Samplers in use and the newest one stay.
func (s *Samplers) Trim(tenant string) error {
	s.measureUnnamed(tenant)
	s.State.Lock()
	var own []*state.Sampler
	for _, id := range s.State.Unnamed {
		if s.State.TenantOf(id) == tenant {
			own = append(own, s.State.Samplers[id])
		}
	}
	slices.SortFunc(own, func(a, b *state.Sampler) int {
		return cmp.Or(b.Used.Compare(a.Used), b.Created.Compare(a.Created), cmp.Compare(b.ID, a.ID))
	})
	excess, bytes := map[*state.Sampler]bool{}, int64(0)
	for i, p := range own {
		bytes += p.Bytes
		excess[p] = i > 0 && (i >= s.Keep.MaxUnnamed || bytes > s.Keep.MaxUnnamedBytes)
	}
	s.State.Unlock()
	if len(own) < s.Keep.MaxUnnamed && bytes <= s.Keep.MaxUnnamedBytes {
		return nil
	}
	return s.dropUnnamed(func(p *state.Sampler) bool { return excess[p] })
}

// measureUnnamed determines the sizes of a tenant's unnamed samplers that were saved since the last call.
func (s *Samplers) measureUnnamed(tenant string) {
	s.State.Lock()
	var fresh []*state.Sampler
	for _, id := range s.State.Unnamed {
		if p := s.State.Samplers[id]; p.Bytes == 0 && s.State.TenantOf(id) == tenant {
			fresh = append(fresh, p)
		}
	}
	s.State.Unlock()
	for _, p := range fresh {
		if k, err := s.Store.Checkpoint(p.ModelPath); err == nil { // else its save is pending
			s.State.Lock()
			p.Bytes = k.Size
			s.State.Unlock()
		}
	}
}

// dropUnnamed deletes the unnamed samplers that meant selects, except those in use and those whose save is pending.
func (s *Samplers) dropUnnamed(meant func(*state.Sampler) bool) error {
	var idle []*state.Sampler
	err := s.State.Change(func(t *state.Store) (at int64, err error) {
		for _, p := range t.Samplers {
			if p.Unnamed && p.Busy == 0 && meant(p) {
				if _, err := s.Store.Checkpoint(p.ModelPath); err == nil {
					idle = append(idle, p)
				}
			}
		}
		for _, p := range idle {
			t.DropSampler(p.ID)
			if at, err = s.State.Record(state.RecDropped, state.SamplerKey{ID: p.ID}); err != nil {
				return at, err
			}
		}
		return at, nil
	})
	errs := []error{err}
	for _, p := range idle {
		errs = append(errs, s.Saved.Delete(p.ModelPath))
	}
	return errors.Join(errs...)
}
