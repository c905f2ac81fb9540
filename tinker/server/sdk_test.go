package server

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// What the SDK is told of this server: samples that take hours are not stuck, and those that it gives up are cancelled.
func TestSDKSettings(t *testing.T) {
	r := newRig(t, Options{})
	var conf map[string]any
	r.post("/client/config", map[string]any{"sdk_version": "0.38.0"}, &conf)
	if v, ok := conf["sample_enable_stuck_detection"]; !ok || v != false {
		t.Errorf("client/config says %v", conf)
	}
	r.post("/client/dynamic_config", map[string]any{}, &conf)
	if conf["sample_cancel_enabled"] != true {
		t.Errorf("client/dynamic_config says %v", conf)
	}
	events := bytes.Repeat([]byte("x"), 2<<20)
	if code, _, raw := r.send("POST", wire.Prefix+"/telemetry", events); code != http.StatusOK {
		t.Errorf("telemetry of 2 MiB: %d %s", code, raw)
	}
}

// A request that is longer than the context is refused at once, as the hosted service does it: clients that shorten
// their prompts look for its words. One that was accepted before keeps its promise.
func TestContextIsCheckedAtOnce(t *testing.T) {
	r := newRig(t, Options{})
	sampler := r.sampler(r.session(), 0, map[string]any{"base_model": "tiny"})
	long := map[string]any{"sampling_params": map[string]any{"max_tokens": 510}}
	code, _, raw := r.send("POST", wire.Prefix+"/asample", asample(sampler, 0, long))
	const want = "Prompt length plus max_tokens exceeds the model's context window: 3 prompt tokens + 510 max_tokens " +
		"\\u003e 512."
	if code != http.StatusBadRequest || !strings.Contains(string(raw), want) {
		t.Errorf("%d %s, want %s", code, raw, want)
	}
	r.samples(r.promise("/asample", asample(sampler, 0, nil))) // its number is free
}

// A session that its client has finished has no heart any more.
func TestFinishedSessionsHaveNoHeartbeat(t *testing.T) {
	r := newRig(t, Options{})
	session := r.session()
	r.post("/sessions/"+session+"/finish", map[string]any{"reason": map[string]any{"type": "success"}}, nil)
	code, _, raw := r.send("POST", wire.Prefix+"/session_heartbeat",
		wire.Heartbeat{SessionID: session, Type: "session_heartbeat"})
	if code != http.StatusGone {
		t.Errorf("%d %s", code, raw)
	}
}

// A run and its checkpoints say which optimizer they have, also after a restart.
func TestOptimizerOfARun(t *testing.T) {
	r := newRig(t, Options{})
	id := r.promise("/create_model", map[string]any{"session_id": r.session(), "model_seq_id": 0, "base_model": "tiny",
		"lora_config": map[string]any{"rank": 4}, "optimizer_config": map[string]any{"type": "dimuon", "version": 1}})
	m := r.result(id)["model_id"].(string)
	saving := map[string]any{"model_id": m, "path": "x", "seq_id": 1}
	path := r.result(r.promise("/save_weights", saving))["path"]
	for range 2 {
		var info wire.GetInfoResponse
		r.post("/get_info", wire.GetInfoRequest{ModelID: m, Type: "get_info"}, &info)
		var saved wire.WeightsInfo
		r.post("/weights_info", map[string]any{"tinker_path": path}, &saved)
		for _, o := range []*wire.Optimizer{info.OptimizerConfig, saved.OptimizerConfig} {
			if o == nil || o.Type != "dimuon" || o.Version == nil || *o.Version != 1 {
				t.Errorf("the optimizer is %+v", o)
			}
		}
		r.restart()
	}
}
