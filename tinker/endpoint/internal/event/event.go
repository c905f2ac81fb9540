// Package event writes the streams of answers: server-sent events, or lines of JSON.
package event

import (
	"encoding/json"
	"net/http"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

// Events writes server-sent events (WHATWG HTML, 9.2). They leave with the next flush, or when the request's handler
// returns, so that events of one moment share a system call. Its methods may be called concurrently.
type Events struct {
	mu sync.Mutex
	w  http.ResponseWriter
	rc *http.ResponseController

	buf []byte // of append
}

func New(w http.ResponseWriter) *Events {
	h := w.Header()
	if h.Get("Content-Type") == "" { // Ollama's streams are lines
		h.Set("Content-Type", "text/event-stream; charset=utf-8")
	}
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // nginx passes events on at once
	w.WriteHeader(http.StatusOK)
	return &Events{w: w, rc: http.NewResponseController(w)}
}

// Line sends one JSON value as a line.
func (e *Events) Line(v param.Object) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return e.write(string(raw) + "\n")
}

// Named sends one JSON value as an event of a kind.
func (e *Events) Named(kind string, v param.Object) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return e.write("event: " + kind + "\ndata: " + string(raw) + "\n\n")
}

// Send sends one JSON value. Its text has no newline, so that it is one line of the event.
func (e *Events) Send(v param.Object) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return e.write("data: " + string(raw) + "\n\n")
}

func (e *Events) write(event string) error {
	return e.Append(func(b []byte) ([]byte, error) { return append(b, event...), nil })
}

// Append writes what f appends to a buffer, as one.
func (e *Events) Append(f func([]byte) ([]byte, error)) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var err error
	if e.buf, err = f(e.buf[:0]); err != nil {
		return err
	}
	_, err = e.w.Write(e.buf)
	return err
}

func (e *Events) Flush() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.rc.Flush()
}

// Done ends the events.
func (e *Events) Done() { _ = e.write("data: [DONE]\n\n") }
