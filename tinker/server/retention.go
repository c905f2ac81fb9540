package server

import (
	"errors"
	"time"
)

// retentionPeriod is the time between two rounds of retention.
const retentionPeriod = time.Minute

// retain removes expired data.
func (s *Server) retain() {
	if err := s.collect(); err != nil && !s.life.closing() {
		s.life.log.Error("server: removing expired data", "error", err)
	}
}

// collect is one round of retention: expired checkpoints, unused unnamed samplers, retrieved results, idle weights.
// It also rewrites the log if most of its records are obsolete.
func (s *Server) collect() error {
	errs := []error{s.saved.collectCheckpoints(), s.samplers.collectSamplers(), s.sessions.collectSessions()}
	s.state.Lock()
	defer s.state.Unlock()
	s.samplers.forgetSamples()
	s.recorder.forgetRecordings()
	live := int64(0)
	for _, n := range s.state.recorded.bytes {
		live += 4 * n / 3 // base64
	}
	for _, p := range s.state.samples {
		live += int64(len(p.raw)+len(p.result.Proto)) + 256
	}
	if size := s.state.log.Size(); size > compactAt && size > 4*live {
		errs = append(errs, s.state.compact())
	}
	return errors.Join(errs...)
}

// compactAt is the size of the log below which it is not rewritten, bytes.
const compactAt = 16 << 20
