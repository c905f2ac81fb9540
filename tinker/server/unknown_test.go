package server

import (
	"net/http"
	"strings"
	"testing"
)

// A route that is not there is answered in the form of the interface that its path belongs to, and so is a missing key.
func TestUnknownRoutes(t *testing.T) {
	r := newEndpoint(t)
	const (
		openai    = `{"error":{"code":null,"message":"`
		anthropic = `{"error":{"message":"`
		ollama    = `{"error":"`
		tinker    = `{"detail":"`
	)
	header := []string{"anthropic-version", "2023-06-01"}
	for _, c := range []struct {
		method, path string
		headers      []string
		form, text   string
	}{
		{"POST", "/v1/nowhere", nil, openai, "no route of this server"},
		{"GET", "/v1/chat/completions", nil, openai, "GET /v1/chat/completions is no route"},
		{"DELETE", "/oai/api/v1/models/tiny", nil, openai, "no route of this server"},
		{"POST", "/v1/images/generations", nil, openai, "no route of this server"},
		{"POST", "/v1/embeddings", nil, openai, "give no embeddings"},
		{"POST", "/oai/api/v1/embeddings", nil, openai, "give no embeddings"},
		{"POST", "/v1/messages/batches", nil, anthropic, "no route of this server"},
		{"POST", "/v1/complete", header, anthropic, "no route of this server"},
		{"GET", "/anthropic/api/v1/nowhere", nil, anthropic, "no route of this server"},
		{"POST", "/api/pull", nil, ollama, "no route of this server"},
		{"POST", "/api/embed", nil, ollama, "give no embeddings"},
		{"POST", "/api/embeddings", nil, ollama, "give no embeddings"},
		{"POST", "/api/v1/nowhere", nil, tinker, "no route of this server"},
		{"POST", "/nowhere", nil, tinker, "no route of this server"},
	} {
		code, _, raw := r.send(c.method, c.path, rawJSON(`{"input":"a"}`), c.headers...)
		if code != http.StatusNotFound || !strings.HasPrefix(string(raw), c.form) ||
			!strings.Contains(string(raw), c.text) {
			t.Errorf("%s %s: %d %s, want %s… with %q", c.method, c.path, code, raw, c.form, c.text)
		}
	}
}
