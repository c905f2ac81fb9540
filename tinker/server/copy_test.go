package server

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// copied asks for a copy and returns its path.
func (r *rig) copied(source, key string, more ...string) (int, string, string) {
	r.t.Helper()
	body := map[string]any{"source_path": source, "destination_project_id": "archive", "ttl_seconds": 3600}
	code, _, raw := r.send("POST", wire.Prefix+"/copy_weights", body, append(more, wire.HeaderIdempotency, key)...)
	var out wire.CopyResponse
	json.Unmarshal(raw, &out) // an error's body has no path
	return code, out.TinkerPath, string(raw)
}

// A copy is a checkpoint of a run of its own that stays when its source is deleted, also over a restart. It is loaded
// and sampled from as its source is, and expires as the request says. A repeated request makes no second one.
func TestCopies(t *testing.T) {
	r := newEndpoint(t)
	o := newOwned(r)
	seeded := map[string]any{"sampling_params": map[string]any{"max_tokens": 8, "seed": 3}}
	want := r.samples(r.promise("/asample", asample(o.sampler, 7, seeded)))
	paths := map[string]string{}
	for key, source := range map[string]string{"k1": o.state, "k2": o.weights, "k3": o.external} {
		code, path, raw := r.copied(source, key)
		_, again, _ := r.copied(source, key)
		_, rest, _ := strings.Cut(source, ":train:0/")
		if code != http.StatusOK || path != again || !strings.HasSuffix(path, ":train:0/"+rest) || path == source {
			t.Errorf("copy of %s: %d %s, again %s", source, code, raw, again)
		}
		paths[key] = path
	}
	if code, _, raw := r.copied(o.weights, "k1"); code != http.StatusBadRequest || !strings.Contains(raw, "exists") {
		t.Errorf("another copy under a used key: %d %s", code, raw)
	}
	for _, id := range []string{"weights/a", "sampler_weights/b"} {
		r.send("DELETE", wire.Prefix+"/training_runs/"+o.run+"/checkpoints/"+id, nil)
	}
	r.restart()
	session := r.session()
	sampler := r.sampler(session, 0, map[string]any{"model_path": paths["k2"]})
	got := r.samples(r.promise("/asample", asample(sampler, 7, seeded)))
	if !reflect.DeepEqual(got.Sequences, want.Sequences) {
		t.Errorf("the copy samples %+v, its source %+v", got.Sequences, want.Sequences)
	}
	load := map[string]any{"session_id": session, "model_seq_id": 0, "path": paths["k1"], "optimizer": true}
	if id := r.result(r.promise("/load_weights", load))["model_id"]; id != session+":train:0" {
		t.Errorf("a model from the copy: %v", id)
	}
	var runs wire.TrainingRuns
	r.get("/training_runs?project_id=archive", &runs)
	if len(runs.TrainingRuns) != 3 || runs.TrainingRuns[0].Corrupted || *runs.TrainingRuns[0].LoRARank == 0 ||
		runs.TrainingRuns[0].BaseModel != "small" {
		t.Errorf("the copies' runs are %+v", runs.TrainingRuns)
	}
	run := runs.TrainingRuns[0].TrainingRunID
	code, _, raw := r.send("POST", wire.Prefix+"/optim_step", step(run, 1))
	if code != http.StatusBadRequest || !strings.Contains(string(raw), "cannot be trained; create a model from") {
		t.Errorf("training a copy: %d %s", code, raw)
	}
	r.clock.Add(int64(2 * time.Hour))
	if code, _, raw := r.send("POST", wire.Prefix+"/weights_info", map[string]any{"tinker_path": paths["k2"]}); code !=
		http.StatusNotFound {
		t.Errorf("an expired copy: %d %s", code, raw)
	}
}

// A copy of another tenant's checkpoint needs that tenant's key, or that the checkpoint is public.
func TestCopiesOfOthers(t *testing.T) {
	r := newEndpoint(t)
	o := newOwned(r)
	bob := r.as("tml-bob")
	if code, _, _ := bob.copied(o.state, "a"); code != http.StatusNotFound {
		t.Errorf("without a token: %d", code)
	}
	code, path, raw := bob.copied(o.state, "a", wire.HeaderWeightsToken, r.key)
	if code != http.StatusOK {
		t.Fatalf("with the owner's key: %d %s", code, raw)
	}
	var info wire.WeightsInfo
	bob.post("/weights_info", map[string]any{"tinker_path": path}, &info)
	if code, _, _ := r.send("POST", wire.Prefix+"/weights_info", map[string]any{"tinker_path": path}); code !=
		http.StatusNotFound {
		t.Errorf("the copy is its maker's alone: %d", code)
	}
}
