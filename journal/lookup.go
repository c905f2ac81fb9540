package journal

// Lookup finds a training request that was accepted, in this process or before it. future is a *tinker.Future of its result;
// it is nil when the request was accepted but its result is no longer kept.
func (j *Journal) Lookup(modelID string, seqID int64) (future any, accepted bool) {
	j.mu.Lock()
	m := j.models[modelID]
	j.mu.Unlock()
	if m == nil {
		return nil, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if o := m.ops[seqID]; o != nil {
		return o.future, true
	}
	return nil, seqID >= 1 && (seqID <= m.applied || m.gone && seqID < m.next)
}
