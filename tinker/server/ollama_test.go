package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// ollamaModels are the names in api/tags or api/ps.
func (r *rig) ollamaModels(path string) (names []string) {
	r.t.Helper()
	code, _, raw := r.send("GET", path, nil)
	var list struct {
		Models []struct {
			Name, Model, Digest string
			Size                int64
		}
	}
	if err := json.Unmarshal(raw, &list); err != nil || code != http.StatusOK {
		r.t.Fatalf("%s: %d %s", path, code, raw)
	}
	for _, m := range list.Models {
		if m.Name != m.Model || len(m.Digest) != 64 || strings.HasPrefix(m.Name, "tinker://") && m.Size == 0 {
			r.t.Errorf("%s: %+v", path, m)
		}
		names = append(names, m.Name)
	}
	return names
}

// Ollama's routes name the same models as OpenAI's, with or without the tag latest. api/ps has what is in memory:
// nothing at first, then the base model, and a checkpoint for its own tenant.
func TestOllamaRoutes(t *testing.T) {
	r := newEndpoint(t)
	if got := r.ollamaModels("/api/ps"); len(got) != 0 {
		t.Errorf("in memory at first: %q", got)
	}
	ask := func(r *rig, model string) (int, string) {
		code, h, raw := r.send("POST", "/api/generate", rawJSON(fmt.Sprintf(`{"model":%q,"prompt":"12 + 30",`+
			`"options":{"num_predict":6,"seed":1}}`, model)))
		if code == http.StatusOK && h.Get("Content-Type") != "application/x-ndjson" {
			t.Errorf("%s: a stream of type %s", model, h.Get("Content-Type"))
		}
		return code, string(raw)
	}
	for _, name := range []string{"tiny", "tiny:latest", "small", "small:latest"} {
		code, raw := ask(r, name)
		if code != http.StatusOK || !strings.Contains(raw, `"done":true`) ||
			!strings.Contains(raw, `"model":"`+name+`"`) {
			t.Errorf("%s: %d %s", name, code, raw)
		}
	}
	if got := r.ollamaModels("/api/ps"); !slices.Equal(got, []string{"tiny", "small"}) {
		t.Errorf("in memory after a request: %q, want the base model under both names", got)
	}
	m := r.model(r.session(), 0)
	r.result(r.promise("/save_weights_for_sampler", map[string]any{"model_id": m, "path": "one", "seq_id": 1}))
	path := "tinker://" + m + "/sampler_weights/one"
	for _, name := range []string{path, path + ":latest"} {
		if code, raw := ask(r, name); code != http.StatusOK {
			t.Errorf("%s: %d %s", name, code, raw)
		}
	}
	other := r.as("tml-other")
	for list, want := range map[string][2][]string{"/api/tags": {{"tiny", "small", path}, {"tiny", "small"}},
		"/api/ps": {{"tiny", "small", path}, {"tiny", "small"}}} {
		if got := r.ollamaModels(list); !slices.Equal(got, want[0]) {
			t.Errorf("%s: %q, want %q", list, got, want[0])
		}
		if got := other.ollamaModels(list); !slices.Equal(got, want[1]) {
			t.Errorf("%s of another tenant: %q, want %q", list, got, want[1])
		}
	}
	for _, name := range []string{path, path + ":latest", "absent", "absent:latest"} {
		if code, raw := ask(other, name); code != http.StatusNotFound || !strings.HasPrefix(raw, `{"error":"`) {
			t.Errorf("%s for another tenant: %d %s", name, code, raw)
		}
	}
	for path, want := range map[string]string{"/": "trinity is running\n", "/api/version": `{"version":"0.12.6"}`} {
		if code, _, raw := r.as("").send("GET", path, nil); code != http.StatusOK || string(raw) != want {
			t.Errorf("%s: %d %q", path, code, raw)
		}
		if code, _, _ := r.as("").send("HEAD", path, nil); code != http.StatusOK {
			t.Errorf("HEAD %s: %d", path, code)
		}
	}
	r.server.edge.Access.Keys = keyList{}
	if code, _, raw := r.send("GET", "/api/tags", nil); code != 401 ||
		!strings.HasPrefix(string(raw), `{"error":"Incorrect API key provided: the key`) {
		t.Errorf("where keys are required: %d %s", code, raw)
	}
}
