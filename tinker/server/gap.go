package server

import (
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Requests of a model are executed in the order of their numbers, but may arrive in another order. A request waits for
// the missing ones before it, for a limited time.

// tooFar refuses a request with too many missing numbers before it. The store is locked.
func (s *runs) tooFar(m *model, seq int64) error {
	if missing := seq - m.dense - 1 - int64(len(m.ahead)); missing > s.maxMissing && !m.ahead[seq] {
		return tinker.Userf("seq_id is %d, and %d requests of model %s before it have not arrived; "+
			"at most %d may be missing (MaxMissing). The next number is %d",
			seq, missing, m.ID, s.maxMissing, m.dense+1)
	}
	return nil
}

// arrived records an accepted number. While later numbers wait for a missing one, a timer runs: a client that
// abandoned a request never sends it again. The store is locked.
func (s *runs) arrived(m *model, seq int64) {
	if seq > m.dense {
		m.ahead[seq] = true
	}
	for m.ahead[m.dense+1] {
		m.dense++
		delete(m.ahead, m.dense)
	}
	switch {
	case len(m.ahead) == 0 && m.gap != nil:
		m.gap.Stop()
		m.gap = nil
	case len(m.ahead) > 0 && m.gap == nil && s.life.ctx.Err() == nil:
		waiting := m.dense
		m.gap = time.AfterFunc(s.gapAfter, func() { s.closeGap(m, waiting) })
	}
}

// closeGap cancels the missing numbers, unless some arrived meanwhile.
func (s *runs) closeGap(m *model, waiting int64) {
	s.state.Lock()
	m.gap = nil
	var missing []seqRange
	if m.dense == waiting && s.life.ctx.Err() == nil {
		missing = m.missing(s.maxMissing)
	}
	s.state.Unlock()
	for _, g := range missing {
		s.life.log.Warn("training requests did not arrive and are cancelled", "model", m.ID, "from", g.from, "to", g.to)
		if err := s.giveUp(m, g); err != nil && s.life.ctx.Err() == nil {
			s.life.log.Error("cancelling training requests", "model", m.ID, "from", g.from, "to", g.to, "error", err)
		}
	}
	s.state.Lock()
	s.arrived(m, m.dense) // starts the timer again if numbers are still missing
	s.state.Unlock()
}

// giveUp rejects a range of numbers in one record and uses them up.
func (s *runs) giveUp(m *model, g seqRange) error {
	var unsent []int64
	err := s.state.change(func(t *store) (at int64, err error) {
		for g.from <= g.to && s.known(m, g.from) {
			g.from++ // it has arrived in the meantime
		}
		for seq := g.from; seq <= g.to; seq++ {
			if s.known(m, seq) {
				g.to = seq - 1 // the rest is for the next round
				break
			}
			unsent = append(unsent, seq)
		}
		if len(unsent) == 0 {
			return 0, nil
		}
		r := rejected(m.ID, g.from, g.err(m.ID, s.gapAfter))
		r.To = g.to
		at, err = s.state.record(recReject, r)
		if err == nil {
			t.addReject(r)
		}
		return at, err
	})
	if err != nil {
		return err
	}
	if err := s.voidAll(m, unsent); err != nil {
		return err
	}
	s.state.Lock()
	defer s.state.Unlock()
	for _, seq := range unsent {
		s.arrived(m, seq)
	}
	return nil
}

// voidAll is void for many numbers, which share their writes to the disk.
func (s *runs) voidAll(m *model, seqs []int64) error {
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
func (s *runs) recount(m *model) {
	next := m.info.NextSeqID
	m.dense = next - 1
	for seq := next - 1; seq > max(0, next-lookBack); seq-- {
		if !s.backend.Accepted(m.ID, seq) {
			m.dense = seq - 1
		}
	}
	var unsent []int64 // rejected, but the process may have ended before the number was used up
	for key := range s.state.rejects {
		if key.model == m.ID && key.seq > m.dense {
			unsent = append(unsent, key.seq)
			m.ahead[key.seq] = true
		}
	}
	for _, g := range s.state.gaps[m.ID] {
		for seq := max(g.Seq, m.dense+1); seq <= g.To; seq++ {
			unsent = append(unsent, seq)
			m.ahead[seq] = true
		}
	}
	if len(unsent) > 0 {
		s.life.begin(func() {
			if err := s.voidAll(m, unsent); err != nil && s.life.ctx.Err() == nil {
				s.life.log.Error("using up the numbers of cancelled requests", "model", m.ID, "error", err)
			}
		})
	}
	for seq := m.dense + 1; seq < next; seq++ {
		if s.backend.Accepted(m.ID, seq) {
			s.arrived(m, seq)
		}
	}
	s.arrived(m, m.dense)
}
