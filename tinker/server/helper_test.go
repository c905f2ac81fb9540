package server

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/engine/enginetest"
	"github.com/seed-d9ad8ee0/trinity/engine/journal"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/capacity"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		flag.Set("rapid.checks", "20") // of 30 requests each
	}
	goleak.VerifyTestMain(m)
}

const config = `{"architectures":["Qwen3ForCausalLM"],"model_type":"qwen3","hidden_size":32,"intermediate_size":48,` +
	`"num_hidden_layers":2,
"num_attention_heads":2,"num_key_value_heads":1,"head_dim":16,"vocab_size":128,"max_position_embeddings":512,` +
	`"rms_norm_eps":1e-6,
"rope_theta":10000,"tie_word_embeddings":true,"torch_dtype":"bfloat16","hidden_act":"silu","attention_bias":false,` +
	`"eos_token_id":0}`

// tinyModel writes a model folder with random weights.
func tinyModel(t testing.TB) string { return enginetest.Model(t, []byte(config), 8) }

// rig is a server with everything below it, over HTTP, that can be stopped and started again on the same folders.
type rig struct {
	t        testing.TB
	modelDir string
	dir      string
	opts     Options
	tune     func(*engine.Options) // of the engine, if set

	fs      disk.FS
	log     journal.Options
	journal *journal.Journal
	server  *Server
	web     *httptest.Server
	clock   atomic.Int64 // nanoseconds added to the time
	key     string
}

func newRig(t testing.TB, opts Options) *rig {
	t.Helper()
	return newTunedRig(t, opts, nil)
}

// newTunedRig is newRig with other options of the engine.
func newTunedRig(t testing.TB, opts Options, tune func(*engine.Options)) *rig {
	t.Helper()
	r := &rig{t: t, modelDir: tinyModel(t), dir: t.TempDir(), opts: opts, fs: disk.OS(), key: "tml-alice", tune: tune}
	if err := r.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.stop)
	return r
}

func (r *rig) now() time.Time { return time.Now().Add(time.Duration(r.clock.Load())) }

func (r *rig) start() error {
	seed := uint64(1)
	below := engine.Options{Dir: filepath.Join(r.dir, "checkpoints"),
		Models: map[string]engine.Model{"tiny": {Dir: r.modelDir}}, Seed: &seed, FS: r.fs, Threads: 1, MaxSequences: 8}
	if r.tune != nil {
		r.tune(&below)
	}
	e, err := engine.Open(below)
	if err != nil {
		return err
	}
	r.log.FS = r.fs
	j, err := journal.Open(context.Background(), filepath.Join(r.dir, "journal"), e, r.log)
	if err != nil {
		e.Close()
		return err
	}
	o := r.opts
	o.Dir, o.Store, o.fs, o.Now = filepath.Join(r.dir, "server"), e, r.fs, r.now
	if o.Models.Aliases == nil {
		o.Models.Aliases = map[string]string{"small": "tiny"}
	}
	s, err := Open(context.Background(), j, o)
	if err != nil {
		j.Close()
		return err
	}
	r.journal, r.server, r.web = j, s, httptest.NewServer(s)
	return nil
}

// stop closes everything in order. Tests that crash check its errors.
func (r *rig) stop() {
	if r.web == nil {
		return
	}
	r.server.Release()
	r.web.Close()
	r.server.Close()
	r.journal.Close()
	r.web = nil
}

func (r *rig) restart() {
	r.t.Helper()
	r.stop()
	if err := r.start(); err != nil {
		r.t.Fatal(err)
	}
}

// as returns the rig with another key.
func (r *rig) as(key string) *rig {
	return &rig{t: r.t, server: r.server, web: r.web, key: key}
}

// send makes a request; body is JSON unless it is bytes.
func (r *rig) send(method, path string, body any, headers ...string) (int, http.Header, []byte) {
	r.t.Helper()
	code, h, raw, err := r.try(method, path, body, headers...)
	if err != nil {
		r.t.Fatal(err)
	}
	return code, h, raw
}

