package server

// watch registers the gauges that are read at each request of /metrics.
func (s *Server) watch() {
	gauge := s.stats.gauge
	locked := func(read func(*store) int) func() float64 {
		return func() float64 { s.state.Lock(); defer s.state.Unlock(); return float64(read(s.state)) }
	}
	gauge("trinity_training_requests_waiting", "Training requests accepted and not done.",
		func() float64 { all, _ := s.capacity.training.now(""); return float64(all.requests) })
	gauge("trinity_training_bytes_waiting", "Their bytes.",
		func() float64 { all, _ := s.capacity.training.now(""); return float64(all.bytes) })
	gauge("trinity_request_bytes", "Memory of requests that are being read and decoded.",
		func() float64 { return float64(s.edge.bodies.Budget().InUse()) })
	gauge("trinity_samples_waiting", "asample requests accepted and not done.",
		func() float64 { all, _ := s.capacity.sampling.now(""); return float64(all.requests) })
	gauge("trinity_samples_kept", "asample requests known, done or not.",
		locked(func(t *store) int { return len(t.samples) }))
	gauge("trinity_sessions", "Sessions known.", locked(func(t *store) int { return len(t.sessions) }))
	gauge("trinity_models", "Training runs known.", locked(func(t *store) int { return len(t.models) }))
	gauge("trinity_samplers", "Sampling sessions known.", locked(func(t *store) int { return len(t.samplers) }))
	gauge("trinity_server_log_bytes", "Size of the server's own log.",
		func() float64 { return float64(s.state.log.Size()) })
	gauge("trinity_log_cut_bytes", "Bytes of unfinished writes that this start cut off the logs.", func() float64 {
		n := s.state.log.Cut()
		if b, ok := s.backend.(interface{ Cut() int64 }); ok {
			n += b.Cut()
		}
		return float64(n)
	})
	if b, ok := s.backend.(interface{ Evicted() (evicted, all int) }); ok {
		gauge("trinity_models_resting", "Training runs evicted from memory.",
			func() float64 { n, _ := b.Evicted(); return float64(n) })
	}
	if e, ok := s.opts.Store.(computing); ok {
		s.stats.compute(e)
	}
}
