package server

import (
	"errors"
	"time"
)

// retentionPeriod is the time between two rounds of retention.
const retentionPeriod = time.Minute

// retain removes expired data.
func (s *Server) retain() {
	if err := s.collect(); err != nil && !s.life.Closing() {
		s.life.Log.Error("server: removing expired data", "error", err)
	}
}

// collect is one round of retention: expired checkpoints, unused unnamed samplers, retrieved results, idle weights.
// It also rewrites the log if most of its records are obsolete.
func (s *Server) collect() error {
	errs := []error{s.saved.CollectCheckpoints(), s.samplers.CollectSamplers(), s.sessions.CollectSessions()}
	s.state.Lock()
	defer s.state.Unlock()
	s.samplers.ForgetSamples()
	s.recorder.ForgetRecordings()
	live := int64(0)
	for _, n := range s.state.Recorded.Bytes {
		live += 4 * n / 3 // base64
	}
	for _, p := range s.state.Samples {
		live += int64(len(p.Raw)+len(p.Result.Proto)) + 256
	}
	if size := s.state.Log.Size(); size > compactAt && size > 4*live {
		errs = append(errs, s.state.Compact())
	}
	return errors.Join(errs...)
}

// compactAt is the size of the log below which it is not rewritten, bytes.
const compactAt = 16 << 20