func (r *rig) try(method, path string, body any, headers ...string) (int, http.Header, []byte, error) {
	var reader io.Reader
	kind := wire.JSON
	switch b := body.(type) {
	case nil:
	case []byte:
		reader, kind = bytes.NewReader(b), wire.Proto
	case rawJSON:
		reader = strings.NewReader(string(b))
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			return 0, nil, nil, err
		}
		reader = bytes.NewReader(raw)
	}
	req, err := http.NewRequest(method, r.web.URL+path, reader)
	if err != nil {
		return 0, nil, nil, err
	}
	req.Header.Set("Content-Type", kind)
	if strings.HasSuffix(path, "/retrieve_future") {
		req.Header.Set("Accept", wire.Proto) // as the SDK
	}
	if r.key != "" {
		req.Header.Set(wire.HeaderKey, r.key)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := r.web.Client().Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, raw, err
}

// post sends JSON (or protobuf bytes), requires status 200 and decodes the answer into out.
func (r *rig) post(path string, body, out any) {
	r.t.Helper()
	code, _, raw := r.send("POST", wire.Prefix+path, body)
	if code != http.StatusOK {
		r.t.Fatalf("POST %s: %d %s", path, code, raw)
	}
	if out != nil {
		if err := json.Unmarshal(raw, out); err != nil {
			r.t.Fatalf("POST %s: %s: %v", path, raw, err)
		}
	}
}

func (r *rig) get(path string, out any) {
	r.t.Helper()
	code, _, raw := r.send("GET", wire.Prefix+path, nil)
	if code != http.StatusOK {
		r.t.Fatalf("GET %s: %d %s", path, code, raw)
	}
	if err := json.Unmarshal(raw, out); err != nil {
		r.t.Fatalf("GET %s: %s: %v", path, raw, err)
	}
}

// promise posts and returns the request id.
func (r *rig) promise(path string, body any) string {
	r.t.Helper()
	return r.promiseWith(path, body)
}

// promiseWith is promise with headers.
func (r *rig) promiseWith(path string, body any, headers ...string) string {
	r.t.Helper()
	code, _, raw := r.send("POST", wire.Prefix+path, body, headers...)
	var p wire.Promise
	if err := json.Unmarshal(raw, &p); err != nil || code != http.StatusOK || p.RequestID == "" {
		r.t.Fatalf("POST %s: %d %s, no request_id", path, code, raw)
	}
	return p.RequestID
}

// rawJSON is a body that is sent as it is.
type rawJSON string

// settled waits until nothing is in progress and checks that every counter is 0 then.
func (r *rig) settled(t testing.TB) {
	t.Helper()
	eventually(t, r.counters)
}

// eventually waits until a state without events is as it should be; wrong says what is not.
func eventually(t testing.TB, wrong func() string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); wrong() != ""; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after a minute still: %s", wrong())
		}
	}
}

// unless is what unless ok.
func unless(ok bool, what string) string {
	if ok {
		return ""
	}
	return what
}

// counters lists the counters that are not 0.
func (r *rig) counters() (list string) {
	s := r.server
	s.state.Lock()
	defer s.state.Unlock()
	add := func(name string, n int64) {
		if n != 0 {
			list += fmt.Sprintf(" %s %d", name, n)
		}
	}
	for _, q := range []*capacity.Quota{s.capacity.Training, s.capacity.Sampling, s.capacity.Listening} {
		all, _ := q.Now("")
		add(q.What, int64(all.Requests))
		add("bytes of "+q.What, all.Bytes)
	}
	add("bodies", s.edge.Bodies.Budget().InUse())
	if !s.edge.Bodies.Idle() {
		add("inflaters", 1)
	}
	for id, p := range s.state.Samplers {
		add("busy "+id, int64(p.Busy))
	}
	for key, p := range s.state.Samples {
		if p.Finished.IsZero() && !s.life.Closing() {
			add("unfinished "+key.Sampler, 1)
		}
	}
	return list
}

// fetch polls a future until it has a result: protobuf as bytes, JSON as a map.
func (r *rig) fetch(id string) (map[string]any, []byte) {
	r.t.Helper()
	for start := time.Now(); time.Since(start) < time.Minute; {
		code, h, raw := r.send("POST", wire.Prefix+"/retrieve_future", wire.RetrieveRequest{RequestID: id}, "Accept",
			wire.Proto)
		if code != http.StatusOK {
			r.t.Fatalf("retrieve_future: %d %s", code, raw)
		}
		if h.Get("Content-Type") == wire.Proto {
			return nil, raw
		}
		var m map[string]any
		if err := json.Unmarshal(raw, &m); err != nil {
			r.t.Fatal(err)
		}
		if m["type"] != "try_again" {
			return m, nil
		}
	}
	r.t.Fatal("the result never came")
	return nil, nil
}

