package run

import (
	"bytes"
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/engine/journal"
	"github.com/seed-d9ad8ee0/trinity/hf/hub"
	"github.com/seed-d9ad8ee0/trinity/hf/hub/hubtest"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
	"github.com/seed-d9ad8ee0/trinity/run/internal/service"
	"github.com/seed-d9ad8ee0/trinity/tinker/server"
)

const llama = "meta-llama/Llama-3.2-3B"

// llamaTokenizer is what stands in for a gated tokenizer.
const llamaTokenizer = "baseten/Meta-Llama-3-tokenizer"

// folderOf writes a repository as a folder and returns its path.
func folderOf(t *testing.T, r hubtest.Repo) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range r.Files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The tokenizer of a model that a server has is looked for in the documented order.
func TestTokenizerOfServer(t *testing.T) {
	t.Parallel()
	tiny, gated := hubtest.TinyLlama(), hubtest.TinyLlama()
	gated.Gated = true
	local := folderOf(t, tiny)
	const alias, other = "models/" + llamaTokenizer, "models/some/tokenizer"
	for _, tt := range []struct {
		name, path, base, token string
		id                      string                  // what the server says
		repos                   map[string]hubtest.Repo // of the hub
		cached                  string                  // what is in the cache before
		offline                 bool
		want, fails             string
		silent                  bool // the server is not asked
	}{
		{name: "a folder of the configuration", path: local, id: "some/tokenizer", cached: llama, want: local,
			silent: true},
		{name: "the cache", id: "some/tokenizer", repos: map[string]hubtest.Repo{"models/" + llama: tiny, other: tiny},
			cached: llama, want: "models--meta-llama--Llama-3.2-3B", silent: true},
		{name: "a folder that the server names", id: local + ":variant", want: local},
		{name: "a name that the server gives", id: "some/tokenizer", repos: map[string]hubtest.Repo{
			"models/" + llama: tiny, other: tiny}, want: "models--some--tokenizer"},
		{name: "the server's name, in the cache", id: "some/tokenizer", repos: map[string]hubtest.Repo{other: tiny},
			cached: "some/tokenizer", offline: true, want: "models--some--tokenizer"},
		{name: "the model's own name", repos: map[string]hubtest.Repo{"models/" + llama: tiny, alias: tiny},
			want: "models--meta-llama--Llama-3.2-3B"},
		{name: "a variant's name", base: llama + ":peft:131072", repos: map[string]hubtest.Repo{
			"models/" + llama: tiny}, want: "models--meta-llama--Llama-3.2-3B"},
		{name: "gated, with a token", token: hubtest.Token, repos: map[string]hubtest.Repo{"models/" + llama: gated,
			alias: tiny}, want: "models--meta-llama--Llama-3.2-3B"},
		{name: "gated: the ungated copy", repos: map[string]hubtest.Repo{"models/" + llama: gated, alias: tiny},
			want: "models--baseten--Meta-Llama-3-tokenizer"},
		{name: "nowhere", repos: map[string]hubtest.Repo{"models/" + llama: gated}, fails: "set HF_TOKEN"},
		{name: "gated, of another family", base: "Qwen/Qwen3-4B", repos: map[string]hubtest.Repo{
			"models/Qwen/Qwen3-4B": gated, alias: tiny}, fails: "set HF_TOKEN"},
		{name: "offline", offline: true, repos: map[string]hubtest.Repo{"models/" + llama: tiny},
			fails: "HF_HUB_OFFLINE is set"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := hubtest.New(t, tt.repos)
			o := hub.Options{Cache: t.TempDir(), Endpoint: s.URL, Token: tt.token, Pause: time.Millisecond}
			if tt.cached != "" && tt.repos != nil {
				if _, err := hub.New(o).Tokenizer(t.Context(), tt.cached); err != nil {
					t.Fatal(err)
				}
			}
			o.Offline = tt.offline
			base := tt.base
			if base == "" {
				base = llama
			}
			url := "http://127.0.0.1:1" // where nobody answers
			if !tt.silent {
				url = serveModel(t, disk.OS(), base, local, tt.id)
			}
			overrides := []string{"model.model_path=" + base, "model.tinker.base_url=" + url}
			if tt.path != "" {
				overrides = []string{"model.model_path=" + tt.path, "model.tinker.base_model=" + base,
					"model.tinker.base_url=" + url}
			}
			dir, err := service.FindTokenizer(t.Context(), finder(t, hub.New(o), overrides...))
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("%q, %v; want an error with %q", dir, err, tt.fails)
				}
				return
			}
			if err != nil || !strings.Contains(dir, tt.want) {
				t.Errorf("%q, %v; want %q", dir, err, tt.want)
			}
		})
	}
}

