package server

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/hub"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/basemodel"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// tokenizerDir is a model folder whose settings hold paths of another machine, with a file that must not be served.
func tokenizerDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"tokenizer.json": `{"model":{}}`,
		"config.json": `{"model_type":"qwen3","_name_or_path":"/home/someone/model"}`,
		"tokenizer_config.json": `{"tokenizer_class":"X","name_or_path":"org/name",` +
			`"tokenizer_file":"/home/someone/tokenizer.json"}`, "model.safetensors": "weights"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Tokenizers have names that the SDK can load, and are served in the form of the hub, without the weights and without
// paths of this machine.
func TestTokenizers(t *testing.T) {
	dir := tokenizerDir(t)
	r := newRig(
		t,
		Options{
			Models: Models{Tokenizers: map[string]string{"tiny": dir},
				Aliases: map[string]string{"small": "tiny", "a/b/c": "tiny", "meta-llama/Llama-3.2-1B": "tiny"}},
		},
	)
	session := r.session()
	for i, tt := range []struct{ asked, id string }{{"tiny", "tiny"}, {"small:peft:9", "small"}, {"a/b/c", "tiny"}} {
		body := createModel(session, int64(i))
		body["base_model"] = tt.asked
		var info wire.GetInfoResponse
		r.post("/get_info",
			wire.GetInfoRequest{ModelID: r.result(r.promise("/create_model", body))["model_id"].(string)}, &info)
		if info.ModelData.TokenizerID != tt.id {
			t.Errorf("%s: tokenizer_id %q, want %q", tt.asked, info.ModelData.TokenizerID, tt.id)
		}
	}
	var said wire.CreateSessionResponse
	r.post("/create_session", map[string]any{"sdk_version": "0.38.0"}, &said)
	if !strings.Contains(said.InfoMessage, "HF_ENDPOINT="+r.web.URL+" ") {
		t.Errorf("a new session is told %q", said.InfoMessage)
	}
	anybody := r.as("")
	for _, repo := range []string{"tiny", "small", "a/b"} { // the SDK asks for a/b when a model is called a/b/c
		for _, method := range []string{"GET", "HEAD"} {
			code, h, raw := anybody.send(method, "/"+repo+"/resolve/main/tokenizer.json", nil)
			if code != 200 || len(h.Get("X-Repo-Commit")) != 40 || len(h.Get("ETag")) != 66 ||
				h.Get("Content-Length") != "12" ||
				method == "GET" && string(raw) != `{"model":{}}` {
				t.Errorf("%s %s: %d %v %s", method, repo, code, h, raw)
			}
		}
		_, _, config := anybody.send("GET", "/"+repo+"/resolve/main/config.json", nil)
		_, _, settings := anybody.send("GET", "/"+repo+"/resolve/main/tokenizer_config.json", nil)
		if all := string(config) + string(settings); strings.Contains(all, "/home") ||
			!strings.Contains(all, "qwen3") ||
			!strings.Contains(all, "org/name") {
			t.Errorf("settings are %s", all)
		}
		var list struct {
			Siblings []struct{ Rfilename string }
		}
		_, _, raw := anybody.send("GET", "/api/models/"+repo+"/revision/main", nil)
		if err := json.Unmarshal(raw, &list); err != nil || len(list.Siblings) != 3 ||
			bytes.Contains(raw, []byte("safetensors")) {
			t.Errorf("%s lists %s, %v", repo, raw, err)
		}
		for _, name := range []string{"model.safetensors", "../secret", "%2e%2e/secret", "none.json"} {
			if code, h, raw := anybody.send("GET", "/"+repo+"/resolve/main/"+name, nil); code == 200 ||
				code == 404 && h.Get("X-Error-Code") != "EntryNotFound" && strings.Contains(name, "json") {
				t.Errorf("%s of %s: %d %v %s", name, repo, code, h, raw)
			}
		}
	}
	if code, _, _ := anybody.send("GET", "/"+basemodel.LlamaRepo+"/resolve/main/tokenizer.json", nil); code != 200 {
		t.Errorf("what the SDK asks for in place of a Llama 3: %d", code)
	}
	if code, h, _ := anybody.send("GET", "/other/resolve/main/tokenizer.json", nil); code != 404 ||
		h.Get("X-Error-Code") != "RepoNotFound" {
		t.Errorf("another repository: %d %v", code, h)
	}
	if code, _, raw := r.send("GET", "/api/v1/nothing", nil); code != http.StatusNotFound ||
		!strings.Contains(string(raw), "Tinker protocol") {
		t.Errorf("another address: %d %s", code, raw)
	}
}

