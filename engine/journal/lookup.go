package journal

// Accepted reports whether a training request was accepted, in this process or before it.
func (j *Journal) Accepted(modelID string, seqID int64) bool {
	m := j.find(modelID)
	if m == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	_, kept := m.ops.Get(seqID)
	return kept || m.behind(seqID)
}

// behind reports whether the model has executed a request already; m.mu is held.
func (m *trainingClient) behind(seq int64) bool {
	return seq >= 1 && (seq <= m.applied || m.gone && seq < m.ops.Next())
}

// Lookup finds a training request that was accepted, in this process or before it. future is a *tinker.Future of its
// result; it is nil when the request was accepted but its result is no longer kept.
func (j *Journal) Lookup(modelID string, seqID int64) (future any, accepted bool) {
	m := j.find(modelID)
	if m == nil {
		return nil, false
	}
	m.mu.Lock()
	o, kept := m.ops.Get(seqID)
	behind, idle := m.behind(seqID), m.evicted
	m.mu.Unlock()
	switch {
	case kept:
		return o.future, true
	case behind && idle:
		return m.keptOnDisk(seqID), true
	}
	return nil, behind
}

func (j *Journal) find(modelID string) *trainingClient {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.models[modelID]
}

// keptOnDisk reads the result of a request from the snapshot of an evicted model; nil if it is not kept.
func (m *trainingClient) keptOnDisk(seq int64) any {
	s, err := openSnapshot(m.j.snapshotPath(m.id))
	if err != nil {
		return nil
	}
	defer s.close()
	results, err := s.kept()
	if err != nil {
		return nil
	}
	for _, r := range results {
		if r.SeqID != seq {
			continue
		}
		if o, err := opOf(r); err == nil {
			return o.future
		}
	}
	return nil
}