// trinity gem on a server finds the tokenizer in the same way: with no folder here and no access to the gated model.
func TestGemTokenizerOfServer(t *testing.T) {
	t.Parallel()
	gated := hubtest.TinyLlama()
	gated.Gated = true
	s := hubtest.New(t, map[string]hubtest.Repo{"models/" + llama: gated, "models/" +
		llamaTokenizer: hubtest.TinyLlama()})
	url := serveModel(t, disk.OS(), llama, folderOf(t, hubtest.TinyLlama()), "")
	var out bytes.Buffer
	o := Options{Out: &out, LookupEnv: withKey,
		Hub: hub.New(hub.Options{Cache: t.TempDir(), Endpoint: s.URL, Pause: time.Millisecond})}
	err := Gem(context.Background(), []string{"model_name=" + llama, "base_url=" + url, "output_dir=" + t.TempDir(),
		"max_steps=1", "batch_size=4", "num_env=2", "max_tokens=8"}, o)
	if err != nil || !strings.Contains(out.String(), "done: 1 steps") {
		t.Fatalf("%v\n%s", err, out.String())
	}
	o.Hub = nil
	err = Gem(context.Background(), []string{"model_name=" + llama, "base_url=" + url, "output_dir=" + t.TempDir()}, o)
	if err == nil || !strings.Contains(err.Error(), "set HF_TOKEN") ||
		strings.Contains(err.Error(), "model.model_path") {
		t.Errorf("without a hub: %v", err)
	}
}

// A tokenizer that no hub has comes from the server itself, wherever that runs.
func TestTokenizerFromServer(t *testing.T) {
	t.Parallel()
	const folder = "../examples/tiny/model"
	dir := t.TempDir()
	e, err := engine.Open(engine.Options{Dir: filepath.Join(dir, "checkpoints"), Models: map[string]engine.Model{
		"mine/tiny/model": {Dir: folder}}})
	if err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(t.Context(), filepath.Join(dir, "journal"), e, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.Open(t.Context(), j, server.Options{Dir: filepath.Join(dir, "server"), Store: e,
		Models: server.Models{Tokenizers: map[string]string{"mine/tiny/model": folder}}})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	defer func() {
		h.CloseClientConnections()
		h.Close()
		if err := errors.Join(s.Close(), j.Close()); err != nil {
			t.Error(err)
		}
	}()
	empty := hubtest.New(t, nil)
	find := finder(t,
		hub.New(hub.Options{Cache: filepath.Join(dir, "hub"), Endpoint: empty.URL, Pause: time.Millisecond}),
		"model.model_path=mine/tiny/model", "model.tinker.base_url="+h.URL)
	got, err := service.FindTokenizer(t.Context(), find)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(folder, "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	if raw, err := os.ReadFile(filepath.Join(got, "tokenizer.json")); err != nil || !bytes.Equal(raw, want) ||
		!strings.HasPrefix(got, filepath.Join(dir, "trinity-servers")) {
		t.Errorf("%s: %d bytes, %v; want %d", got, len(raw), err, len(want))
	}
}

// finder finds models as a run of the small example does.
func finder(t *testing.T, h *hub.Hub, overrides ...string) *job.Job {
	t.Helper()
	cfg := load(t, t.TempDir(), slices.Concat(small, overrides)...)
	backend, err := config.ChooseBackend(cfg, withKey)
	if err != nil {
		t.Fatal(err)
	}
	return job.New(cfg, Options{Hub: h, LookupEnv: withKey}).For(cfg, backend, "")
}
