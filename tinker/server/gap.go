package server

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// The numbers of a model's requests are used one after another, but requests overtake each other on their way. What
// is behind a number that is missing waits for it, for a while.

// tooFar refuses a request before which too many numbers are missing. s.mu is held.
func (s *Server) tooFar(m *model, seq int64) error {
	if missing := seq - m.dense - 1 - int64(len(m.ahead)); missing > s.opts.MaxMissing && !m.ahead[seq] {
		return tinker.Userf("seq_id is %d, and %d requests of model %s before it have not arrived; "+
			"at most %d may be missing (MaxMissing). The next number is %d",
			seq, missing, m.ID, s.opts.MaxMissing, m.dense+1)
	}
	return nil
}

// arrived notes that a number was accepted. While later numbers wait for one that is missing, a timer runs: a client
// that gave up on a request never sends it again. s.mu is held.
func (s *Server) arrived(m *model, seq int64) {
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
	case len(m.ahead) > 0 && m.gap == nil && s.ctx.Err() == nil:
		waiting := m.dense
		m.gap = time.AfterFunc(s.opts.GapAfter, func() { s.closeGap(m, waiting) })
	}
}

// span is a run of numbers, both ends included.
type span struct{ from, to int64 }

// missing lists the runs of numbers that have not arrived before others that have, at most so many numbers. s.mu is
// held.
func (m *model) missing(most int64) (list []span) {
	next := m.dense + 1
	for _, seq := range slices.Sorted(maps.Keys(m.ahead)) {
		if n := min(seq-next, most); n > 0 {
			list = append(list, span{next, next + n - 1})
			most -= n
		}
		next = seq + 1
	}
	return list
}

// closeGap gives up on the numbers that are missing, unless some came meanwhile.
func (s *Server) closeGap(m *model, waiting int64) {
	s.mu.Lock()
	m.gap = nil
	var missing []span
	if m.dense == waiting && s.ctx.Err() == nil {
		missing = m.missing(s.opts.MaxMissing)
	}
	s.mu.Unlock()
	for _, g := range missing {
		s.opts.Log.Warn("training requests never arrived and are given up", "model", m.ID, "from", g.from, "to", g.to)
		if err := s.giveUp(m, g); err != nil && s.ctx.Err() == nil {
			s.opts.Log.Error("giving up training requests", "model", m.ID, "from", g.from, "to", g.to, "error", err)
		}
	}
	s.mu.Lock()
	s.arrived(m, m.dense) // looks whether a timer must run again
	s.mu.Unlock()
}

// giveUp rejects a run of numbers in one record, and uses them up.
func (s *Server) giveUp(m *model, g span) error {
	var unsent []int64
	err := s.change(func(t *state) (at int64, err error) {
		for g.from <= g.to && s.known(m, g.from) {
			g.from++ // it came meanwhile
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
		r := rejected(m.ID, g.from, g.err(m.ID, s.opts.GapAfter))
		r.To = g.to
		at, err = s.record(recReject, r)
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
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, seq := range unsent {
		s.arrived(m, seq)
	}
	return nil
}

func (g span) err(model string, after time.Duration) error {
	if g.from == g.to {
		return tinker.Userf("request %d of model %s did not arrive within %v of later ones and was given up", g.from,
			model, after)
	}
	return tinker.Userf("requests %d to %d of model %s did not arrive within %v of later ones and were given up",
		g.from, g.to, model, after)
}

// voidAll is void of many, which share their writes to the disk.
func (s *Server) voidAll(m *model, seqs []int64) error {
	var g errgroup.Group
	g.SetLimit(64)
	for _, seq := range seqs {
		g.Go(func() error { return s.void(m, seq) })
	}
	return g.Wait()
}

// lookBack bounds how far behind the newest number a missing one can be.
const lookBack = 1 << 17

// recount learns after a restart which numbers were accepted, and uses up again those that were rejected. s.mu is held.
func (s *Server) recount(m *model) {
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
		s.work.begin(func() {
			if err := s.voidAll(m, unsent); err != nil && s.ctx.Err() == nil {
				s.opts.Log.Error("using up numbers that were given up", "model", m.ID, "error", err)
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

// gapReason says what a request waits for when that is one that has not arrived. s.mu is held.
func (m *model) gapReason(seq int64) string {
	if len(m.ahead) == 0 || seq <= m.dense {
		return ""
	}
	return fmt.Sprintf("request %d waits for request %d of the model, which has not arrived", seq, m.dense+1)
}
