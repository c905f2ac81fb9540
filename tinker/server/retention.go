package server

import (
	"errors"
	"maps"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// retentionPeriod is the time between two rounds of retention.
const retentionPeriod = time.Minute

// runRetention removes expired data until the server closes.
func (s *Server) runRetention() {
	tick := time.NewTicker(retentionPeriod)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
			if err := s.collect(); err != nil && s.ctx.Err() == nil {
				s.opts.Log.Error("server: removing expired data", "error", err)
			}
		}
	}
}

// collect is one round of retention: expired checkpoints, unused unnamed samplers, retrieved results, idle weights.
// It also rewrites the log if most of its records are obsolete.
func (s *Server) collect() error {
	errs := []error{s.collectCheckpoints(), s.collectSamplers(), s.collectSessions()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetSamples()
	s.forgetRecordings()
	live := int64(0)
	for _, n := range s.state.recorded.bytes {
		live += 4 * n / 3 // base64
	}
	for _, p := range s.state.samples {
		live += int64(len(p.raw)+len(p.result.Proto)) + 256
	}
	if size := s.log.Size(); size > compactAt && size > 4*live {
		errs = append(errs, s.compact())
	}
	return errors.Join(errs...)
}

// compactAt is the size of the log below which it is not rewritten, bytes.
const compactAt = 16 << 20

// forgetSamples drops results whose retention has ended; s.mu is held.
func (s *Server) forgetSamples() {
	now := s.opts.Now()
	for _, p := range s.state.samples {
		fetched := !p.fetched.IsZero() && now.Sub(p.fetched) > s.opts.KeepResults
		old := !p.finished.IsZero() && now.Sub(p.finished) > s.opts.KeepUnfetched
		if fetched || old {
			s.state.forget(p)
		}
	}
	s.state.tidyKept()
	for _, w := range s.state.samplers {
		if w.busy == 0 && now.Sub(w.used) > s.opts.KeepResults {
			w.forget() // its weights are read again when they are needed
		}
	}
}

// collectCheckpoints deletes expired checkpoints. Their settings say which they are; all checkpoints are listed, which
// reads a file for each, now and then only.
func (s *Server) collectCheckpoints() error {
	now := s.opts.Now()
	var errs []error
	for _, path := range s.expiredCheckpoints(now) {
		s.opts.Log.Info("checkpoint expired", "path", path)
		errs = append(errs, s.delete(path))
	}
	if now.Sub(s.listed) >= listEvery {
		list, err := s.opts.Store.Checkpoints(s.ctx)
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		s.forgetMarks(list, now.Add(-keepMarks))
		s.listed = now
	}
	return errors.Join(errs...)
}

// expiredCheckpoints are the paths of checkpoints that have expired and are still there.
func (s *Server) expiredCheckpoints(now time.Time) (gone []string) {
	s.mu.Lock()
	var due []checkpointSettings
	for _, marks := range s.state.marks {
		for _, m := range marks {
			if m.expired(now) {
				due = append(due, m)
			}
		}
	}
	s.mu.Unlock()
	for _, m := range due {
		c, err := s.opts.Store.Checkpoint(m.Path)
		if err != nil || c.SeqID != m.Seq { // gone, overwritten, or not to be read now
			continue
		}
		s.mu.Lock()
		_, known := s.state.describe(c)
		s.mu.Unlock()
		if known {
			gone = append(gone, m.Path)
		}
	}
	return gone
}

// listEvery is the time between two rounds in which all checkpoints are listed.
const listEvery = time.Hour

// keepMarks is how long the settings of a checkpoint that is not there are kept: its save may still wait.
const keepMarks = 24 * time.Hour

// forgetMarks drops settings from before a time whose checkpoint is not there: it was deleted or overwritten, or its
// save failed. A list leaves out what cannot be read now, so the store is asked for each checkpoint that is not in it.
func (s *Server) forgetMarks(list []tinker.Checkpoint, before time.Time) {
	saved := make(map[string]int64, len(list)) // 0: there is no checkpoint
	for _, c := range list {
		saved[c.Path.String()] = c.SeqID
	}
	for _, path := range s.unlisted(saved, before) {
		switch c, err := s.opts.Store.Checkpoint(path); {
		case err == nil:
			saved[path] = c.SeqID
		case errors.Is(err, tinker.ErrNotFound):
			saved[path] = 0
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for path, marks := range s.state.marks {
		seq, known := saved[path]
		maps.DeleteFunc(marks, func(of int64, m checkpointSettings) bool {
			return known && of != seq && m.Time.Before(before)
		})
		if len(marks) == 0 {
			delete(s.state.marks, path)
		}
	}
}

// unlisted are the paths of settings from before a time that are not among the saved checkpoints.
func (s *Server) unlisted(saved map[string]int64, before time.Time) (paths []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for path, marks := range s.state.marks {
		if _, listed := saved[path]; listed {
			continue
		}
		for _, m := range marks {
			if m.Time.Before(before) {
				paths = append(paths, path)
				break
			}
		}
	}
	return paths
}

// delete removes a checkpoint; a missing one is no error.
func (s *Server) delete(path string) error {
	if err := s.backend.DeleteCheckpoint(s.ctx, path); err != nil && !errors.Is(err, tinker.ErrNotFound) {
		return err
	}
	return nil
}

// collectSessions removes the samplers of sessions whose clients have been silent for KeepSessions, and those of the
// sessions that have no training runs. Training runs and their checkpoints stay.
func (s *Server) collectSessions() error {
	now := s.opts.Now()
	return s.change(func(t *serverState) (at int64, err error) {
		held := map[string]bool{} // sessions that own something
		for _, m := range t.models {
			held[m.Session] = true
		}
		for id, p := range t.samplers {
			u := t.sessions[p.Session]
			if p.Unnamed || p.busy > 0 || now.Sub(p.used) <= s.opts.KeepSessions ||
				u != nil && now.Sub(u.seen) <= s.opts.KeepSessions {
				held[p.Session] = true
				continue
			}
			t.dropSampler(id)
			if at, err = s.record(recDropped, samplerKey{id}); err != nil {
				return at, err
			}
		}
		for id, u := range t.sessions {
			if !held[id] && now.Sub(u.seen) > s.opts.KeepSessions {
				delete(t.sessions, id) // the log keeps its records until it is rewritten
			}
		}
		return at, nil
	})
}
