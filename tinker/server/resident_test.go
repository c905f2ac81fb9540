package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/engine/journal"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// restless is an endpoint whose runs, samplers and models leave memory after that time.
func restless(t *testing.T, idle time.Duration) *rig {
	r := &rig{t: t, modelDir: shippedModel, dir: t.TempDir(), fs: disk.OS(), key: "tml-alice",
		opts: Options{Models: Models{Tokenizers: map[string]string{"tiny": shippedModel}}, Idle: idle},
		log:  journal.Options{IdleAfter: idle},
		tune: func(o *engine.Options) { o.IdleAfter = idle }}
	if err := r.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.stop)
	return r
}

// loaded is what api/ps lists, with the time at which each leaves.
func (r *rig) loaded() map[string]time.Time {
	r.t.Helper()
	code, _, raw := r.send("GET", "/api/ps", nil)
	var list struct {
		Models []struct {
			Name    string
			Expires time.Time `json:"expires_at"`
		}
	}
	if err := json.Unmarshal(raw, &list); err != nil || code != http.StatusOK {
		r.t.Fatalf("api/ps: %d %s", code, raw)
	}
	out := map[string]time.Time{}
	for _, m := range list.Models {
		out[m.Name] = m.Expires
	}
	return out
}

func (r *rig) says(model string) openaiAnswer {
	r.t.Helper()
	code, a := r.openai("POST", "/v1/completions", fmt.Sprintf(`{"model":%q,"prompt":"12 + 30","max_tokens":8,`+
		`"seed":1,"logprobs":1,"return_token_ids":true}`, model))
	if code != http.StatusOK || len(a.Choices) != 1 {
		r.t.Fatalf("%s: %d %+v", model, code, a.Error)
	}
	return a
}

// Nothing is in memory some time after the last request: neither the base model, nor a checkpoint, nor what a training
// run and a sampling session used. The next requests have the same bits.
func TestModelsLeaveMemoryWhenIdle(t *testing.T) {
	long := restless(t, time.Hour)
	long.says("tiny")
	if now := long.loaded(); time.Until(now["tiny"]) > time.Hour || time.Until(now["tiny"]) < time.Minute {
		t.Errorf("after requests, in memory are %v", now)
	}
	r := restless(t, 100*time.Millisecond)
	session := r.session()
	m := r.model(session, 0)
	r.result(r.promise("/save_weights_for_sampler", map[string]any{"model_id": m, "path": "one", "seq_id": 1}))
	path := "tinker://" + m + "/sampler_weights/one"
	sampler := r.sampler(session, 0, map[string]any{"base_model": "tiny"})
	seeded := map[string]any{"sampling_params": map[string]any{"max_tokens": 8, "temperature": 1.0, "seed": 3}}
	drawn := r.samples(r.promise("/asample", asample(sampler, 0, seeded)))
	base, adapted := r.says("tiny"), r.says(path)
	store := r.server.opts.Store.(*engine.Engine)
	eventually(t, func() string { return unless(store.BaseMemory() == 0, "base weights are in memory") })
	if now := r.loaded(); len(now) != 0 {
		t.Errorf("after the idle time, in memory are %v", now)
	}
	if used, _ := store.Memory(); used != 0 {
		t.Errorf("%d bytes are accounted for", used)
	}
	if again := r.says("tiny"); !reflect.DeepEqual(again.Choices, base.Choices) {
		t.Errorf("the base model says %+v, said %+v", again.Choices, base.Choices)
	}
	if again := r.says(path); !reflect.DeepEqual(again.Choices, adapted.Choices) {
		t.Errorf("the checkpoint says %+v, said %+v", again.Choices, adapted.Choices)
	}
	if again := r.samples(r.promise("/asample", asample(sampler, 1, seeded))); !reflect.DeepEqual(again.Sequences,
		drawn.Sequences) {
		t.Errorf("the sampling session says %v, said %v", again.Sequences, drawn.Sequences)
	}
	r.output(r.promise("/forward_backward", batch(m, 2, true)))
}

