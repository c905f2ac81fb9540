package server

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/state"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// Every name of a model is listed, the configured ones first. Answers use the name that the client used, also if it is
// an alias or a variant.
func TestNames(t *testing.T) {
	r := newTunedRig(
		t,
		Options{
			Models: Models{Order: []string{"tiny"},
				Aliases: map[string]string{"small": "tiny", "Some/Org-Model": "tiny", "gone": "no model"},
				Folders: map[string]string{"/models/tiny": "tiny"}},
		},
		func(o *engine.Options) { o.Models["a-shipped"] = o.Models["tiny"] },
	)
	var caps wire.Capabilities
	r.get("/get_server_capabilities", &caps)
	var names []string
	for _, m := range caps.SupportedModels {
		names = append(names, m.ModelName)
		if m.MaxContextLength != 512 || !*m.Trainable {
			t.Errorf("%+v", m)
		}
	}
	if want := []string{"tiny", "a-shipped", "Some/Org-Model", "small"}; !slices.Equal(names, want) {
		t.Errorf("supported_models are %q, want %q", names, want)
	}
	session := r.session()
	for i, tt := range []struct{ asked, told string }{{"tiny", "tiny"}, {"small", "small"},
		{"Some/Org-Model:peft:262144", "Some/Org-Model:peft:262144"}, {"/models/tiny", "tiny"},
		{"/models/tiny:peft:1", "tiny"}} {
		seq := int64(3 * i)
		body := createModel(session, seq)
		body["base_model"] = tt.asked
		id := r.result(r.promise("/create_model", body))["model_id"].(string)
		r.saysBase(t, tt.told, id)
		path := r.result(r.promise("/save_weights", map[string]any{"model_id": id, "path": "one",
			"seq_id": 1}))["path"].(string)
		var info wire.WeightsInfo
		r.post("/weights_info", wire.WeightsInfoRequest{TinkerPath: path}, &info)
		if info.BaseModel != tt.told {
			t.Errorf("%s: weights_info says %q", tt.asked, info.BaseModel)
		}
		// the SDK creates a model from a state with the name that weights_info gave; without a name the run keeps its
		// own
		for j, base := range []any{info.BaseModel, nil} {
			load := map[string]any{
				"session_id":   session,
				"model_seq_id": seq + 1 + int64(j),
				"path":         path,
				"optimizer":    false,
				"base_model":   base,
			}
			r.saysBase(t, tt.told, r.result(r.promise("/load_weights", load))["model_id"].(string))
		}
		var p wire.Sampler
		for j, from := range []map[string]any{{"base_model": tt.asked},
			{"model_path": r.result(r.promise("/save_weights_for_sampler",
				map[string]any{"model_id": id, "path": "two", "seq_id": 2}))["path"]},
			{"model_path": "tinker://" + id + "/two"}} { // as SkyRL spells it
			r.get("/samplers/"+r.sampler(session, seq+int64(j), from), &p)
			if p.BaseModel != tt.told || j > 0 && *p.ModelPath != "tinker://"+id+"/sampler_weights/two" {
				t.Errorf("%s: sampler of %v is of %q, %v", tt.asked, from, p.BaseModel, p.ModelPath)
			}
		}
	}
	body := createModel(session, 99)
	body["base_model"] = "no/such:peft:1"
	if code, _, raw := r.send("POST", wire.Prefix+"/create_model", body); code != http.StatusBadRequest ||
		!strings.Contains(string(raw), "no/such") {
		t.Errorf("an unknown model: %d %s", code, raw)
	}
	r.restart() // the names are kept
	r.saysBase(t, "small", state.ModelID(session, 3))
}

// saysBase checks the name of a run's base model in get_info and training_runs.
func (r *rig) saysBase(t *testing.T, want, id string) {
	t.Helper()
	var info wire.GetInfoResponse
	r.post("/get_info", wire.GetInfoRequest{ModelID: id}, &info)
	var run wire.TrainingRun
	r.get("/training_runs/"+id, &run)
	if info.ModelName != want || info.ModelData.ModelName != want || run.BaseModel != want {
		raw, _ := json.Marshal([]any{info, run})
		t.Errorf("%s: want %q: %s", id, want, raw)
	}
}
