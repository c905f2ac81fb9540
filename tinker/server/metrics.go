package server

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// serverMetrics are the metrics of /metrics.
type serverMetrics struct {
	registry   *prometheus.Registry
	requests   *prometheus.HistogramVec
	tokenCount *prometheus.CounterVec
	fsync      *prometheus.HistogramVec
	pushedBack prometheus.Counter
	endpoint   *endpointMetrics
}

func newStats() *serverMetrics {
	t := &serverMetrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "trinity_http_request_seconds",
			Help:    "HTTP requests by route and status; retrieve_future waits for results.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .5, 1, 5, 30}},
			[]string{"route", "status"}),
		tokenCount: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "trinity_tokens_total",
			Help: "Tokens done, by phase: forward, forward_backward, prompt (not found in the cache), sample."},
			[]string{"phase"}),
		fsync: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "trinity_fsync_seconds",
			Help:    "Group commits, by log: journal (training), server (sessions, samplers, samples).",
			Buckets: []float64{.0001, .0005, .001, .0025, .005, .01, .025, .05, .1, .5, 1}}, []string{"log"}),
		pushedBack: prometheus.NewCounter(prometheus.CounterOpts{Name: "trinity_samples_pushed_back_total",
			Help: "Requests told to retry later because a queue was full."}),
	}
	t.registry.MustRegister(t.requests, t.tokenCount, t.fsync, t.pushedBack)
	t.endpoint = newEndpointMetrics(t.registry)
	return t
}

// watch registers the gauges that are read at each request of /metrics.
func (t *serverMetrics) watch(s *Server) {
	gauge := func(name, help string, read func() float64) {
		t.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
	}
	locked := func(read func(*serverState) int) func() float64 {
		return func() float64 { s.mu.Lock(); defer s.mu.Unlock(); return float64(read(&s.state)) }
	}
	gauge("trinity_training_requests_waiting", "Training requests accepted and not done.",
		func() float64 { all, _ := s.training.now(""); return float64(all.requests) })
	gauge("trinity_training_bytes_waiting", "Their bytes.",
		func() float64 { all, _ := s.training.now(""); return float64(all.bytes) })
	gauge("trinity_request_bytes", "Memory of requests that are being read and decoded.",
		func() float64 { return float64(s.bodies.Budget().InUse()) })
	gauge("trinity_samples_waiting", "asample requests accepted and not done.",
		func() float64 { all, _ := s.sampling.now(""); return float64(all.requests) })
	gauge("trinity_samples_kept", "asample requests known, done or not.",
		locked(func(t *serverState) int { return len(t.samples) }))
	gauge("trinity_sessions", "Sessions known.", locked(func(t *serverState) int { return len(t.sessions) }))
	gauge("trinity_models", "Training runs known.", locked(func(t *serverState) int { return len(t.models) }))
	gauge("trinity_samplers", "Sampling sessions known.", locked(func(t *serverState) int { return len(t.samplers) }))
	gauge("trinity_server_log_bytes", "Size of the server's own log.", func() float64 { return float64(s.log.Size()) })
	gauge("trinity_log_cut_bytes", "Bytes of unfinished writes that this start cut off the logs.", func() float64 {
		n := s.log.Cut()
		if b, ok := s.backend.(interface{ Cut() int64 }); ok {
			n += b.Cut()
		}
		return float64(n)
	})
	if b, ok := s.backend.(interface{ Evicted() (evicted, all int) }); ok {
		gauge("trinity_models_resting", "Training runs evicted from memory.",
			func() float64 { n, _ := b.Evicted(); return float64(n) })
	}
	t.compute(s)
}

