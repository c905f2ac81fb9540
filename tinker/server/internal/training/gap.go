package training

import (
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/state"
	"golang.org/x/sync/errgroup"
)

// Requests of a model are executed in the order of their numbers, but may arrive in another order. A request waits for
// the missing ones before it, for a limited time.

// tooFar refuses a request with too many missing numbers before it. The store is locked.
func (s *Runs) tooFar(m *state.Model, seq int64) error {
	if missing := seq - m.Dense - 1 - int64(len(m.Ahead)); missing > s.MaxMissing && !m.Ahead[seq] {
		return tinker.Userf("seq_id is %d, and %d requests of model %s before it have not arrived; "+
			"at most %d may be missing (MaxMissing). The next number is %d",
			seq, missing, m.ID, s.MaxMissing, m.Dense+1)
	}
	return nil
}

// arrived records an accepted number. While later numbers wait for a missing one, a timer runs: a client that
// abandoned a request never sends it again. The store is locked.
func (s *Runs) arrived(m *state.Model, seq int64) {
	if seq > m.Dense {
		m.Ahead[seq] = true
	}
	for m.Ahead[m.Dense+1] {
		m.Dense++
		delete(m.Ahead, m.Dense)
	}
	switch {
	case len(m.Ahead) == 0 && m.Gap != nil:
		m.Gap.Stop()
		m.Gap = nil
	case len(m.Ahead) > 0 && m.Gap == nil && s.Life.Ctx.Err() == nil:
		waiting := m.Dense
		m.Gap = time.AfterFunc(s.GapAfter, func() { s.closeGap(m, waiting) })
	}
}

// closeGap cancels the missing numbers, unless some arrived meanwhile.
func (s *Runs) closeGap(m *state.Model, waiting int64) {
	s.State.Lock()
	m.Gap = nil
	var missing []state.SeqRange
	if m.Dense == waiting && s.Life.Ctx.Err() == nil {
		missing = m.Missing(s.MaxMissing)
	}
	s.State.Unlock()
	for _, g := range missing {
		s.Life.Log.Warn("training requests did not arrive and are cancelled", "model", m.ID, "from", g.From, "to", g.To)
		if err := s.giveUp(m, g); err != nil && s.Life.Ctx.Err() == nil {
			s.Life.Log.Error("cancelling training requests", "model", m.ID, "from", g.From, "to", g.To, "error", err)
		}
	}
	s.State.Lock()
	s.arrived(m, m.Dense) // starts the timer again if numbers are still missing
	s.State.Unlock()
}

// giveUp rejects a range of numbers in one record and uses them up.
func (s *Runs) giveUp(m *state.Model, g state.SeqRange) error {
	var unsent []int64
	err := s.State.Change(func(t *state.Store) (at int64, err error) {
		for g.From <= g.To && s.Known(m, g.From) {
			g.From++ // it has arrived since
		}
		for seq := g.From; seq <= g.To; seq++ {
			if s.Known(m, seq) {
				g.To = seq - 1 // the rest is for the next round
				break
			}
			unsent = append(unsent, seq)
		}
		if len(unsent) == 0 {
			return 0, nil
		}
		r := state.Rejected(m.ID, g.From, g.Err(m.ID, s.GapAfter))
		r.To = g.To
		at, err = s.State.Record(state.RecReject, r)
		if err == nil {
			t.AddReject(r)
		}
		return at, err
	})
	if err != nil {
		return err
	}
	if err := s.voidAll(m, unsent); err != nil {
		return err
	}
	s.State.Lock()
	defer s.State.Unlock()
	for _, seq := range unsent {
		s.arrived(m, seq)
	}
	return nil
}

// voidAll is void for many numbers, which share their writes to the disk.
func (s *Runs) voidAll(m *state.Model, seqs []int64) error {
	var g errgroup.Group
	g.SetLimit(64)
	for _, seq := range seqs {
		g.Go(func() error { return s.void(m, seq) })
	}
	return g.Wait()
}

// lookBack limits how far before the newest number a missing one can be.
const lookBack = 1 << 17

// recount determines after a restart which numbers were accepted, and uses up the rejected ones again. The store is
// locked.
func (s *Runs) recount(m *state.Model) {
	next := m.Info.NextSeqID
	m.Dense = next - 1
	for seq := next - 1; seq > max(0, next-lookBack); seq-- {
		if !s.Backend.Accepted(m.ID, seq) {
			m.Dense = seq - 1
		}
	}
	var unsent []int64 // rejected, but the process may have ended before the number was used up
	for key := range s.State.Rejects {
		if key.Model == m.ID && key.Seq > m.Dense {
			unsent = append(unsent, key.Seq)
			m.Ahead[key.Seq] = true
		}
	}
	for _, g := range s.State.Gaps[m.ID] {
		for seq := max(g.Seq, m.Dense+1); seq <= g.To; seq++ {
			unsent = append(unsent, seq)
			m.Ahead[seq] = true
		}
	}
	if len(unsent) > 0 {
		s.Life.Begin(func() {
			if err := s.voidAll(m, unsent); err != nil && s.Life.Ctx.Err() == nil {
				s.Life.Log.Error("using up the numbers of cancelled requests", "model", m.ID, "error", err)
			}
		})
	}
	for seq := m.Dense + 1; seq < next; seq++ {
		if s.Backend.Accepted(m.ID, seq) {
			s.arrived(m, seq)
		}
	}
	s.arrived(m, m.Dense)
}
