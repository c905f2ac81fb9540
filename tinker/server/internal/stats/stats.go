// Package stats counts the work of a server, for /metrics, and of each tenant.
package stats

import (
	"bytes"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/expfmt"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/edge"
)

// Stats are the metrics of /metrics, and what each tenant has used.
type Stats struct {
	registry   *prometheus.Registry
	requests   *prometheus.HistogramVec
	tokenCount *prometheus.CounterVec
	fsync      *prometheus.HistogramVec
	pushedBack prometheus.Counter
	Endpoint   *endpointMetrics
	Activity   *activity
}

func New() *Stats {
	t := &Stats{
		Activity: newActivity(),
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
	t.Endpoint = newEndpointMetrics(t.registry)
	return t
}

// Gauge registers a number that is read at each request of /metrics.
func (t *Stats) Gauge(name, help string, read func() float64) {
	t.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
}

// Computing is an engine with counters.
type Computing interface{ Stats() tinker.Stats }

// Compute registers an engine's metrics.
func (t *Stats) Compute(e Computing) {
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

// Request counts an answer.
func (t *Stats) Request(route string, code int, took time.Duration) {
	t.requests.WithLabelValues(route, strconv.Itoa(code)).Observe(took.Seconds())
}

// Synced counts a group commit of a log.
func (t *Stats) Synced(log string, took time.Duration) {
	t.fsync.WithLabelValues(log).Observe(took.Seconds())
}

// Full counts a request that is told to come back later.
func (t *Stats) Full() { t.pushedBack.Inc() }

// Called counts a tenant's request.
func (t *Stats) Called(tenant string, now time.Time) { t.Activity.request(tenant, now) }

// Tokens counts the tokens of a finished request of the Tinker protocol.
func (t *Stats) Tokens(tenant, phase string, n int) {
	if n > 0 {
		t.tokenCount.WithLabelValues(phase).Add(float64(n))
		t.Activity.Done(tenant, phase, n)
	}
}

// Serve writes the metrics in Prometheus' format, or as JSON if the client accepts that by name.
func (t *Stats) Serve(w http.ResponseWriter, r *http.Request) error {
	if !acceptsJSON(r) {
		promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{}).ServeHTTP(w, r)
		return nil
	}
	members, err := t.members()
	if err == nil {
		edge.Reply(w, http.StatusOK, members)
	}
	return err
}

// acceptsJSON reports whether a client accepts JSON by name.
func acceptsJSON(r *http.Request) bool {
	return strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "application/json")
}

// members are the metrics as members of one JSON object: each line of Prometheus' text format is one, with the name and
// its labels as the key. What JSON has no number for, such as infinity, is null.
func (t *Stats) members() (map[string]*float64, error) {
	families, err := t.registry.Gather()
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&text, f); err != nil {
			return nil, err
		}
	}
	members := map[string]*float64{}
	for line := range strings.Lines(text.String()) {
		at := strings.LastIndexByte(line, ' ')
		if at < 0 || line[0] == '#' {
			continue
		}
		x, err := strconv.ParseFloat(strings.TrimSpace(line[at:]), 64)
		if err != nil {
			return nil, err
		}
		if members[line[:at]] = &x; math.IsNaN(x) || math.IsInf(x, 0) {
			members[line[:at]] = nil
		}
	}
	return members, nil
}