// keep_alive 0 unloads a model at once, after an answer or without one, and loads nothing for that. A model that a
// sampling session uses stays. Without an idle time models expire in a far future.
func TestOllamaUnloads(t *testing.T) {
	r := restless(t, 0)
	ask := func(body string) {
		t.Helper()
		if code, _, raw := r.send("POST", "/api/generate", rawJSON(body)); code != http.StatusOK {
			t.Fatalf("%s: %d %s", body, code, raw)
		}
	}
	there := func(want bool, when string) {
		t.Helper()
		if at, ok := r.loaded()["tiny"]; ok != want || ok && at.Before(time.Now().Add(1000*time.Hour)) {
			t.Errorf("%s: in memory %v until %v, want %v", when, ok, at, want)
		}
	}
	there(false, "at first")
	ask(`{"model":"tiny","keep_alive":0}`)
	there(false, "after unloading what was not loaded")
	ask(`{"model":"tiny"}`)
	there(true, "after loading")
	ask(`{"model":"tiny","keep_alive":"0s"}`)
	there(false, "after unloading")
	ask(`{"model":"tiny","prompt":"1 + 2","options":{"num_predict":3},"keep_alive":0}`)
	there(false, "after an answer with keep_alive 0")
	ask(`{"model":"small:latest","prompt":"1 + 2","options":{"num_predict":3}}`)
	there(true, "after an answer")
	r.sampler(r.session(), 0, map[string]any{"base_model": "tiny"})
	ask(`{"model":"small","keep_alive":0}`)
	there(true, "while a sampling session uses it")
	if code, _, raw := r.send("POST", "/api/generate", rawJSON(`{"model":"absent","keep_alive":0}`)); code != 404 {
		t.Errorf("an absent model: %d %s", code, raw)
	}
}

// keep_alive 0 of one tenant does not unload a base model that another one has used.
func TestOllamaUnloadsForItsOwnTenant(t *testing.T) {
	alice := restless(t, 0)
	bob := alice.as("tml-bob")
	for i, ask := range []struct {
		who   *rig
		body  string
		there bool
	}{
		{alice, `{"model":"tiny"}`, true}, {bob, `{"model":"tiny","keep_alive":0}`, true},
		{bob, `{"model":"tiny","prompt":"1 + 2","options":{"num_predict":3},"keep_alive":0}`, true},
		{alice, `{"model":"tiny","keep_alive":0}`, true},
		{alice, `{"model":"small"}`, true}, {alice, `{"model":"small","keep_alive":0}`, true},
	} {
		if code, _, raw := ask.who.send("POST", "/api/generate", rawJSON(ask.body)); code != http.StatusOK {
			t.Fatalf("%s: %d %s", ask.body, code, raw)
		}
		if _, there := alice.loaded()["tiny"]; there != ask.there {
			t.Errorf("after request %d the model is in memory: %v, want %v", i, there, ask.there)
		}
	}
}

// Three models share memory for two. Sampling sessions that are idle give theirs up, and each model answers as it did
// alone.
func TestModelsTakeTurnsInMemory(t *testing.T) {
	names := []string{"a", "b", "c"}
	serving := func(memory int64) *rig {
		tokenizers := map[string]string{}
		for _, name := range names {
			tokenizers[name] = shippedModel
		}
		return newTunedRig(t, Options{Models: Models{Tokenizers: tokenizers}}, func(o *engine.Options) {
			o.Models, o.Memory = map[string]engine.Model{}, memory
			for _, name := range names {
				o.Models[name] = engine.Model{Dir: shippedModel}
			}
		})
	}
	probe := serving(0)
	want := probe.says("a")
	one := probe.server.opts.Store.(*engine.Engine).BaseMemory()
	r := serving(one)
	session := r.session()
	for round := range 3 {
		for i, name := range names {
			sampler := r.sampler(session, int64(3*round+i), map[string]any{"base_model": name})
			r.samples(r.promise("/asample", asample(sampler, 0, nil)))
			if got := r.says(name); !reflect.DeepEqual(got.Choices, want.Choices) {
				t.Errorf("%s says %+v, want %+v", name, got.Choices, want.Choices)
			}
			if n := r.server.opts.Store.(*engine.Engine).BaseMemory(); n > 2*one {
				t.Errorf("%d bytes of base weights are in memory, more than two models of %d", n, one)
			}
		}
	}
}