// compute registers the engine's metrics, if the Backend has them.
func (t *serverMetrics) compute(s *Server) {
	e, ok := s.opts.Store.(interface{ Stats() tinker.Stats })
	if !ok {
		return
	}
	count := func(name, help string, labels prometheus.Labels, read func(tinker.Stats) int64) {
		t.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help,
			ConstLabels: labels}, func() float64 { return float64(read(e.Stats())) }))
	}
	gauge := func(name, help string, labels prometheus.Labels, read func(tinker.Stats) int64) {
		t.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help,
			ConstLabels: labels}, func() float64 { return float64(read(e.Stats())) }))
	}
	for phase, read := range map[string]func(tinker.Stats) int64{
		"prefill":  func(v tinker.Stats) int64 { return v.Prefill },
		"decode":   func(v tinker.Stats) int64 { return v.Decode },
		"forward":  func(v tinker.Stats) int64 { return v.Forward },
		"backward": func(v tinker.Stats) int64 { return v.Backward }} {
		count("trinity_engine_tokens_total", "Tokens computed, by phase: prefill, decode, forward, backward.",
			prometheus.Labels{"phase": phase}, read)
	}
	count("trinity_engine_sampling_steps_total", "Passes in which every sample in progress gets its next token.", nil,
		func(v tinker.Stats) int64 { return v.Steps })
	count("trinity_engine_sampling_lanes_total", "Samples and prompts in those passes; divided by the steps and by "+
		"trinity_engine_sampling_lanes_max it gives the occupancy.", nil,
		func(v tinker.Stats) int64 { return v.Sequences })
	gauge("trinity_engine_sampling_lanes", "Samples and prompts in progress.", nil,
		func(v tinker.Stats) int64 { return int64(v.Running) })
	gauge("trinity_engine_sampling_lanes_max", "Limit of samples and prompts in progress.", nil,
		func(v tinker.Stats) int64 { return int64(v.MaxSequences) })
	count("trinity_engine_training_passes_total", "Passes of training.", nil,
		func(v tinker.Stats) int64 { return v.Passes })
	count("trinity_engine_training_models_total", "Models in those passes; above one per pass when adapters share it.",
		nil, func(v tinker.Stats) int64 { return v.PassModels })
	count("trinity_engine_training_tokens_total", "Tokens in those passes; divided by the passes and by "+
		"trinity_engine_training_tokens_max it gives the occupancy.", nil,
		func(v tinker.Stats) int64 { return v.PassTokens })
	gauge("trinity_engine_training_tokens_max", "Tokens that a pass may have.", nil,
		func(v tinker.Stats) int64 { return int64(v.MicroBatch) })
	count("trinity_engine_preemptions_total", "Times that training yielded to sampling between two layers.", nil,
		func(v tinker.Stats) int64 { return v.Preemptions })
	t.registry.MustRegister(prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Name: "trinity_engine_training_part_seconds_max",
			Help: "Longest time that training computed without yielding to sampling."},
		func() float64 { return e.Stats().LongestPart.Seconds() }))
	for work, name := range map[tinker.Work]string{tinker.Training: "training", tinker.Sampling: "sampling"} {
		labels := prometheus.Labels{"work": name}
		gauge("trinity_engine_queue_requests", "Requests accepted and not done.", labels,
			func(v tinker.Stats) int64 { return int64(v.Waiting[work].Requests) })
		gauge("trinity_engine_queue_tokens", "Their tokens.", labels,
			func(v tinker.Stats) int64 { return v.Waiting[work].Tokens })
	}
}

// Fsynced records a group commit of the Backend's log.
func (s *Server) Fsynced(took time.Duration) {
	s.stats.fsync.WithLabelValues("journal").Observe(took.Seconds())
}

func (t *serverMetrics) request(route string, code int, took time.Duration) {
	t.requests.WithLabelValues(route, strconv.Itoa(code)).Observe(took.Seconds())
}

// tokens counts those of a finished request of the Tinker protocol.
func (s *Server) tokens(tenant, phase string, n int) {
	if n > 0 {
		s.stats.tokenCount.WithLabelValues(phase).Add(float64(n))
		s.activity.done(tenant, phase, n)
	}
}

// metrics serves /metrics to every client with a known key, and to local clients if any key is accepted. It is in
// Prometheus' format, or JSON if the client accepts that by name.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	if s.keyed() && s.authenticate(r) == "" {
		s.fail(w, r, s.noKey())
		return
	}
	if !acceptsJSON(r) {
		promhttp.HandlerFor(s.stats.registry, promhttp.HandlerOpts{}).ServeHTTP(w, r)
		return
	}
	members, err := s.stats.members()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	reply(w, http.StatusOK, members)
}
