package proxy

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// withBodies are the routes that read a body, in serve mode and beside an explorer.
var withBodies = []string{"/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages",
	"/v1/messages/count_tokens", "/inference/v1/generate", "/rollouts/a/v1/chat/completions", "/rollouts/a/feedback",
	"/rollouts/next", "/sessions", "/traces/query", "/api/rollouts/a/attempt/1/events"}

// handlers are the listeners of a run.
func handlers(t *testing.T) map[string]http.Handler {
	return map[string]http.Handler{"serve mode": newFixture(t, history(t)).proxy.Handler(),
		"rollouts": NewOffers(OfferOptions{Name: "m", Now: time.Now, Work: true}).Handler()}
}

// sent sends a body of n bytes to a handler.
func sent(h http.Handler, path string, body io.Reader, n int) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, body)
	r.ContentLength = int64(n)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// stalled is a body whose end does not come in time.
type stalled struct{ io.Reader }

func (s stalled) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err == io.EOF {
		err = os.ErrDeadlineExceeded
	}
	return n, err
}

// A stalled body is answered with 408 by every route that reads it.
func TestStalledBodies(t *testing.T) {
	for name, h := range handlers(t) {
		for _, path := range withBodies {
			if name == "rollouts" && (strings.HasPrefix(path, "/v1/") || strings.HasPrefix(path, "/inference/")) {
				continue // refused without a look at the body
			}
			if w := sent(h, path, stalled{strings.NewReader(`{"wait":`)}, 1000); w.Code != http.StatusRequestTimeout {
				t.Errorf("%s: POST %s: %d %s", name, path, w.Code, w.Body)
			}
		}
	}
}

// Bodies that take many times their size when they are decoded are refused before that.
func TestHeavyBodies(t *testing.T) {
	const n = 12 << 20
	for name, parts := range map[string][3]string{
		"messages": {`{"messages":[`, `{},`, `{}]}`},
		"tools":    {`{"messages":[{"role":"user","content":"x"}],"tools":[`, `{},`, `{}]}`},
		"kwargs":   {`{"messages":[{"role":"user","content":"x"}],"chat_template_kwargs":{"a":[`, `[],`, `[]]}}`},
		"parts":    {`{"messages":[{"role":"user","content":[`, `{"type":"text","text":""},`, `{}]}]}`},
		"deep":     {`{"messages":[`, `[`, ``},
	} {
		body := []byte(parts[0] + strings.Repeat(parts[1], n/len(parts[1])) + parts[2])
		for listener, h := range handlers(t) {
			for _, path := range []string{"/rollouts/a/v1/chat/completions", "/rollouts/a/feedback", "/rollouts/next",
				"/sessions", "/traces/query"} {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				w := sent(h, path, bytes.NewReader(body), len(body))
				runtime.ReadMemStats(&after)
				if w.Code != http.StatusRequestEntityTooLarge {
					t.Errorf("%s to %s of %s: %d %.200s", name, path, listener, w.Code, w.Body)
				}
				if took := (after.TotalAlloc - before.TotalAlloc) / n; took > 4 {
					t.Errorf("%s to %s of %s: %d times its size", name, path, listener, took)
				}
			}
		}
	}
}

// A body beyond the limit of one request is too large whatever it has.
func TestLargeBodies(t *testing.T) {
	for name, h := range handlers(t) {
		body := bytes.NewReader(make([]byte, 33<<20))
		path := "/rollouts/a/v1/chat/completions"
		if w := sent(h, path, body, 33<<20); w.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

// What is not served is said in OpenAI's form.
func TestUnknownRoutes(t *testing.T) {
	for name, h := range handlers(t) {
		for _, path := range []string{"/v1/embeddings", "/nowhere", "/rollouts/a/nowhere", "/health"} {
			w := sent(h, path, strings.NewReader(`{}`), 2)
			if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), `"code":"unknown_url"`) {
				t.Errorf("%s: POST %s: %d %s", name, path, w.Code, w.Body)
			}
		}
	}
}
