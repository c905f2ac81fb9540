package journal

import (
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// With Options.Local, a request that fails for a reason outside it, such as a full disk, has no result, neither in the
// log nor in a snapshot. The machine has lost it, and what follows was computed without it; so the model halts: it
// records nothing more, is not snapshotted, and refuses requests. The next start executes the request, and those after
// it, from the last snapshot and the log, to the bits of a run that never met the failure.
//
// A server keeps such failures: its clients were told, and may have gone on.

// outside reports whether a failure is not the request's own: it may succeed at another time.
func outside(category tinker.Category) bool { return category != tinker.User }

// halts returns why a model stops at a request that ended with err, or has stopped before it; nil if it continues.
func (m *trainingClient) halts(seq int64, err error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.halted == nil {
		if err == nil || !m.j.opts.Local || !outside(tinker.CategoryOf(err)) {
			return nil
		}
		m.halted = fmt.Errorf("journal: request %d of model %s was not carried out; it is when the program starts "+
			"again: %w", seq, m.id, err)
	}
	m.running--
	return m.halted
}

// stopped is why the model has halted; nil if it has not.
func (m *trainingClient) stopped() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.halted
}

// await returns when the outcome of a request is recorded, so that outcomes are recorded in the order of execution.
func (m *trainingClient) await(seq int64) {
	m.mu.Lock()
	o, ok := m.ops.Get(seq)
	m.mu.Unlock()
	if ok {
		<-o.noted
	}
}

// executed leaves out the results, in the log, of requests that the replay executes: those of an older version that
// failed for a reason outside them, and what was computed after them.
func (j *Journal) executed(results []loggedResult) (kept []loggedResult) {
	if !j.opts.Local {
		return results
	}
	from := map[string]int64{}
	for _, r := range results {
		first, found := from[r.ModelID]
		m := j.models[r.ModelID]
		if r.failedOutside() && (m == nil || r.SeqID > m.applied) && (!found || r.SeqID < first) {
			from[r.ModelID] = r.SeqID
		}
	}
	for _, r := range results {
		if first, found := from[r.ModelID]; !found || r.SeqID < first {
			kept = append(kept, r)
		}
	}
	return kept
}

func (r loggedResult) failedOutside() bool {
	return r.Error != "" && outside(tinker.Category(r.Category))
}

// spent is why the number of a request cannot be used, although the model is as if the request had not been sent: an
// older version's snapshot has passed its failure, or it is another request, which changed nothing. nil is neither.
func (m *trainingClient) spent(o *acceptedRequest, seq int64, other bool) error {
	if !m.j.opts.Local {
		return nil
	}
	r := loggedResult{Name: o.name}
	if o.result != nil {
		r = *o.result
	}
	switch {
	case r.failedOutside():
		return tinker.Userf("journal: request %d of model %s failed (%s): %w", seq, m.id, r.Error, tinker.ErrSpent)
	case other && r.settled():
		return tinker.Userf("journal: request %d of model %s was a %s: %w", seq, m.id, o.name, tinker.ErrSpent)
	}
	return nil
}
