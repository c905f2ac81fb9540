package main

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
)

// A token may have characters that mean something in an address.
func TestStudioURL(t *testing.T) {
	at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8265}
	for _, token := range []string{"", "secret", "a+b&c#d%e f"} {
		u, err := url.Parse(studioURL(at, token))
		if err != nil || u.Host != at.String() || u.Query().Get("token") != token {
			t.Errorf("%q: %v, %v", token, u, err)
		}
	}
}

// The studio finds the model of a job that was begun in another folder, with a path relative to that.
func TestModelOfJob(t *testing.T) {
	job, model := t.TempDir(), t.TempDir()
	notes := fmt.Sprintf(`{"model":"own","path":%q}`, model)
	for name, text := range map[string]string{"run.json": "{}", "model.json": notes} {
		if err := os.WriteFile(filepath.Join(job, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := &surroundings{ctx: t.Context(), env: func(string) (string, bool) { return "", false }}
	if dir, err := s.cachedModel(job, "own"); err != nil || dir != model {
		t.Errorf("the model is in %s, %v, want %s", dir, err, model)
	}
	if dir, err := s.cachedModel(t.TempDir(), "own"); err == nil {
		t.Errorf("without the job it is in %s", dir)
	}
}
