package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// The engine's queue is limited: one tenant may fill half, another still finds room, a request that later ones wait
// for is always accepted, and accepted requests are executed.
func TestQueueIsBounded(t *testing.T) {
	r := newTunedRig(t, Options{}, func(o *engine.Options) { o.MaxWaiting = 6 })
	bob := r.as("tml-bob")
	m, other := r.model(r.session(), 0), bob.model(bob.session(), 0)
	var accepted []string
	for seq := int64(2); seq <= 4; seq++ { // they wait for the first
		accepted = append(accepted, r.promise("/forward_backward", batch(m, seq, false)))
	}
	code, h, raw := r.send("POST", wire.Prefix+"/forward_backward", batch(m, 5, false))
	if code != http.StatusServiceUnavailable || h.Get("Retry-After") != "5" ||
		!strings.Contains(string(raw), "queue full: 3 requests with 21 tokens pending, 3 with 21 of them yours") {
		t.Errorf("beyond the bound: %d, Retry-After %q, %s", code, h.Get("Retry-After"), raw)
	}
	again := r.promise("/forward_backward", batch(m, 3, false)) // is answered, not counted
	theirs := bob.promise("/forward_backward", batch(other, 2, false))
	metrics := r.metrics()
	for _, line := range []string{`trinity_engine_queue_requests{work="training"} 4`,
		`trinity_engine_queue_tokens{work="training"} 28`, `trinity_engine_queue_requests{work="sampling"} 0`} {
		if !strings.Contains(metrics, line+"\n") {
			t.Errorf("metrics lack %s", line)
		}
	}
	accepted = append(accepted, again, r.promise("/forward_backward", batch(m, 1, false)))
	for _, id := range accepted {
		r.output(id)
	}
	bob.promise("/forward_backward", batch(other, 1, false))
	bob.output(theirs)
	r.output(r.promise("/forward_backward", batch(m, 5, false)))
	metrics = r.metrics()
	for _, line := range []string{`trinity_engine_queue_requests{work="training"} 0`,
		`trinity_engine_tokens_total{phase="backward"} 49`, "trinity_engine_training_models_total 7"} {
		if !strings.Contains(metrics, line+"\n") {
			t.Errorf("metrics lack %s", line)
		}
	}
}

// A request that does not fit is asked to retry later, in the form that its client understands.
func TestSamplesAreBounded(t *testing.T) {
	r := newTunedRig(t, Options{}, func(o *engine.Options) { o.MaxWaiting = 1 })
	s := r.sampler(r.session(), 0, map[string]any{"base_model": "small"})
	long := map[string]any{"num_samples": 4096, "sampling_params": map[string]any{"max_tokens": 40, "temperature": 1.0,
		"top_k": -1, "top_p": 1.0}}
	first := r.promise("/asample", asample(s, 0, long))
	waiting := func(n string) {
		for !strings.Contains(r.metrics(), `trinity_engine_queue_requests{work="sampling"} `+n) {
		}
	}
	waiting("1")
	code, _, raw := r.send("POST", wire.Prefix+"/asample", asample(s, 1, nil), wire.HeaderBackpressure, "1")
	if code != http.StatusTooManyRequests || !strings.Contains(string(raw), "the service is busy") {
		t.Errorf("a second sample: %d %s", code, raw)
	}
	r.post("/cancel_future", map[string]any{"request_id": first}, nil)
	r.failure(first)
	waiting("0")
	r.samples(r.promise("/asample", asample(s, 1, nil)))
}

func (r *rig) metrics() string {
	r.t.Helper()
	code, _, raw := r.send("GET", "/metrics", nil)
	if code != http.StatusOK {
		r.t.Fatalf("metrics: %d", code)
	}
	return string(raw)
}
