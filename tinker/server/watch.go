package server

import (
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/state"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/stats"
)

// watch registers the gauges that are read at each request of /metrics.
func (s *Server) watch() {
	gauge := s.stats.Gauge
	locked := func(read func(*state.Store) int) func() float64 {
		return func() float64 { s.state.Lock(); defer s.state.Unlock(); return float64(read(s.state)) }
	}
	gauge("trinity_training_requests_waiting", "Training requests accepted and not done.",
		func() float64 { all, _ := s.capacity.Training.Now(""); return float64(all.Requests) })
	gauge("trinity_training_bytes_waiting", "Their bytes.",
		func() float64 { all, _ := s.capacity.Training.Now(""); return float64(all.Bytes) })
	gauge("trinity_request_bytes", "Memory of requests that are being read and decoded.",
		func() float64 { return float64(s.edge.Bodies.Budget().InUse()) })
	gauge("trinity_samples_waiting", "asample requests accepted and not done.",
		func() float64 { all, _ := s.capacity.Sampling.Now(""); return float64(all.Requests) })
	gauge("trinity_samples_kept", "asample requests known, done or not.",
		locked(func(t *state.Store) int { return len(t.Samples) }))
	gauge("trinity_sessions", "Sessions known.", locked(func(t *state.Store) int { return len(t.Sessions) }))
	gauge("trinity_models", "Training runs known.", locked(func(t *state.Store) int { return len(t.Models) }))
	gauge("trinity_samplers", "Sampling sessions known.", locked(func(t *state.Store) int { return len(t.Samplers) }))
	gauge("trinity_server_log_bytes", "Size of the server's own log.",
		func() float64 { return float64(s.state.Log.Size()) })
	gauge("trinity_log_cut_bytes", "Bytes of unfinished writes that this start cut off the logs.", func() float64 {
		n := s.state.Log.Cut()
		if b, ok := s.backend.(interface{ Cut() int64 }); ok {
			n += b.Cut()
		}
		return float64(n)
	})
	if b, ok := s.backend.(interface{ Evicted() (evicted, all int) }); ok {
		gauge("trinity_models_resting", "Training runs evicted from memory.",
			func() float64 { n, _ := b.Evicted(); return float64(n) })
	}
	if e, ok := s.opts.Store.(stats.Computing); ok {
		s.stats.Compute(e)
	}
}
