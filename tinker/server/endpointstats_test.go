package server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// metric is the value of a line of /metrics; 0 if there is none.
func (r *rig) metric(line string) float64 {
	r.t.Helper()
	_, _, raw := r.send("GET", "/metrics", nil)
	for _, l := range strings.Split(string(raw), "\n") {
		if value, ok := strings.CutPrefix(l, line+" "); ok {
			v, err := strconv.ParseFloat(value, 64)
			if err != nil {
				r.t.Fatal(err)
			}
			return v
		}
	}
	return 0
}

// Every sample of OpenAI's interface is measured under vLLM's names, whole or streamed, and one whose client vanishes
// is an abort. Nothing stays in the gauges.
func TestEndpointMetrics(t *testing.T) {
	r := newEndpoint(t)
	const body = `{"model":"small","prompt":[5,6,7,8],"n":3,"max_tokens":5,"seed":1,"ignore_eos":true,"stream":%v}`
	before := time.Now()
	for _, stream := range []bool{false, true} {
		if code, _ := r.openai("POST", "/v1/completions", fmt.Sprintf(body, stream)); code != http.StatusOK {
			t.Fatal(code)
		}
	}
	took := time.Since(before).Seconds()
	m := `{model_name="tiny"}`
	for line, want := range map[string]float64{
		"vllm:time_to_first_token_seconds_count" + m:                                    6,
		"vllm:inter_token_latency_seconds_count" + m:                                    6 * 4,
		"vllm:e2e_request_latency_seconds_count" + m:                                    6,
		"vllm:prompt_tokens_total" + m:                                                  2 * 4,
		"vllm:generation_tokens_total" + m:                                              6 * 5,
		`vllm:request_success_total{finished_reason="length",model_name="tiny"}`:        6,
		`vllm:request_success_total{finished_reason="abort",model_name="tiny"}`:         0,
		"vllm:num_requests_running" + m:                                                 0,
		"vllm:num_requests_waiting" + m:                                                 0,
		`trinity_http_request_seconds_count{route="POST /v1/completions",status="200"}`: 2,
	} {
		if got := r.metric(line); got != want {
			t.Errorf("%s is %v, want %v", line, got, want)
		}
	}
	first, between, whole := r.metric("vllm:time_to_first_token_seconds_sum"+m),
		r.metric("vllm:inter_token_latency_seconds_sum"+m), r.metric("vllm:e2e_request_latency_seconds_sum"+m)
	if first <= 0 || between <= 0 || whole > 6*took || first+between < .999*whole || first+between > 1.001*whole {
		t.Errorf("%v s to first tokens and %v s between tokens are not %v s in all", first, between, whole)
	}
	vanish(t, r)
	eventually(t, func() string {
		aborted := r.metric(`vllm:request_success_total{finished_reason="abort",model_name="tiny"}`)
		left := r.metric("vllm:num_requests_running"+m) + r.metric("vllm:num_requests_waiting"+m)
		return unless(aborted == 2 && left == 0, fmt.Sprintf("%v aborted samples, %v left; want 2, 0", aborted, left))
	})
}

// Ollama's routes are measured as OpenAI's.
func TestOllamaIsMeasured(t *testing.T) {
	r := newEndpoint(t)
	const options = `"options":{"num_predict":5,"seed":1},"stream":%v}`
	for i, stream := range []bool{false, true} {
		for path, body := range map[string]string{"/api/generate": `{"model":"small","prompt":"12 + 30",`,
			"/api/chat": `{"model":"small","messages":[{"role":"user","content":"12 + 30"}],`} {
			code, _, raw := r.send("POST", path, rawJSON(body+fmt.Sprintf(options, stream)))
			if code != http.StatusOK {
				t.Fatalf("%s: %d %s", path, code, raw)
			}
		}
		m, n := `{model_name="tiny"}`, float64(2*i+2)
		if r.metric("vllm:time_to_first_token_seconds_count"+m) != n ||
			r.metric(`vllm:request_success_total{finished_reason="error",model_name="tiny"}`) != 0 ||
			r.metric("vllm:generation_tokens_total"+m) < n || r.metric("vllm:prompt_tokens_total"+m) < n {
			t.Errorf("stream %v: not every request was measured", stream)
		}
	}
}

