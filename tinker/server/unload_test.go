package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// A model is unloaded after its accepted requests. From then on it returns not found, also after a restart, and its
// checkpoint stays.
func TestUnload(t *testing.T) {
	r := newRig(t, Options{})
	session := r.session()
	m, other := r.model(session, 0), r.model(session, 1)
	back := r.promise("/forward_backward", batch(m, 1, false))
	saved := r.promise("/save_weights", map[string]any{"model_id": m, "seq_id": 2, "path": "last",
		"type": "save_weights"})
	gone := r.promise("/unload_model", map[string]any{"model_id": m, "type": "unload_model"})
	if got := r.result(gone); got["model_id"] != m || got["type"] != "unload_model" {
		t.Errorf("unloaded: %v", got)
	}
	r.output(back)
	path := r.result(saved)["path"].(string)
	refused := func() {
		t.Helper()
		for path, body := range map[string]any{"/forward_backward": batch(m, 3, false), "/optim_step": step(m, 3),
			"/get_info": map[string]any{"model_id": m}} {
			if code, _, raw := r.send("POST", wire.Prefix+path, body); code != http.StatusNotFound ||
				!strings.Contains(string(raw), "unloaded") {
				t.Errorf("%s of an unloaded model: %d %s", path, code, raw)
			}
		}
		if code, _, raw := r.as("tml-bob").send("POST", wire.Prefix+"/unload_model",
			map[string]any{"model_id": other}); code != http.StatusNotFound {
			t.Errorf("another tenant's model: %d %s", code, raw)
		}
	}
	refused()
	r.restart()
	refused()
	if got := r.result(gone); got["model_id"] != m {
		t.Errorf("the promise after a restart: %v", got)
	}
	var info wire.TrainingRun
	r.get("/training_runs/"+m, &info)
	if info.BaseModel != "small" {
		t.Errorf("the run is listed as %+v", info)
	}
	heir := r.result(r.promise("/load_weights", map[string]any{"session_id": session, "model_seq_id": 7, "path": path,
		"optimizer": true, "type": "load_weights"}))["model_id"].(string)
	r.output(r.promise("/forward_backward", batch(heir, 1, false)))
	r.output(r.promise("/forward_backward", batch(other, 1, false)))
}
