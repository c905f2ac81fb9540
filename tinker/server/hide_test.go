package server

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// No answer of a session, good or bad, names a folder of the server's machine.
func TestNoPathLeaves(t *testing.T) {
	dir := tokenizerDir(t)
	r := newRig(t, Options{Models: Models{Tokenizers: map[string]string{"tiny": dir},
		Folders: map[string]string{dir: "tiny"}}})
	r.opts.Access.Private = map[string]string{dir: "tiny", r.modelDir: "tiny", r.dir: "(data folder)"}
	r.restart()
	var said strings.Builder
	ask := func(method, path string, body any, headers ...string) []byte {
		_, h, raw := r.send(method, path, body, headers...)
		fmt.Fprintf(&said, "%s %s: %v %s\n", method, path, h, raw)
		return raw
	}
	future := func(path string, body any) map[string]any {
		var p wire.Promise
		if raw := ask("POST", wire.Prefix+path, body); json.Unmarshal(raw, &p) != nil || p.RequestID == "" {
			return nil
		}
		m, raw := r.fetch(p.RequestID)
		fmt.Fprintf(&said, "%s: %v %s\n", path, m, raw)
		return m
	}
	session := r.session()
	body := createModel(session, 0)
	body["base_model"] = dir
	model := future("/create_model", body)["model_id"].(string)
	state := future("/save_weights", map[string]any{"model_id": model, "path": "one", "seq_id": 1})["path"].(string)
	sampled := future("/save_weights_for_sampler", map[string]any{"model_id": model, "path": "two",
		"seq_id": 2})["path"].(string)
	future("/save_weights_external", map[string]any{"model_id": model, "path": "three", "seq_id": 3})
	sampler := r.sampler(session, 0, map[string]any{"model_path": sampled})
	future("/asample", asample(sampler, 0, nil))
	for _, path := range []string{"/get_info", "/weights_info"} {
		ask("POST", wire.Prefix+path, map[string]any{"model_id": model, "tinker_path": state})
	}
	for _, path := range []string{"/get_server_capabilities", "/training_runs", "/training_runs/" + model,
		"/training_runs/" + model + "/checkpoints", "/checkpoints", "/sessions", "/sessions/" + session,
		"/samplers/" + sampler, "/training_runs/" + model + "/checkpoints/external_weights/three/external_weights_urls",
		"/healthz"} {
		ask("GET", wire.Prefix+path, nil)
	}
	ask("GET", "/metrics", nil)
	for _, name := range []string{"config.json", "tokenizer_config.json"} {
		ask("GET", "/tiny/resolve/main/"+name, nil)
	}
	var archive wire.ArchiveURL
	if err := json.Unmarshal(ask("GET", wire.Prefix+"/training_runs/"+model+"/checkpoints/weights/one/archive", nil),
		&archive); err != nil {
		t.Fatal(err)
	}
	resp, err := r.web.Client().Get(archive.URL)
	if err != nil {
		t.Fatal(err)
	}
	tar, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	said.Write(tar)

	// faults: unknown ids, and files that are damaged or missing
	ask(
		"POST",
		wire.Prefix+"/create_model",
		map[string]any{
			"session_id":   session,
			"model_seq_id": 1,
			"base_model":   "none",
			"lora_config":  map[string]any{"rank": 2},
		},
	)
	at, err := r.server.opts.Store.Folder(state)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"adapter_model.safetensors", "trinity.json"} {
		if err := os.WriteFile(filepath.Join(at, name), []byte("damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
		failed := future("/load_weights",
			map[string]any{"session_id": session, "model_seq_id": 2, "path": state, "optimizer": true})
		ask("POST", wire.Prefix+"/weights_info", map[string]any{"tinker_path": state})
		ask("GET", wire.Prefix+"/checkpoints", nil)
		if name == "adapter_model.safetensors" && failed["error"] == nil {
			t.Errorf("a damaged adapter was loaded: %v", failed)
		}
	}
	for _, place := range []string{dir, r.modelDir, r.dir} {
		for line := range strings.Lines(said.String()) {
			if strings.Contains(line, place) {
				t.Errorf("%s is in an answer: %.300s", place, line)
			}
		}
	}
	if !strings.Contains(said.String(), "(data folder)") {
		t.Errorf("no error named the data folder, so the test checks little:\n%.2000s", said.String())
	}
}
