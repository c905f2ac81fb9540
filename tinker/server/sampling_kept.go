package server

import "slices"

// forgetSamples drops results whose retention has ended; the store is locked.
func (s *samplers) forgetSamples() {
	now := s.life.now()
	for _, p := range s.state.samples {
		fetched := !p.fetched.IsZero() && now.Sub(p.fetched) > s.keep.Results
		old := !p.finished.IsZero() && now.Sub(p.finished) > s.keep.Unfetched
		if fetched || old {
			s.state.forget(p)
		}
	}
	s.state.tidyKept()
	for _, w := range s.state.samplers {
		if w.busy == 0 && now.Sub(w.used) > s.keep.Results {
			w.forget() // its weights are read again when they are needed
		}
	}
}

// resumeKept adds the results of an earlier process; the store is locked.
func (s *samplers) resumeKept() {
	var done []*sample
	for _, p := range s.state.samples {
		if !p.finished.IsZero() {
			p.tenant = s.state.tenantOf(p.Sampler)
			done = append(done, p)
		}
	}
	slices.SortFunc(done, func(a, b *sample) int { return a.finished.Compare(b.finished) })
	for _, p := range done {
		s.state.keep(p, s.keep.MaxResultBytes)
	}
}

// resume draws the samples that an earlier process left unfinished, and keeps its results. The store is locked.
func (s *samplers) resume() {
	for _, p := range s.state.samples {
		if p.finished.IsZero() {
			p.size = int64(len(p.raw))
			p.tenant = s.state.tenantOf(p.Sampler)
			s.capacity.sampling.take(p.tenant, p.size)
			s.draw(p)
		}
	}
	s.resumeKept()
}