// result fetches a future that must succeed with JSON.
func (r *rig) result(id string) map[string]any {
	r.t.Helper()
	m, raw := r.fetch(id)
	if raw != nil || m["error"] != nil {
		r.t.Fatalf("result: %v", m)
	}
	return m
}

// failure fetches a future that must fail, and returns message and category.
func (r *rig) failure(id string) (string, string) {
	r.t.Helper()
	m, raw := r.fetch(id)
	if raw != nil || m["error"] == nil {
		r.t.Fatalf("the request succeeded: %v", m)
	}
	return m["error"].(string), m["category"].(string)
}

func (r *rig) output(id string) tinker.ForwardOutput {
	r.t.Helper()
	m, raw := r.fetch(id)
	if raw == nil {
		r.t.Fatalf("no protobuf: %v", m)
	}
	o, err := wire.DecodeOutput(raw)
	if err != nil {
		r.t.Fatal(err)
	}
	return o
}

func (r *rig) samples(id string) tinker.SampleResponse {
	r.t.Helper()
	m, raw := r.fetch(id)
	if raw == nil {
		r.t.Fatalf("no protobuf: %v", m)
	}
	o, err := wire.DecodeSample(raw)
	if err != nil {
		r.t.Fatal(err)
	}
	return o
}

func (r *rig) session() string {
	r.t.Helper()
	var s wire.CreateSessionResponse
	r.post("/create_session", map[string]any{"tags": []string{}, "user_metadata": map[string]any{},
		"sdk_version": "0.25.0", "type": "create_session"}, &s)
	return s.SessionID
}

func (r *rig) model(session string, seq int64) string {
	r.t.Helper()
	id := r.promise("/create_model", createModel(session, seq))
	return r.result(id)["model_id"].(string)
}

func createModel(session string, seq int64) map[string]any {
	return map[string]any{"session_id": session, "model_seq_id": seq, "base_model": "small", "type": "create_model",
		"lora_config": map[string]any{"rank": 4, "seed": 7, "train_unembed": true, "train_mlp": true,
			"train_attn": true}}
}

func (r *rig) sampler(session string, seq int64, body map[string]any) string {
	r.t.Helper()
	m := map[string]any{"session_id": session, "sampling_session_seq_id": seq, "type": "create_sampling_session"}
	for k, v := range body {
		m[k] = v
	}
	var out wire.CreateSamplingSessionResponse
	r.post("/create_sampling_session", m, &out)
	return out.SamplingSessionID
}

// batch is a batch of cross entropy whose content depends on seq.
func batch(model string, seq int64, only bool) []byte {
	tokens := []int32{3, 9, int32(seq%100 + 1), 40, 41, 7, 100}
	targets, w := make([]int64, len(tokens)), make([]float32, len(tokens))
	for i := range tokens {
		targets[i], w[i] = int64(tokens[(i+1)%len(tokens)]), 1-float32(i)/8
	}
	return wire.EncodeForwardBackward(wire.ForwardBackward{ModelID: model, SeqID: seq, LossFn: tinker.CrossEntropy,
		ForwardOnly: only, Data: []tinker.Datum{{
			ModelInput: tinker.Text(tokens), LossFnInputs: map[string]tinker.Tensor{
				tinker.TargetTokens: tinker.Ints(targets), tinker.Weights: tinker.Floats(w)}}}})
}

func step(model string, seq int64) map[string]any {
	return map[string]any{"model_id": model, "seq_id": seq, "type": "optim_step",
		"adam_params": map[string]any{"learning_rate": 0.01}}
}

func asample(sampler string, seq int64, more map[string]any) map[string]any {
	m := map[string]any{"sampling_session_id": sampler, "seq_id": seq, "num_samples": 1, "type": "sample",
		"prompt_logprobs": false, "topk_prompt_logprobs": 0,
		"prompt": map[string]any{"chunks": []any{map[string]any{"type": "encoded_text",
			"tokens": []int{5, 6, 7}}}},
		"sampling_params": map[string]any{"max_tokens": 8, "temperature": 1.0, "top_k": -1, "top_p": 1.0}}
	for k, v := range more {
		m[k] = v
	}
	return m
}

// bits returns an output as text, bit for bit.
func bits(o tinker.ForwardOutput) string {
	return fmt.Sprintf("%x", wire.EncodeOutput(o))
}
