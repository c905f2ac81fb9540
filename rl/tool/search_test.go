package tool

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/bound"
	"github.com/seed-d9ad8ee0/trinity/internal/msgpack"
)

// replay is a search server that answers with recorded bytes, made by msgspec as GEM's servers make them.
type replay struct {
	t      *testing.T
	status []int // of the first answers
	asked  int
	bodies []string
}

// ServeHTTP implements http.Handler.
func (r *replay) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil || q.Method != http.MethodPost {
		r.t.Errorf("%s, %v", q.Method, err)
	}
	r.bodies = append(r.bodies, string(body))
	if r.asked++; r.asked <= len(r.status) {
		w.WriteHeader(r.status[r.asked-1])
		io.WriteString(w, "topk: too large\n")
		return
	}
	data, err := os.ReadFile("testdata/search_answer.msgpack")
	if err != nil {
		r.t.Error(err)
	}
	w.Write(data)
}

func searching(t *testing.T, status ...int) (*Search, *replay) {
	r := &replay{t: t, status: status}
	h := httptest.NewServer(r)
	t.Cleanup(h.Close)
	return newSearch(h.URL+"/retrieve", 3, time.Millisecond), r
}

func TestSearch(t *testing.T) {
	s, r := searching(t)
	use, err := s.Use(t.Context(), "<think>?</think><search> capital of China </search> and on")
	want := "Doc 1(Title: Beijing) Beijing is the capital of China – 北京. " + strings.Repeat("x", 300) +
		"\nDoc 2(Title: China) A country in East Asia.\n"
	if err != nil || use.Text != want || use.Failed || use.Action !=
		"<think>?</think><search> capital of China </search>" {
		t.Errorf("%+v, %v; want %q", use, err, want)
	}
	v, err := msgpack.Decode([]byte(r.bodies[0]), bound.Of(1<<20))
	q, _ := v.(map[string]any)
	if err != nil || q["query"] != "capital of China" || q["topk"] != int64(3) || q["return_scores"] != true ||
		len(q) != 3 {
		t.Errorf("the server is asked %v, %v", v, err)
	}
	if use, err := s.Use(t.Context(), "no query"); err != nil || use.Called {
		t.Errorf("%+v, %v", use, err)
	}
}

// A refused query is the player's; a server that does not answer is asked again, and then it is an error.
func TestSearchFailures(t *testing.T) {
	s, _ := searching(t, 422)
	use, err := s.Use(t.Context(), "<search>x</search>")
	if err != nil || !use.Failed || use.Text != "[SearchTool Error: 422 Unprocessable Entity: topk: too large]" {
		t.Errorf("a refused query: %+v, %v", use, err)
	}
	s, r := searching(t, 503, 500)
	if use, err := s.Use(t.Context(), "<search>x</search>"); err != nil || use.Failed || r.asked != 3 {
		t.Errorf("a busy server: %+v, %v, asked %d times", use, err, r.asked)
	}
	for _, status := range []int{500, 404, 401} {
		s, r = searching(t, status, status, status)
		_, err = s.Use(t.Context(), "<search>x</search>")
		if err == nil || !strings.Contains(err.Error(), s.url+" does not answer: status") || r.asked != 3 {
			t.Errorf("status %d: %v", status, err)
		}
	}
	s = newSearch("http://127.0.0.1:1/retrieve", 3, time.Millisecond)
	if use, err := s.Use(t.Context(), "<search>x</search>"); err == nil || use.Called {
		t.Errorf("no server: %+v, %v", use, err)
	}
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // only then does the server see that the client left
		<-r.Context().Done()
	}))
	defer silent.Close()
	s = newSearch(silent.URL, 3, time.Millisecond)
	s.client.Timeout = 50 * time.Millisecond
	_, err = s.Use(t.Context(), "<search>x</search>")
	if err == nil || !strings.Contains(err.Error(), "asked 3 times") {
		t.Errorf("a silent server: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Use(ctx, "<search>x</search>"); !errors.Is(err, context.Canceled) {
		t.Errorf("a search that nobody wants any more: %v", err)
	}
}

func TestDocumentsThatAreNone(t *testing.T) {
	for want, data := range map[string]string{
		"ends too early":                  "\x81\xa6result\xdd\xff\xff\xff\xff",
		"2 bytes follow the value":        "\x80\x80\x80",
		"no list named result":            "\x81\xa6result\x01",
		"unknown code c1":                 "\xc1",
		"more than 256 levels of nesting": strings.Repeat("\x91", 300),
		"result 0 has no document":        "\x81\xa6result\x91\x80",
		"ends too early ":                 "",
		"the answer has no list named":    "\x90",
	} {
		_, err := readDocuments([]byte(data))
		if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("%q: %v, want %q", data, err, want)
		}
	}
}
