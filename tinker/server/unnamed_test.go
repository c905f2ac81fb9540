package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// freeze trains a model for a step and makes an unnamed sampler of it.
func (r *rig) freeze(model string, seq, number int64) (id string) {
	r.t.Helper()
	r.promise("/forward_backward", batch(model, seq, false))
	r.promise("/optim_step", step(model, seq+1))
	body := map[string]any{"model_id": model, "seq_id": seq + 2, "sampling_session_seq_id": number}
	return r.result(r.promise("/save_weights_for_sampler", body))["sampling_session_id"].(string)
}

// When a tenant has too many unnamed samplers, the least recently used are deleted; one in use stays, and so do
// another tenant's.
func TestUnnamedSamplersAreBounded(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{"number": {Keep: Keep{MaxUnnamed: 3}},
		"bytes": {Keep: Keep{MaxUnnamedBytes: 1}}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, o)
			bob := r.as("tml-bob")
			m, other := r.model(r.session(), 0), bob.model(bob.session(), 0)
			theirs := bob.freeze(other, 1, 0)
			first, second := r.freeze(m, 1, 0), r.freeze(m, 4, 1)
			long := map[string]any{"sampling_params": map[string]any{"max_tokens": 500, "stop": []int{127}},
				"num_samples": 400}
			busy := r.promise("/asample", asample(second, 0, long))
			var last string
			for i := range int64(3) {
				last = r.freeze(m, 7+3*i, 2+i)
			}
			code, _, raw := r.send("POST", wire.Prefix+"/asample", asample(first, 0, nil))
			if code != http.StatusNotFound {
				t.Errorf("a sample from the oldest: %d %s", code, raw)
			}
			for _, id := range []string{second, last} {
				if code, _, raw := r.send("GET", wire.Prefix+"/samplers/"+id, nil); code != http.StatusOK {
					t.Errorf("sampler %s: %d %s", id, code, raw)
				}
			}
			bob.samples(bob.promise("/asample", asample(theirs, 0, nil)))
			r.samples(r.promise("/asample", asample(last, 0, nil)))
			r.post("/cancel_future", wire.RetrieveRequest{RequestID: busy}, nil)
			r.failure(busy)
		})
	}
}

// Samplers whose weights do not fit into memory together are evicted and loaded in turn, and every sample stays the
// same.
func TestIdleWeightsMakeRoom(t *testing.T) {
	budget := int64(0)
	tune := func(o *engine.Options) { o.Memory = budget }
	r := newTunedRig(t, Options{}, tune)
	session := r.session()
	m := r.model(session, 0)
	seeded := map[string]any{"sampling_params": map[string]any{"max_tokens": 8, "temperature": 1.0, "top_k": -1,
		"top_p": 1.0, "seed": 3}}
	var ids, want []string
	for i := range int64(4) {
		ids = append(ids, r.freeze(m, 1+3*i, i))
		want = append(want, fmt.Sprint(r.samples(r.promise("/asample", asample(ids[i], 0, seeded))).Sequences))
	}
	used, _ := r.server.opts.Store.(*engine.Engine).Memory()
	all := used
	var one int64 // of the four samplers' weights
	r.server.state.Lock()
	r.server.state.Samplers[ids[0]].Forget()
	r.server.state.Unlock()
	used, _ = r.server.opts.Store.(*engine.Engine).Memory()
	if one = all - used; one <= 0 {
		t.Fatalf("%d bytes are taken with four samplers, %d with three", all, used)
	}
	budget = (all - 2*one) * 4 / 3 // for one tenant: two of the four fit
	r.restart()
	for seq := range int64(3) {
		var promises []string
		for _, id := range ids { // concurrently: samples that wait for memory get it when others are done
			promises = append(promises, r.promise("/asample", asample(id, 1+seq, seeded)))
		}
		for i, p := range promises {
			if got := fmt.Sprint(r.samples(p).Sequences); got != want[i] {
				t.Errorf("sampler %d draws %s, at first %s", i, got, want[i])
			}
		}
	}
	if now, _ := r.server.opts.Store.(*engine.Engine).Memory(); now > budget/4*3 || now < one {
		t.Errorf("%d bytes are taken, of %d for one tenant", now, budget/4*3)
	}
}

// Idle runs are evicted to make room for others. Runs with work stay, and while they fill a tenant's memory its
// further models are refused in a form that its client understands; another tenant finds room.
func TestModelsAreBoundedByMemory(t *testing.T) {
	t.Parallel()
	r := newTunedRig(t, Options{}, func(o *engine.Options) { o.Memory = 4 << 20 })
	session := r.session()
	made := int64(0)
	for ; made < 100; made++ {
		code, h, raw := r.send("POST", wire.Prefix+"/create_model", createModel(session, made))
		if code == http.StatusOK {
			// it waits for the first, so the run cannot be evicted
			r.promise("/forward_backward", batch(r.model(session, made), 2, false))
			continue
		}
		if code != http.StatusServiceUnavailable || h.Get("Retry-After") == "" ||
			!strings.Contains(string(raw), "unload_model") {
			t.Errorf("model %d: %d %s", made, code, raw)
		}
		break
	}
	if made < 5 || made > 30 {
		t.Errorf("a tenant got %d models", made)
	}
	bob := r.as("tml-bob")
	bobs := bob.session()
	for i := range int64(40) { // these runs are evicted one after another
		bob.model(bobs, i)
	}
	r.model(session, 0) // again
	large := createModel(session, made)
	large["lora_config"].(map[string]any)["rank"] = 4096
	if code, _, raw := r.send("POST", wire.Prefix+"/create_model", large); code != http.StatusBadRequest ||
		!strings.Contains(string(raw), "take a rank of 1 to 256") {
		t.Errorf("rank 4096: %d %s", code, raw)
	}
	for i := range 2 { // the other tenant has taken memory of the first
		r.post("/unload_model", map[string]any{"model_id": fmt.Sprintf("%s:train:%d", session, i)}, nil)
	}
	for i := 0; ; i++ {
		if code, _, raw := r.send("POST", wire.Prefix+"/create_model",
			createModel(session, made)); code == http.StatusOK {
			break
		} else if i > 1000 {
			t.Fatalf("after one was unloaded: %d %s", code, raw)
		}
	}
	r.model(session, made)
}
