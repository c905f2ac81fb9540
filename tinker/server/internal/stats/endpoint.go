package stats

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// endpointMetrics are the metrics of the requests that tinker/endpoint answers, under vLLM's names and in its units
// (docs/usage/metrics.md there), so that its dashboards work. As in vLLM each of a request's n samples is measured by
// itself. The label is the base model: checkpoints are many, and their names are their tenants' own.
type endpointMetrics struct {
	first, between, whole       *prometheus.HistogramVec
	running, waiting            *prometheus.GaugeVec
	prompts, generated, success *prometheus.CounterVec
}

const modelLabel = "model_name"

func newEndpointMetrics(registry *prometheus.Registry) *endpointMetrics {
	histogram := func(name, help string, buckets []float64) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets},
			[]string{modelLabel})
	}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{modelLabel})
	}
	counter := func(name, help string, more ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, append([]string{modelLabel},
			more...))
	}
	m := &endpointMetrics{
		first: histogram("vllm:time_to_first_token_seconds",
			"Time from a request's arrival to the first token of each sample; whole answers count too.",
			[]float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640,
				2560}),
		between: histogram("vllm:inter_token_latency_seconds", "Time between two tokens of a sample.",
			[]float64{.001, .0025, .005, .01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40,
				80}),
		whole: histogram("vllm:e2e_request_latency_seconds", "Time from a request's arrival to a sample's last token.",
			[]float64{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}),
		running: gauge("vllm:num_requests_running", "Samples with a first token that have not ended."),
		waiting: gauge("vllm:num_requests_waiting",
			"Samples without a first token: queued, or their prompt is being computed (which vLLM counts as running)."),
		prompts: counter("vllm:prompt_tokens_total",
			"Tokens of prompts, once for all samples of a request, found in the cache or not."),
		generated: counter("vllm:generation_tokens_total", "Tokens drawn."),
		success: counter("vllm:request_success_total",
			"Samples that ended, by reason: stop, length, abort (the client has gone, or the server stops), error.",
			"finished_reason"),
	}
	registry.MustRegister(m.first, m.between, m.whole, m.running, m.waiting, m.prompts, m.generated, m.success)
	return m
}

// measuredClient measures the samples of one request. Make one with measure; close ends it.
type measuredClient struct {
	client   tinker.SamplingClient
	arrived  time.Time
	metrics  *endpointMetrics
	model    string
	used     func(phase string, tokens int) // told at the end of each request
	requests []*measuredRequest
}

var _ tinker.Streamer = (*measuredClient)(nil)

// Measure wraps the client of one request, which is used by one goroutine.
func (m *endpointMetrics) Measure(c tinker.SamplingClient, model string, arrived time.Time,
	used func(phase string, tokens int)) *measuredClient {
	return &measuredClient{client: c, arrived: arrived, metrics: m, model: model, used: used}
}

// Sample implements tinker.SamplingClient. The request is streamed for its times.
func (c *measuredClient) Sample(ctx context.Context,
	req tinker.SampleRequest) (*tinker.Future[tinker.SampleResponse], error) {
	s, err := c.Stream(ctx, req)
	if err != nil {
		return nil, err
	}
	return s.Result(), nil
}

// Stream implements tinker.Streamer.
func (c *measuredClient) Stream(ctx context.Context, req tinker.SampleRequest) (*tinker.Stream, error) {
	s, err := tinker.OpenStream(ctx, c.client, req)
	if err != nil {
		return nil, err
	}
	m, n := c.metrics, max(1, req.NumSamples)
	q := &measuredRequest{c: c, prompt: req.Prompt.Len(), asked: req.Prompt.Len(), last: make([]time.Time, n),
		ended: make([]bool, n), first: m.first.WithLabelValues(c.model), between: m.between.WithLabelValues(c.model),
		running: m.running.WithLabelValues(c.model), waiting: m.waiting.WithLabelValues(c.model),
		generated: m.generated.WithLabelValues(c.model), result: s.Result()}
	q.waiting.Add(float64(n))
	c.requests = append(c.requests, q)
	s.Follow(q.drawn)
	return s, nil
}

// Close counts the samples that did not end. The results of all requests must be there.
func (c *measuredClient) Close() {
	for _, q := range c.requests {
		q.close()
	}
}

// measuredRequest measures one prompt's samples. Its methods are called one after the other.
type measuredRequest struct {
	c      *measuredClient
	prompt int         // tokens; 0 once they are counted
	asked  int         // tokens of the prompt
	tokens int         // drawn
	last   []time.Time // by sample: when its latest token came
	ended  []bool      // by sample
	result *tinker.Future[tinker.SampleResponse]

	first, between   prometheus.Observer
	running, waiting prometheus.Gauge
	generated        prometheus.Counter
}

// drawn measures a token. The engine calls it between two steps.
func (q *measuredRequest) drawn(d tinker.Drawn) {
	now, i := time.Now(), d.Sample
	if q.last[i].IsZero() {
		q.first.Observe(now.Sub(q.c.arrived).Seconds())
		q.waiting.Dec()
		q.running.Inc()
		q.c.metrics.prompts.WithLabelValues(q.c.model).Add(float64(q.prompt))
		q.prompt = 0
	} else {
		q.between.Observe(now.Sub(q.last[i]).Seconds())
	}
	q.last[i] = now
	q.generated.Inc()
	q.tokens++
	if d.Stop != "" {
		q.ended[i] = true
		q.running.Dec()
		q.c.metrics.whole.WithLabelValues(q.c.model).Observe(now.Sub(q.c.arrived).Seconds())
		q.c.metrics.success.WithLabelValues(q.c.model, string(d.Stop)).Inc()
	}
}

func (q *measuredRequest) close() {
	out, err := q.result.Wait(context.Background())
	q.c.used("sample", q.tokens)
	if err == nil {
		q.c.used("prompt", q.asked-out.PromptCacheHitTokens)
	}
	reason := "error"
	if errors.Is(err, context.Canceled) || errors.Is(err, tinker.ErrClosed) {
		reason = "abort"
	}
	for i, ended := range q.ended {
		if ended {
			continue
		}
		if q.last[i].IsZero() {
			q.waiting.Dec()
		} else {
			q.running.Dec()
		}
		q.c.metrics.success.WithLabelValues(q.c.model, reason).Inc()
	}
}
