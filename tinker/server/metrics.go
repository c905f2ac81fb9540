package server

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// stats are the numbers of /metrics.
type stats struct {
	registry   *prometheus.Registry
	requests   *prometheus.HistogramVec
	tokenCount *prometheus.CounterVec
	fsync      prometheus.Histogram
	pushedBack prometheus.Counter
}

func newStats() *stats {
	t := &stats{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "trinity_http_request_seconds", Help: "HTTP requests by route and status; retrieve_future waits for results.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .5, 1, 5, 30}}, []string{"route", "status"}),
		tokenCount: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "trinity_tokens_total", Help: "Tokens done, by phase: forward, forward_backward, prompt (not found in the cache), sample."}, []string{"phase"}),
		fsync: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "trinity_server_fsync_seconds", Help: "Group commits of the server's own log.",
			Buckets: []float64{.0001, .0005, .001, .0025, .005, .01, .025, .05, .1, .5, 1}}),
		pushedBack: prometheus.NewCounter(prometheus.CounterOpts{Name: "trinity_samples_pushed_back_total", Help: "asample requests answered with later."}),
	}
	t.registry.MustRegister(t.requests, t.tokenCount, t.fsync, t.pushedBack)
	return t
}

// watch adds the numbers that are read when somebody asks.
func (t *stats) watch(s *Server) {
	gauge := func(name, help string, read func() float64) {
		t.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
	}
	locked := func(read func(*state) int) func() float64 {
		return func() float64 { s.mu.Lock(); defer s.mu.Unlock(); return float64(read(&s.state)) }
	}
	gauge("trinity_training_requests_waiting", "Training requests accepted and not done.", func() float64 { return float64(s.waiting.Load()) })
	gauge("trinity_training_bytes_waiting", "Their bytes.", func() float64 { return float64(s.queued.Load()) })
	gauge("trinity_samples_waiting", "asample requests accepted and not done.", locked(func(t *state) int { return t.outstanding }))
	gauge("trinity_samples_kept", "asample requests known, done or not.", locked(func(t *state) int { return len(t.samples) }))
	gauge("trinity_sessions", "Sessions known.", locked(func(t *state) int { return len(t.sessions) }))
	gauge("trinity_models", "Training runs known.", locked(func(t *state) int { return len(t.models) }))
	gauge("trinity_samplers", "Sampling sessions known.", locked(func(t *state) int { return len(t.samplers) }))
	gauge("trinity_server_log_bytes", "Size of the server's own log.", func() float64 { return float64(s.log.Size()) })
}

func (t *stats) request(route string, code int, took time.Duration) {
	t.requests.WithLabelValues(route, strconv.Itoa(code)).Observe(took.Seconds())
}

func (t *stats) tokens(phase string, n int) {
	if n > 0 {
		t.tokenCount.WithLabelValues(phase).Add(float64(n))
	}
}

func (s *Server) metrics(c *call) (any, error) {
	promhttp.HandlerFor(s.stats.registry, promhttp.HandlerOpts{}).ServeHTTP(c.w, c.r)
	return nil, errAnswered
}
