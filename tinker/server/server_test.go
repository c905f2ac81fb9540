package server

import (
	"encoding/json"
	"math"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/checkpoint"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

func TestTrainSaveLoadSample(t *testing.T) {
	r := newRig(t, Options{})
	session := r.session()
	m := r.model(session, 0)
	if want := session + ":train:0"; m != want {
		t.Errorf("model id %q, want %q, which the SDK relies on", m, want)
	}
	var info wire.GetInfoResponse
	r.post("/get_info", map[string]any{"model_id": m, "type": "get_info"}, &info)
	if !info.IsLoRA || info.LoRARank != 4 || info.LoRAAlpha != 32 || info.ModelData.ModelName != "small" ||
		info.BaseDtype != "bf16" {
		t.Errorf("get_info says %+v", info)
	}
	first := r.output(r.promise("/forward_backward", batch(m, 1, false)))
	if got := first.LossFnOutputs[0][tinker.Logprobs].Shape; !reflect.DeepEqual(got, []int{7}) {
		t.Errorf("logprobs have shape %v, want [7]", got)
	}
	metrics := r.result(r.promise("/optim_step", step(m, 2)))["metrics"].(map[string]any)
	if g, _ := metrics["grad_norm"].(float64); g <= 0 {
		t.Errorf("grad_norm is %v", metrics["grad_norm"])
	}
	state := r.result(r.promise("/save_weights", map[string]any{"model_id": m, "path": "a", "seq_id": 3,
		"overwrite": false, "type": "save_weights"}))["path"].(string)
	sampler := r.result(r.promise("/save_weights_for_sampler",
		map[string]any{"model_id": m, "seq_id": 4, "sampling_session_seq_id": 0,
			"type": "save_weights_for_sampler"}))["sampling_session_id"].(string)
	here := r.output(r.promise("/forward_backward", batch(m, 5, true)))

	// A model from the state computes the same bits; so does the sampler.
	again := r.result(r.promise("/load_weights", map[string]any{"session_id": session, "model_seq_id": 1, "path": state,
		"optimizer": true, "type": "load_weights"}))["model_id"].(string)
	there := wire.ForwardBackward{}
	there, _ = wire.DecodeForwardBackward(batch(m, 5, true))
	there.ModelID, there.SeqID = again, 1
	if got := r.output(r.promise("/forward_backward", wire.EncodeForwardBackward(there))); bits(got) != bits(here) {
		t.Errorf("the loaded model computes %v, the saved one %v", got, here)
	}
	out := r.samples(r.promise("/asample", asample(sampler, 0, map[string]any{"prompt_logprobs": true,
		"prompt": map[string]any{"chunks": []any{map[string]any{"type": "encoded_text",
			"tokens": []int{3, 9, 6, 40, 41, 7, 100}}}}})))
	logprobs := here.LossFnOutputs[0][tinker.Logprobs].Float
	for i, lp := range out.PromptLogprobs[1:] {
		if lp != logprobs[i] {
			t.Errorf("position %d: the sampler says %v, training %v", i, lp, logprobs[i])
		}
	}
}

// The SDK sends the later chunks of a batch first and waits for their promises before it sends the first one.
func TestChunksInAnyOrder(t *testing.T) {
	r := newRig(t, Options{})
	session := r.session()
	m, other := r.model(session, 0), r.model(session, 1)
	var ids [5]string
	for _, seq := range []int64{4, 3, 2, 1} {
		if seq == 4 {
			ids[seq] = r.promise("/optim_step", step(m, seq))
		} else {
			ids[seq] = r.promise("/forward_backward", batch(m, seq, false))
		}
	}
	got := r.output(ids[3])
	r.result(ids[4])
	for seq := int64(1); seq < 4; seq++ {
		b, err := wire.DecodeForwardBackward(batch(m, seq, false))
		if err != nil {
			t.Fatal(err)
		}
		b.ModelID = other
		want := r.output(r.promise("/forward_backward", wire.EncodeForwardBackward(b)))
		if seq == 3 && bits(got) != bits(want) {
			t.Errorf("out of order %v, in order %v", got, want)
		}
	}
}

func TestRepeatedRequestsAreAnsweredNotRedone(t *testing.T) {
	r := newRig(t, Options{})
	session := r.session()
	m := r.model(session, 0)
	sampler := r.sampler(session, 0, map[string]any{"base_model": "tiny"})
	for _, c := range []struct {
		path        string
		body, other any
	}{
		{"/create_model", createModel(session, 5), func() any {
			b := createModel(session, 5)
			b["base_model"] = "tiny"
			b["lora_config"] = map[string]any{"rank": 8}
			return b
		}()},
		{"/forward_backward", batch(m, 1, false), batch(m, 1, true)},
		{"/optim_step", step(m, 2), map[string]any{"model_id": m, "seq_id": 2,
			"adam_params": map[string]any{"learning_rate": 0.5}}},
		{"/save_weights", map[string]any{"model_id": m, "path": "x", "seq_id": 3},
			map[string]any{"model_id": m, "path": "y", "seq_id": 3}},
		{"/asample", asample(sampler, 0, nil), asample(sampler, 0, map[string]any{"num_samples": 2})},
	} {
		first, again := r.promise(c.path, c.body), r.promise(c.path, c.body)
		if first != again {
			t.Errorf("%s: the same request has ids %s and %s", c.path, first, again)
		}
		if a, b := asJSON(t, r, first), asJSON(t, r, again); a != b {
			t.Errorf("%s: results differ: %s, %s", c.path, a, b)
		}
		if code, h, raw := r.send("POST", wire.Prefix+c.path, c.other); code != http.StatusBadRequest ||
			h.Get("Content-Length") == "" {
			t.Errorf("%s: another request under the same number: %d %s (Content-Length %q)", c.path, code, raw,
				h.Get("Content-Length"))
		}
	}
	// A sampling session too; an unnamed save sent again names another session, and the first one counts.
	if again := r.sampler(session, 0, map[string]any{"base_model": "small"}); again != sampler {
		t.Errorf("the same sampling session is %s and %s", sampler, again)
	}
	save := map[string]any{"model_id": m, "seq_id": 4, "sampling_session_seq_id": 7}
	first := r.promise("/save_weights_for_sampler", save)
	save["sampling_session_seq_id"] = 8
	again := r.promise("/save_weights_for_sampler", save)
	if got := r.result(again)["sampling_session_id"]; first != again || got != session+":sample:7" {
		t.Errorf("ids %s and %s, sampler %v", first, again, got)
	}
}

func asJSON(t *testing.T, r *rig, id string) string {
	t.Helper()
	m, raw := r.fetch(id)
	b, err := json.Marshal([]any{m, raw})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// An error in a request's contents is its result and uses its number, so that later requests run.
func TestWrongContents(t *testing.T) {
	r := newRig(t, Options{})
	session := r.session()
	m := r.model(session, 0)
	with := func(f func(*wire.ForwardBackward)) func(seq int64) any {
		return func(seq int64) any {
			b, err := wire.DecodeForwardBackward(batch(m, seq, false))
			if err != nil {
				t.Fatal(err)
			}
			f(&b)
			return wire.EncodeForwardBackward(b)
		}
	}
	input := func(name string, v tinker.Tensor) func(seq int64) any {
		return with(func(b *wire.ForwardBackward) { b.Data[0].LossFnInputs[name] = v })
	}
	obj := func(m map[string]any) func(seq int64) any {
		return func(seq int64) any { m["seq_id"] = seq; return m }
	}
	nan := []float32{1, 1, 1, 1, 1, 1, 1}
	nan[3] /= 0 * nan[2]
	seq := int64(0)
	for _, c := range []struct {
		path string
		body func(seq int64) any
		want string
	}{
		{"/forward_backward", with(func(b *wire.ForwardBackward) { b.LossFn = "huber" }), "huber"},
		{"/forward_backward", with(func(b *wire.ForwardBackward) { b.LossFnConfig = map[string]float64{"x": 1} }), "x"},
		{"/forward_backward", with(func(b *wire.ForwardBackward) { b.Data = nil }), "no data"},
		{"/forward_backward", with(func(b *wire.ForwardBackward) {
			b.Data[0].ModelInput = tinker.Text([]int32{1, 2, 3,
				4, 5, 6, 999})
		}), "999"},
		{"/forward_backward", with(func(b *wire.ForwardBackward) {
			b.Data[0].ModelInput.Chunks[0] = tinker.Chunk{Image: &tinker.Image{ExpectedTokens: 7}}
		}), "image"},
		{"/forward_backward", input(tinker.Weights, tinker.Floats([]float32{1})), "weights"},
		{"/forward_backward", input(tinker.Weights, tinker.Floats(nan)), "weights"},
		{"/forward_backward", input(tinker.TargetTokens, tinker.Floats([]float32{1, 2, 3, 4, 5, 6, 7})),
			"target_tokens"},
		{"/forward_backward", input(tinker.Weights, tinker.Tensor{Shape: []int{9}, Float: []float32{1}}),
			`datum 0: loss_fn_inputs["weights"]`},
		{"/optim_step", obj(map[string]any{"model_id": m, "optimizer_params": map[string]any{"type": "dimuon"}}),
			"optimizer_params of dimuon has no learning_rate"},
		{"/optim_step", obj(map[string]any{"model_id": m, "optimizer_params": map[string]any{"type": "dimuon",
			"learning_rate": nil}}), "optimizer_params.learning_rate is null"},
		{"/optim_step", obj(map[string]any{"model_id": m, "optimizer_params": map[string]any{"type": "dimuon",
			"learning_rate": 1}}), "has the optimizer adamw"},
		{"/optim_step", obj(map[string]any{"model_id": m, "optimizer_params": map[string]any{"type": "sgd"}}),
			`optimizer_params.type is "sgd"`},
		{"/optim_step", obj(map[string]any{"model_id": m, "adam_params": map[string]any{},
			"optimizer_params": map[string]any{"type": "dimuon", "learning_rate": 1}}), "has both"},
		{"/load_weights", obj(map[string]any{"model_id": m, "path": "tinker://x/weights/y",
			"optimizer_config": map[string]any{"type": "dimuon"}}),
			"optimizer_config chooses the optimizer of a new model"},
		{"/optim_step", obj(map[string]any{"model_id": m, "adam_params": map[string]any{"learning_rate": -1}}),
			"learning_rate"},
		{"/optim_step", obj(map[string]any{"model_id": m, "adam_params": map[string]any{"learning_rate": nil}}),
			"adam_params.learning_rate is null"},
		{"/optim_step", obj(map[string]any{"model_id": m, "adam_params": map[string]any{"BETA1": nil}}),
			"adam_params.BETA1 is null"},
		{"/optim_step", obj(map[string]any{"model_id": m, "adam_params": map[string]any{"learning_rate": "fast"}}),
			"learning_rate is string"},
		{"/optim_step", obj(map[string]any{"model_id": m,
			"adam_params": map[string]any{"learning_rate": json.RawMessage("1e999")}}),
			"learning_rate is number 1e999"},
		{"/optim_step", obj(map[string]any{"model_id": m}), "optim_step has no adam_params"},
		{"/optim_step", obj(map[string]any{"model_id": m, "adam_params": nil}), "optim_step has no adam_params"},
		{"/forward_backward",
			with(func(b *wire.ForwardBackward) { b.LossFnConfig = map[string]float64{"beta": math.NaN()} }),
			`loss_fn_config["beta"] is NaN`},
		{"/forward_backward",
			with(func(b *wire.ForwardBackward) { b.LossFnConfig = map[string]float64{"entropy_coef": math.Inf(1)} }),
			`loss_fn_config["entropy_coef"] is +Inf`},
		{"/save_weights", obj(map[string]any{"model_id": m, "path": "a", "ttl_seconds": "soon"}),
			"ttl_seconds is string"},
		{"/save_weights", obj(map[string]any{"model_id": m, "path": "../../etc/passwd"}), "../../etc/passwd"},
		{"/save_weights", obj(map[string]any{"model_id": m, "path": "a", "ttl_seconds": 0}), "ttl_seconds"},
		{"/save_weights", obj(map[string]any{"model_id": m}), "path"},
		{"/save_weights_for_sampler", obj(map[string]any{"model_id": m, "path": checkpoint.UnnamedPrefix + "1"}),
			checkpoint.UnnamedPrefix},
		{"/save_weights_for_sampler", obj(map[string]any{"model_id": m, "path": "a", "kind": "live"}), `is "live"`},
		{"/save_weights_for_sampler", obj(map[string]any{"model_id": m}), "sampling_session_seq_id"},
		{"/save_weights_external", obj(map[string]any{"model_id": m, "path": "a",
			"age_encryption_recipients": []string{"age1x"}}), "age_encryption_recipients"},
		{"/save_weights_external", obj(map[string]any{"model_id": m, "path": "=x"}), "=x"},
		{"/load_weights", obj(map[string]any{"model_id": m, "path": "tinker://x/weights/y"}), "not found"},
		{"/load_weights", obj(map[string]any{"model_id": m, "path": "file:///etc"}), "file:///etc"},
	} {
		seq++
		id := r.promise(c.path, c.body(seq))
		if again := r.promise(c.path, c.body(seq)); again != id {
			t.Errorf("%s (%s): sent again it is another request", c.path, c.want)
		}
		text, category := r.failure(id)
		if category != "user" || !strings.Contains(text, c.want) {
			t.Errorf("%s: error %q of category %q; want a user error with %q", c.path, text, category, c.want)
		}
	}
	r.output(r.promise("/forward_backward", batch(m, seq+1, false)))
}

// A client never repeats an abandoned request; the requests that wait for it run anyway.
func TestMissingRequestIsGivenUp(t *testing.T) {
	r := newRig(t, Options{GapAfter: time.Hour, Hold: 50 * time.Millisecond})
	m := r.model(r.session(), 0)
	late := r.promise("/forward_backward", batch(m, 3, false))
	var again wire.TryAgain
	r.post("/retrieve_future", wire.RetrieveRequest{RequestID: late}, &again)
	if again.Type != "try_again" || !strings.Contains(again.QueueStateReason, "waits for request 1") {
		t.Errorf("while a request is missing: %+v", again)
	}
	r.server.state.Lock()
	r.server.state.Models[m].Gap.Reset(0) // the hour is over
	r.server.state.Unlock()
	r.output(late)
	if code, _, raw := r.send("POST", wire.Prefix+"/forward_backward", batch(m, 1, false)); code != http.StatusOK {
		t.Errorf("the late request: %d %s", code, raw)
	}
	if text, _ := r.failure(r.promise("/forward_backward", batch(m, 2, false))); !strings.Contains(text, "cancelled") {
		t.Errorf("the late request failed with %q", text)
	}
}

func TestLongPollAndShutdown(t *testing.T) {
	r := newRig(t, Options{Hold: 100 * time.Millisecond})
	m := r.model(r.session(), 0)
	id := r.promise("/forward_backward", batch(m, 2, false)) // request 1 is missing
	start := time.Now()
	var again wire.TryAgain
	r.post("/retrieve_future", wire.RetrieveRequest{RequestID: id}, &again)
	if took := time.Since(start); again.Type != "try_again" || again.RequestID != id ||
		again.QueueState != wire.QueueActive || took < 100*time.Millisecond {
		t.Errorf("after %v: %+v", took, again)
	}
	r.server.futures.Hold = time.Hour
	done := make(chan wire.TryAgain)
	go func() {
		var again wire.TryAgain
		r.post("/retrieve_future", wire.RetrieveRequest{RequestID: id}, &again)
		done <- again
	}()
	r.listens(t, 1)
	r.server.Release()
	if got := <-done; got.Type != "try_again" {
		t.Errorf("at shutdown a waiting request got %+v", got)
	}
	if code, _, _ := r.send("POST", wire.Prefix+"/optim_step", step(m, 1)); code != http.StatusServiceUnavailable {
		t.Errorf("at shutdown a new request got %d, want 503", code)
	}
}

// The JSON forms of SDK 0.24 and older are refused by name. A batch in one uses up its number, so that later requests
// do not wait for it.
func TestOldForms(t *testing.T) {
	r := newRig(t, Options{})
	session := r.session()
	m := r.model(session, 0)
	id := r.promise("/forward", map[string]any{"model_id": m, "seq_id": 1, "forward_input": map[string]any{}})
	if said, _ := r.failure(id); !strings.Contains(said, "SDK 0.24") {
		t.Errorf("a batch as JSON: %s", said)
	}
	r.result(r.promise("/optim_step", step(m, 2)))
	id = r.promise("/asample", asample(r.sampler(session, 0, map[string]any{"base_model": "tiny"}), 0, nil))
	r.samples(id)
	code, _, raw := r.send("POST", wire.Prefix+"/retrieve_future", wire.RetrieveRequest{RequestID: id}, "Accept",
		wire.JSON)
	if code != http.StatusNotAcceptable || !strings.Contains(string(raw), "SDK 0.24") {
		t.Errorf("a sample as JSON: %d %s", code, raw)
	}
}

func TestBodies(t *testing.T) {
	r := newRig(t, Options{Bodies: Bodies{MaxBody: 1 << 20}})
	m := r.model(r.session(), 0)
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	path := wire.Prefix + "/forward_backward"
	for _, c := range []struct {
		name string
		body []byte
		enc  string
		want int
	}{
		{"zstd", enc.EncodeAll(batch(m, 1, false), nil), "zstd", 200},
		{"a small body that unpacks to much", enc.EncodeAll(make([]byte, 64<<20), nil), "zstd",
			http.StatusRequestEntityTooLarge},
		{"a large body", make([]byte, 2<<20), "", http.StatusRequestEntityTooLarge},
		{"no zstd", []byte("no zstd at all"), "zstd", http.StatusBadRequest},
		{"another encoding", []byte("x"), "br", http.StatusUnsupportedMediaType},
		{"no protobuf", []byte{0x0a}, "", http.StatusBadRequest},
	} {
		if code, _, raw := r.send("POST", path, c.body, "Content-Encoding", c.enc); code != c.want {
			t.Errorf("%s: %d %s, want %d", c.name, code, raw, c.want)
		}
	}
	if code, _, raw := r.send("POST", wire.Prefix+"/retrieve_future", []byte("[]")); code != http.StatusBadRequest {
		t.Errorf("no JSON object: %d %s", code, raw)
	}
}

func TestRefusals(t *testing.T) {
	r := newRig(t, Options{})
	session := r.session()
	for pattern := range refusals() {
		method, path, _ := strings.Cut(pattern, " ")
		path = strings.NewReplacer("{id}", session, "{run}", "r", "{kind}", "weights", "{name}", "n").Replace(path)
		if code, _, raw := r.send(method, path, map[string]any{}); code != http.StatusUnprocessableEntity ||
			!strings.Contains(string(raw), "is not served by this server") {
			t.Errorf("%s: %d %s", pattern, code, raw)
		}
	}
	for _, c := range []struct {
		path string
		body map[string]any
		want string
	}{
		{"/create_model", map[string]any{"session_id": session, "model_seq_id": 0, "base_model": "tiny",
			"lora_config": map[string]any{"rank": 0}}, "rank"},
		{"/create_model", map[string]any{"session_id": session, "model_seq_id": 0, "base_model": "gpt",
			"lora_config": map[string]any{"rank": 4}}, "gpt"},
		{"/create_model", map[string]any{"session_id": session, "model_seq_id": 0,
			"lora_config": map[string]any{"rank": 4}}, "base_model"},
		{"/create_model", map[string]any{"session_id": session, "model_seq_id": 0, "base_model": "tiny",
			"lora_config": map[string]any{"rank": 4}, "optimizer_config": map[string]any{"type": "sgd"}},
			"optimizer_config.type is"},
		{"/create_model", map[string]any{"session_id": session, "model_seq_id": 0, "base_model": "tiny",
			"lora_config": map[string]any{"rank": 4}, "optimizer_config": map[string]any{"type": "dimuon",
				"version": 2}}, "version of dimuon is 2"},
		{"/create_model", map[string]any{"session_id": session, "model_seq_id": 0, "base_model": "tiny",
			"lora_config": map[string]any{"rank": 4, "train_mlp": false, "train_attn": false, "train_unembed": false}},
			"nothing"},
		{"/load_weights", map[string]any{"path": "tinker://a/weights/b"}, "model_id"},
	} {
		if code, _, raw := r.send("POST", wire.Prefix+c.path, c.body); code != http.StatusBadRequest ||
			!strings.Contains(string(raw), c.want) {
			t.Errorf("%s: %d %s, want 400 with %q", c.path, code, raw, c.want)
		}
	}
	sampler := r.sampler(session, 0, map[string]any{"base_model": "tiny"})
	for want, more := range map[string]map[string]any{"num_samples is 0": {"num_samples": 0},
		"num_samples is null":                 {"num_samples": nil},
		"sampling_params.temperature is null": {"sampling_params": map[string]any{"temperature": nil}}} {
		if code, _, raw := r.send("POST", "/api/v1/asample", asample(sampler, 0,
			more)); code != http.StatusBadRequest || !strings.Contains(string(raw), want) {
			t.Errorf("%v: %d %s, want 400 with %q", more, code, raw, want)
		}
	}
	if code, _, _ := r.send("GET", "/api/v1/models", nil); code != http.StatusNotFound {
		t.Errorf("an unknown route: %d, want 404", code)
	}
}

func TestStartup(t *testing.T) {
	r := newRig(t, Options{})
	var conf map[string]any
	r.post("/client/config", map[string]any{"sdk_version": "0.25.0"}, &conf)
	if conf["use_pyqwest_transport"] != false || conf["pjwt_auth_enabled"] != false ||
		conf["proto_compress_fwdbwd"] != true || conf["create_model_via_load_weights"] != true {
		t.Errorf("client/config says %v", conf)
	}
	r.post("/client/dynamic_config", map[string]any{}, &conf)
	var status map[string]string
	r.post("/telemetry", map[string]any{"events": []any{}}, &status)
	if !reflect.DeepEqual(status, map[string]string{"status": "accepted"}) {
		t.Errorf("telemetry says %v", status)
	}
	session := r.session()
	r.post("/session_heartbeat", wire.Heartbeat{SessionID: session, Type: "session_heartbeat"}, nil)
	var caps wire.Capabilities
	r.get("/get_server_capabilities", &caps)
	if len(caps.SupportedModels) != 2 || caps.SupportedModels[0].ModelName != "tiny" ||
		caps.SupportedModels[1].ModelName != "small" || caps.SupportedModels[1].MaxContextLength != 512 {
		t.Errorf("capabilities are %+v", caps)
	}
	var p wire.Sampler
	r.get("/samplers/"+r.sampler(session, 0, map[string]any{"base_model": "small"}), &p)
	if p.BaseModel != "small" || p.ModelPath != nil {
		t.Errorf("sampler is %+v", p)
	}
	code, _, raw := r.as("").send("GET", "/metrics", nil)
	for _, want := range []string{"trinity_samples_waiting 0", "trinity_sessions 1", "trinity_http_request_seconds",
		`trinity_fsync_seconds_count{log="server"}`} {
		if code != 200 || !strings.Contains(string(raw), want) {
			t.Errorf("/metrics lacks %q (%d)", want, code)
		}
	}
	if code, _, _ := r.as("").send("GET", "/healthz", nil); code != 200 {
		t.Errorf("/healthz: %d", code)
	}
}
