package server

import "slices"

// kept is the results of one tenant's samples in memory.
type kept struct {
	order []*sample // as they came; some may be gone
	live  int       // of them that are not
	bytes int64
}

// keep counts a result that is there, and forgets the tenant's oldest ones beyond so many bytes, never the newest:
// who asks for one of them is told that it is gone, and samples again. s.mu is held.
func (t *state) keep(p *sample, most int64) {
	k := t.kept[p.tenant]
	if k == nil {
		k = &kept{}
		t.kept[p.tenant] = k
	}
	k.order, k.live, k.bytes = append(k.order, p), k.live+1, k.bytes+p.kept()
	for k.live > 1 && k.bytes > most {
		t.forget(k.order[0])
		k.order = k.order[1:]
	}
}

// kept is what a sample that is done takes.
func (p *sample) kept() int64 { return int64(len(p.result.Proto)+len(p.result.Error)) + 512 }

func (p *sample) key() sampleKey { return sampleKey{p.Sampler, p.Seq} }

// forget drops a sample that is done; one that is gone already is none. s.mu is held.
func (t *state) forget(p *sample) {
	if t.samples[p.key()] != p {
		return
	}
	delete(t.samples, p.key())
	k := t.kept[p.tenant]
	if k == nil {
		return
	}
	if k.live, k.bytes = k.live-1, k.bytes-p.kept(); k.live == 0 {
		delete(t.kept, p.tenant)
	}
}

// tidyKept lets go of what was forgotten; s.mu is held.
func (t *state) tidyKept() {
	for _, k := range t.kept {
		k.order = slices.DeleteFunc(k.order, func(p *sample) bool { return t.samples[p.key()] != p })
	}
}

// resumeKept counts the results of an earlier process; s.mu is held.
func (s *Server) resumeKept() {
	var done []*sample
	for _, p := range s.state.samples {
		if !p.finished.IsZero() {
			p.tenant = s.state.tenantOf(p.Sampler)
			done = append(done, p)
		}
	}
	slices.SortFunc(done, func(a, b *sample) int { return a.finished.Compare(b.finished) })
	for _, p := range done {
		s.state.keep(p, s.opts.MaxKeptBytes)
	}
}
