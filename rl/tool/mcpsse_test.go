package tool

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveSSE serves newServer and returns a file that names it.
func serveSSE(t *testing.T, h http.Handler) (*httptest.Server, string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	path := filepath.Join(t.TempDir(), "server.json")
	if err := os.WriteFile(path, fmt.Appendf(nil, `{"transport": "sse", "url": %q}`, s.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	return s, path
}

// One session answers call after call over SSE, and another takes its place when its connection is cut.
func TestMCPOverSSE(t *testing.T) {
	var calls, sessions atomic.Int32
	server := newServer(&calls)
	s, path := serveSSE(t, mcp.NewSSEHandler(func(*http.Request) *mcp.Server {
		sessions.Add(1)
		return server
	}, nil))
	m := open(t, path)
	checkAnswers(t, m, "")
	if n := sessions.Load(); n != 1 {
		t.Errorf("%d sessions for all calls, want 1", n)
	}
	s.CloseClientConnections()
	if use, err := m.Use(t.Context(), write("add", `{"a": 1, "b": 1}`)); err != nil || use.Text != "2" {
		t.Errorf("after a cut: %+v, %v", use, err)
	}
	if n := sessions.Load(); n != 2 {
		t.Errorf("%d sessions after a cut, want 2", n)
	}
}

// Waiting for a server that never begins a session ends with the timeout, and with the caller's context.
func TestMCPSilentSSE(t *testing.T) {
	_, path := serveSSE(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	list, err := readServers(path)
	if err != nil {
		t.Fatal(err)
	}
	s := serverOf(t, list[0], 100*time.Millisecond)
	if _, err := s.list(t.Context()); err == nil || !strings.Contains(err.Error(), "did not answer in 100ms") {
		t.Errorf("a silent server: %v", err)
	}
	s.timeout = time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.list(ctx); !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "server") {
		t.Errorf("a call that nobody wants any more: %v", err)
	}
}