// If keys are required, tokenizers need one too. A name on the hub has priority over this server's.
func TestTokenizersWithKeys(t *testing.T) {
	r := newRig(
		t,
		Options{
			Models: Models{Tokenizers: map[string]string{"tiny": tokenizerDir(t)},
				HubNames: map[string]string{"tiny": "Org/Name"}},
			Access: Access{Keys: onlyKey(HashKey("tml-alice"))},
		},
	)
	const file = "/Org/Name/resolve/main/tokenizer.json"
	if code, h, _ := r.as("").send("GET", file, nil); code != http.StatusUnauthorized ||
		!strings.Contains(h.Get("X-Error-Message"), "HF_TOKEN") {
		t.Errorf("without a key: %d %v", code, h)
	}
	if code, _, raw := r.as("").send("GET", file, nil, "Authorization", "Bearer tml-alice"); code != 200 {
		t.Errorf("with a key as HF_TOKEN: %d %s", code, raw)
	}
	var info wire.GetInfoResponse
	r.post("/get_info", wire.GetInfoRequest{ModelID: r.model(r.session(), 0)}, &info)
	if info.ModelData.TokenizerID != "Org/Name" {
		t.Errorf("tokenizer_id is %q", info.ModelData.TokenizerID)
	}
}

type onlyKey string

func (k onlyKey) Allowed(hash string) bool { return hash == string(k) }

// Demanded implements Keys.
func (k onlyKey) Demanded() bool              { return true }
func (k onlyKey) Owner(string) (string, bool) { return "", false }

// A tokenizer's additional chat templates are served too, and nothing else of their folder. A client that fetches the
// tokenizer as from a hub has them.
func TestTokenizerTemplates(t *testing.T) {
	dir := tokenizerDir(t)
	const folder, name = tokenizer.TemplatesDir, tokenizer.TemplatesDir + "/tool_use.jinja"
	if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{name: "tools", folder + "/secret.txt": "no"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := newRig(t, Options{Models: Models{Tokenizers: map[string]string{"tiny": dir},
		Aliases: map[string]string{"org/tiny": "tiny"}}})
	if code, _, raw := r.send("GET", "/tiny/resolve/main/"+name, nil); code != 200 || string(raw) != "tools" {
		t.Errorf("the template: %d %s", code, raw)
	}
	for _, other := range []string{folder + "/secret.txt", folder + "/../model.safetensors", folder} {
		if code, _, raw := r.send("GET", "/tiny/resolve/main/"+other, nil); code == 200 {
			t.Errorf("%s: %s", other, raw)
		}
	}
	for at, want := range map[string]int{"main/" + folder: 200, "main": 404, "main/none": 404} {
		code, _, raw := r.send("GET", "/api/models/tiny/tree/"+at, nil)
		if code != want || code == 200 && !strings.Contains(string(raw), `"path":"`+name+`","size":5`) {
			t.Errorf("tree/%s: %d %s", at, code, raw)
		}
	}
	got, err := hub.New(hub.Options{Endpoint: r.web.URL, Cache: t.TempDir()}).Tokenizer(t.Context(), "org/tiny")
	if err != nil {
		t.Fatal(err)
	}
	if conf, err := tokenizer.LoadConfig(got); err != nil || conf.Templates["tool_use"] != "tools" {
		t.Errorf("fetched: %+v, %v", conf, err)
	}
}
