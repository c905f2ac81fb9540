package hub

import (
	"bytes"
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/hf/hub/hubtest"
)

// pushed are files of each way to the hub: in the commit, whole by LFS, and by LFS in parts; one is empty.
func pushed(t *testing.T) (paths map[string]string, content map[string][]byte) {
	t.Helper()
	dir := t.TempDir()
	paths, content = map[string]string{}, map[string][]byte{"README.md": []byte("# A\n"), "sub/empty": {},
		"model.safetensors": bytes.Repeat([]byte("0123456789"), 1001), "tokenizer.json": make([]byte, hubtest.Large)}
	for name, data := range content {
		path := filepath.Join(dir, strings.ReplaceAll(name, "/", "-"))
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		paths[name] = path
	}
	return paths, content
}

// What is pushed is what the hub then has, in a new private model or beside what a model has.
func TestPush(t *testing.T) {
	paths, content := pushed(t)
	s := hubtest.New(t, map[string]hubtest.Repo{"models/me/there": {Files: map[string][]byte{"README.md": []byte("old"),
		".gitattributes": nil}}})
	h := New(Options{Cache: t.TempDir(), Endpoint: s.URL, Token: hubtest.Token})
	page, err := Push(t.Context(), h, "me/new", "two words", paths, false)
	if err != nil || page != s.URL+"/me/new" {
		t.Fatal(page, err)
	}
	same := func(a, b []byte) bool { return bytes.Equal(a, b) }
	if repo := s.Repos["models/me/new"]; !maps.EqualFunc(repo.Files, content, same) || !repo.Private {
		t.Errorf("the hub has %d files, private: %v", len(repo.Files), repo.Private)
	}
	before := len(s.Requests())
	_, err = Push(t.Context(), h, "me/there", "again", paths, false)
	if err == nil || !strings.Contains(err.Error(), "model me/there has a file README.md already") ||
		!strings.Contains(err.Error(), "--overwrite") ||
		string(s.Repos["models/me/there"].Files["README.md"]) != "old" {
		t.Error(err)
	}
	if _, err = Push(t.Context(), h, "me/there", "again", paths, true); err != nil {
		t.Fatal(err)
	}
	if got := s.Repos["models/me/there"].Files; len(got) != len(content)+1 || string(got["README.md"]) != "# A\n" {
		t.Errorf("the hub has %d files", len(got))
	}
	for _, r := range s.Requests()[before:] {
		if strings.HasPrefix(r, "PUT") {
			t.Errorf("%s: the hub had this file", r)
		}
	}
}

// What prevents a push is said with the remedy, before anything changes.
func TestPushRefused(t *testing.T) {
	paths, _ := pushed(t)
	s := hubtest.New(t, map[string]hubtest.Repo{})
	for _, tt := range []struct {
		o          Options
		name, want string
	}{
		{Options{Endpoint: s.URL}, "me/new", "set HF_TOKEN to a token that may write"},
		{Options{Endpoint: s.URL, Token: "hf_wrong"}, "me/new", "may not write model me/new; use a token"},
		{Options{Endpoint: s.URL, Token: hubtest.Token}, "others/new", "the name of an owner that it may write for"},
		{Options{Endpoint: s.URL, Token: hubtest.Token}, "new", "names look like"},
		{Options{Endpoint: s.URL, Token: hubtest.Token, Offline: true}, "me/new", "HF_HUB_OFFLINE is set"},
		{Options{Endpoint: "http://127.0.0.1:1", Token: hubtest.Token, Pause: time.Millisecond}, "me/new",
			"cannot reach http://127.0.0.1:1"},
	} {
		_, err := Push(t.Context(), New(tt.o), tt.name, "x", paths, false)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
	h := New(Options{Endpoint: s.URL, Token: hubtest.Token})
	if _, err := Push(t.Context(), h, "me/new", "x", map[string]string{"a": filepath.Join(t.TempDir(), "a")},
		false); err == nil || len(s.Repos) != 0 {
		t.Errorf("a file that is not there: %v, %d repositories", err, len(s.Repos))
	}
}

// The hub of the tests takes the upload of huggingface_hub itself, so that it asks of a client what the real one does.
func TestPythonPushes(t *testing.T) {
	if python() == "" {
		t.Skip("needs Python: go run ./bench hub-python")
	}
	paths, content := pushed(t)
	s := hubtest.New(t, map[string]hubtest.Repo{})
	cmd := exec.CommandContext(context.Background(), python(), "-c", `import sys
from huggingface_hub import CommitOperationAdd, HfApi
api, files = HfApi(), sys.argv[1:]
api.create_repo("me/new", private=True)
api.create_commit("me/new", [CommitOperationAdd(n, p) for n, p in zip(files[::2], files[1::2])], commit_message="x")`)
	for name, path := range paths {
		cmd.Args = append(cmd.Args, name, path)
	}
	cmd.Env = append(os.Environ(), "HF_ENDPOINT="+s.URL, "HF_TOKEN="+hubtest.Token, "HF_HUB_DISABLE_XET=1",
		"HF_HUB_DISABLE_PROGRESS_BARS=1", "HF_HOME="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !maps.EqualFunc(s.Repos["models/me/new"].Files, content, func(a, b []byte) bool { return bytes.Equal(a, b) }) {
		t.Errorf("the hub has %d files", len(s.Repos["models/me/new"].Files))
	}
}
