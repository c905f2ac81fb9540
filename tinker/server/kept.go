package server

import "slices"

// keptResults is the finished samples of one tenant whose results are in memory.
type keptResults struct {
	order []*sample // in order of completion; some may be forgotten
	live  int       // number of those not forgotten
	bytes int64
}

// keep adds a result and forgets the tenant's oldest ones beyond that many bytes, never the newest. A client that asks
// for a forgotten one gets gone and samples again. s.mu is held.
func (t *serverState) keep(p *sample, most int64) {
	k := t.kept[p.tenant]
	if k == nil {
		k = &keptResults{}
		t.kept[p.tenant] = k
	}
	k.order, k.live, k.bytes = append(k.order, p), k.live+1, k.bytes+p.kept()
	for k.live > 1 && k.bytes > most {
		t.forget(k.order[0])
		k.order = k.order[1:]
	}
}

// kept is the memory of a finished sample in bytes.
func (p *sample) kept() int64 { return int64(len(p.result.Proto)+len(p.result.Error)) + 512 }

func (p *sample) key() sampleKey { return sampleKey{p.Sampler, p.Seq} }

// forget drops a finished sample; it does nothing if the sample is forgotten already. s.mu is held.
func (t *serverState) forget(p *sample) {
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

// tidyKept releases the memory of forgotten samples; s.mu is held.
func (t *serverState) tidyKept() {
	for _, k := range t.kept {
		k.order = slices.DeleteFunc(k.order, func(p *sample) bool { return t.samples[p.key()] != p })
	}
}

// resumeKept adds the results of an earlier process; s.mu is held.
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
