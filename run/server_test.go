package run

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/engine/fake"
	"github.com/seed-d9ad8ee0/trinity/engine/journal"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker/server"
)

// serve starts a server that has the shipped model and the teacher, and returns its address.
func serve(t *testing.T) string {
	t.Helper()
	return serveOn(t, disk.OS())
}

// serveOn is serve on another disk.
func serveOn(t *testing.T, fs disk.FS) string {
	t.Helper()
	return serveModel(t, fs, "examples/tiny/model", "../examples/tiny/model", "")
}

// serveModel starts a server that has a model and the teacher, and gives id as the hub's name of its tokenizer.
func serveModel(t *testing.T, fs disk.FS, name, folder, id string) string {
	t.Helper()
	tok, err := tokenizer.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	e, err := fake.Open(engine.Options{Dir: filepath.Join(dir, "checkpoints"), FS: fs, Models: map[string]engine.Model{
		name:                    {Dir: folder, Tokens: tok},
		"examples/tiny/teacher": {Dir: "../examples/tiny/model", Adapter: "../examples/tiny/teacher"}}})
	if err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(context.Background(), filepath.Join(dir, "journal"), e, journal.Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.Open(context.Background(), j, server.Options{Dir: filepath.Join(dir, "server"), Store: e,
		Models: server.Models{HubNames: map[string]string{name: id}}})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
		if err := errors.Join(s.Close(), j.Close()); err != nil {
			t.Error(err)
		}
	})
	return h.URL
}

func withKey(name string) (string, bool) {
	return map[string]string{"TRINITY_API_KEY": "tml-mine"}[name], name == "TRINITY_API_KEY"
}

// A run on a server gives the bits of a run in this process, and so does one that was killed on the way.
func TestRunOnServer(t *testing.T) {
	t.Parallel()
	few := append(small, "trainer.save_interval=2")
	want := runs(t, load(t, t.TempDir(), few...), options())
	remote := append(few, "model.tinker.base_url="+serve(t))
	o := options()
	o.LookupEnv = withKey
	dir := t.TempDir()
	same(t, "on a server", runs(t, load(t, dir, remote...), o), want)
	same(t, "started again when it was done", runs(t, load(t, dir, remote...), o), want)
	same(t, "unbroken", survivesKills(t, o, 6, jobWith(remote...)), want)
}

// What keeps a run from a server is said before anything else happens, with the remedy.
func TestServerRefusals(t *testing.T) {
	t.Parallel()
	url := serve(t)
	began := t.TempDir()
	runs(t, load(t, began, append(small, "trainer.total_steps=1", "buffer.total_steps=1")...), options())
	for _, tt := range []struct {
		name, dir, key, want string
		overrides            []string
	}{
		{"no key", t.TempDir(), "", "no API key: set TINKER_API_KEY", nil},
		{"a key of something else", t.TempDir(), "sk-1", "TINKER_API_KEY does not begin with tml-", nil},
		{"a model that the server has not", t.TempDir(), "tml-1", "no/such-model",
			[]string{"model.tinker.base_model=no/such-model"}},
		{"a job of the local engine", began, "tml-1", "was begun on the local engine", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := options()
			o.LookupEnv = func(name string) (string, bool) {
				v, ok := map[string]string{"TINKER_API_KEY": tt.key, "HF_HUB_OFFLINE": "1",
					"HF_HOME": t.TempDir()}[name]
				return v, ok
			}
			cfg := load(t, tt.dir, append(append(small, "model.tinker.base_url="+url), tt.overrides...)...)
			if _, err := Run(t.Context(), cfg, o); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// All tasks of a step are asked for before any is answered, however few runners there are.
func TestServerIsAskedForAStepAtOnce(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	all, once := make(chan struct{}), sync.Once{}
	address, err := url.Parse(serve(t))
	if err != nil {
		t.Fatal(err)
	}
	next := httputil.NewSingleHostReverseProxy(address)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/asample"):
			if asked.Add(1) == 12 {
				once.Do(func() { close(all) })
			}
		case r.Header.Get("X-Tinker-Request-Type") == "Sample":
			select {
			case <-all:
			case <-time.After(20 * time.Second):
				t.Errorf("an answer was waited for when %d of 12 tasks were asked for", asked.Load())
				once.Do(func() { close(all) })
			}
		}
		next.ServeHTTP(w, r)
	}))
	defer front.Close()
	o := options()
	o.LookupEnv = withKey
	runs(t, load(t, t.TempDir(), append(small, "model.tinker.base_url="+front.URL, "buffer.batch_size=12",
		"explorer.runner_per_model=1",
		"buffer.total_steps=1", "trainer.total_steps=1", "explorer.eval_on_startup=false",
		"buffer.explorer_input.eval_tasksets=[]")...), o)
}
