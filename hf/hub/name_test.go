package hub

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

func TestIsName(t *testing.T) {
	for name, want := range map[string]bool{
		"meta-llama/Llama-3.2-3B": true, "openai/gsm8k": true, "a/b": true, "openai/gsm8k@main": true,
		"a/b@refs/pr/1": true,
		"":              false, "gpt2": false, "nowhere": false, "a/b/c": false, "./a": false, "../a": false,
		"/a/b": false,
		"a/":   false, "a/b.jsonl": false, "x/a--b": false, "a/..": false,
		"-a/b": false, "a/b-": false, "a b": false, "a/*.json": false, "é/b": false, "a/b@": false,
		"a/b@../../x": false, "a/b@/x": false,
	} {
		if got := IsName(name); got != want {
			t.Errorf("IsName(%q) = %v", name, got)
		}
	}
}

func TestFromEnv(t *testing.T) {
	for _, tt := range []struct {
		name string
		env  map[string]string
		want Options
	}{
		{"nothing", nil, Options{Cache: "/h/.cache/huggingface/hub"}},
		{"a home", map[string]string{"HF_HOME": "~/hf", "XDG_CACHE_HOME": "/x"}, Options{Cache: "/h/hf/hub"}},
		{"the desktop's cache", map[string]string{"XDG_CACHE_HOME": "/x"}, Options{Cache: "/x/huggingface/hub"}},
		{"all", map[string]string{"HF_HOME": "/hf", "HF_HUB_CACHE": "/c", "HF_HUB_OFFLINE": "yes",
			"HF_ENDPOINT": "http://m/", "HF_TOKEN": " t\n"},
			Options{Cache: "/c", Offline: true, Endpoint: "http://m", Token: "t"}},
		{"not offline", map[string]string{"HF_HUB_OFFLINE": "0"}, Options{Cache: "/h/.cache/huggingface/hub"}},
	} {
		got := FromEnv(func(k string) (string, bool) { v, ok := tt.env[k]; return v, ok }, "/h")
		if filepath.ToSlash(got.Cache) != tt.want.Cache || got.Offline != tt.want.Offline ||
			got.Endpoint != tt.want.Endpoint || got.Token != tt.want.Token {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// Whatever the hub says, no name leaves the cache.
func FuzzRevision(f *testing.F) {
	f.Add([]byte(`{"sha":"0123456789012345678901234567890123456789","siblings":[{"rfilename":"config.json"}]}`))
	f.Add([]byte(`{"sha":"0123456789012345678901234567890123456789","siblings":[{"rfilename":"../x"}]}`))
	f.Add([]byte(`{"sha":"../..","siblings":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := parseRevision(bytes.NewReader(data))
		if err != nil {
			return
		}
		dir := New(Options{Cache: "/cache"}).snapshot(repo0(), v.Commit)
		for _, n := range v.names() {
			if p := filepath.Join(dir, filepath.FromSlash(n)); !strings.HasPrefix(p, dir+string(filepath.Separator)) &&
				p != dir {
				t.Errorf("%q leads to %s", n, p)
			}
		}
	})
}