// A client that accepts JSON by name gets the same names, labels and values as one object.
func TestMetricsJSON(t *testing.T) {
	r := newEndpoint(t)
	body := `{"model":"small","prompt":[5,6,7,8],"max_tokens":5,"ignore_eos":true}`
	if code, _ := r.openai("POST", "/v1/completions", body); code != http.StatusOK {
		t.Fatal(code)
	}
	code, h, raw := r.send("GET", "/metrics", nil, "Accept", "application/json")
	if code != http.StatusOK || !strings.HasPrefix(h.Get("Content-Type"), "application/json") {
		t.Fatalf("%d %v", code, h)
	}
	var members map[string]*float64
	if err := json.Unmarshal(raw, &members); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	for _, key := range []string{`vllm:generation_tokens_total{model_name="tiny"}`,
		`vllm:time_to_first_token_seconds_bucket{model_name="tiny",le="+Inf"}`, "trinity_sessions",
		`trinity_http_request_seconds_count{route="POST /v1/completions",status="200"}`} {
		if got := members[key]; got == nil || *got != r.metric(key) {
			t.Errorf("%s is %v in JSON, %v in text", key, got, r.metric(key))
		}
	}
	_, h, text := r.send("GET", "/metrics", nil, "Accept", "*/*")
	if !strings.HasPrefix(h.Get("Content-Type"), "text/plain") {
		t.Errorf("for */* it is %s", h.Get("Content-Type"))
	}
	for line := range strings.Lines(string(text)) {
		key := line[:max(0, strings.LastIndexByte(line, ' '))]
		own := strings.Contains(key, `"GET /metrics"`) // its first request is counted once it is answered
		if _, ok := members[key]; !ok && line[0] != '#' && !own {
			t.Errorf("JSON lacks %s", key)
		}
	}
}

// vanish begins a stream of two samples and leaves after its first token, when both count as running.
func vanish(t *testing.T, r *rig) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "POST", r.web.URL+"/v1/completions", strings.NewReader(
		`{"model":"tiny","prompt":[5,6,7,8],"n":2,"max_tokens":400,"ignore_eos":true,"stream":true,`+
			`"return_token_ids":true}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(wire.HeaderKey, r.key)
	resp, err := r.web.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if strings.Contains(lines.Text(), `"token_ids":[`) {
			break
		}
	}
	running := r.metric(`vllm:num_requests_running{model_name="tiny"}`)
	if running < 1 || running > 2 {
		t.Errorf("%v samples are running, want 1 or 2", running)
	}
}

// /health says why it is not, as /healthz does; neither it nor /version needs a key.
func TestHealthAndVersion(t *testing.T) {
	const key = "tml-known"
	own := newRig(t, Options{Version: "1.2 abc", Access: Access{Keys: keyList{HashKey(key)}}})
	full := &disktest.Full{FS: disk.OS()}
	own.fs, own.key = full, key
	own.restart()
	session := own.session()
	r := own.as("")
	for _, c := range []struct {
		full   bool
		code   int
		reason string
	}{{false, 200, "ok"}, {true, 503, syscall.ENOSPC.Error()}, {false, 200, "ok"}} {
		full.Now.Store(c.full)
		if c.full {
			own.send("POST", wire.Prefix+"/create_model", createModel(session, 0))
		}
		for _, path := range []string{"/health", "/healthz", wire.Prefix + "/healthz"} {
			code, _, raw := r.send("GET", path, nil)
			if code != c.code || !strings.Contains(string(raw), c.reason) {
				t.Errorf("%s: %d %s, want %d %q", path, code, raw, c.code, c.reason)
			}
		}
	}
	code, _, raw := r.send("GET", "/version", nil)
	var v struct{ Version string }
	if err := json.Unmarshal(raw, &v); err != nil || code != http.StatusOK || v.Version != "1.2 abc" {
		t.Errorf("/version: %d %s", code, raw)
	}
	r.server.Release()
	if code, _, raw := r.send("GET", "/health", nil); code != 503 || !strings.Contains(string(raw), "closing") {
		t.Errorf("/health while the server stops: %d %s", code, raw)
	}
}
