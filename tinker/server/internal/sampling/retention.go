package sampling

import (
	"slices"

	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/state"
)

// ForgetSamples drops results whose retention has ended; the store is locked.
func (s *Samplers) ForgetSamples() {
	now := s.Life.Now()
	for _, p := range s.State.Samples {
		fetched := !p.Fetched.IsZero() && now.Sub(p.Fetched) > s.Keep.Results
		old := !p.Finished.IsZero() && now.Sub(p.Finished) > s.Keep.Unfetched
		if fetched || old {
			s.State.Forget(p)
		}
	}
	s.State.TidyKept()
	for _, w := range s.State.Samplers {
		if w.Busy == 0 && now.Sub(w.Used) > s.Keep.Results {
			w.Forget() // its weights are read again when they are needed
		}
	}
}

// resumeKept adds the results of an earlier process; the store is locked.
func (s *Samplers) resumeKept() {
	var done []*state.Sample
	for _, p := range s.State.Samples {
		if !p.Finished.IsZero() {
			p.Tenant = s.State.TenantOf(p.Sampler)
			done = append(done, p)
		}
	}
	slices.SortFunc(done, func(a, b *state.Sample) int { return a.Finished.Compare(b.Finished) })
	for _, p := range done {
		s.State.Keep(p, s.Keep.MaxResultBytes)
	}
}

// Resume draws the samples that an earlier process left unfinished, and keeps its results. The store is locked.
func (s *Samplers) Resume() {
	for _, p := range s.State.Samples {
		if p.Finished.IsZero() {
			p.Size = int64(len(p.Raw))
			p.Tenant = s.State.TenantOf(p.Sampler)
			s.Capacity.Sampling.Take(p.Tenant, p.Size)
			s.draw(p)
		}
	}
	s.resumeKept()
}
