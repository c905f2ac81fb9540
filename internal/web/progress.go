package web

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// Step is the number of bytes of a body that must arrive within one stall. Fewer are progress only at the end of the
// body.
const Step = 1 << 10

// piece is the number of bytes of an answer that a client must read within one stall.
const piece = 64 << 10

// Progress ends connections that make no progress: a body of which fewer than Step bytes arrive within stall, and an
// answer of which a client reads less than a piece in that time. Reading such a body fails with an error that wraps
// os.ErrDeadlineExceeded. The time in which h computes is not counted.
func Progress(h http.Handler, stall time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w) // a writer without deadlines, as in tests, is used without them
		_ = rc.SetWriteDeadline(time.Time{})
		b := &body{ReadCloser: r.Body, rc: rc, stall: stall, ended: true}
		if r.ContentLength != 0 && r.Body != nil {
			b.ended = false
			b.extend()
			r.Body = b
		}
		h.ServeHTTP(&writer{ResponseWriter: w, rc: rc, stall: stall, body: b}, r)
	})
}

// body is a request's body with a deadline that moves with its progress.
type body struct {
	io.ReadCloser
	rc    *http.ResponseController
	stall time.Duration
	since int // bytes since the deadline was set
	ended bool
}

func (b *body) extend() {
	b.since = 0
	_ = b.rc.SetReadDeadline(time.Now().Add(b.stall))
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.since += n
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return n, fmt.Errorf("fewer than %d bytes of the body came within %v: %w", Step, b.stall, err)
	case err != nil && !b.ended:
		b.ended = true
		_ = b.rc.SetReadDeadline(time.Time{}) // further reads detect whether the client has disconnected
	case err == nil && b.since >= Step:
		b.extend()
	}
	return n, err
}

// writer writes an answer piece by piece, each with its own deadline.
type writer struct {
	http.ResponseWriter
	rc    *http.ResponseController
	stall time.Duration
	body  *body
}

// extend sets the deadline of the next piece. Before it answers, the server reads the part of the body that the
// handler has not read: half the time is for that.
func (w *writer) extend() {
	_ = w.rc.SetWriteDeadline(time.Now().Add(w.stall))
	if !w.body.ended {
		_ = w.rc.SetReadDeadline(time.Now().Add(w.stall / 2))
	}
}

// Unwrap is for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements http.Flusher.
func (w *writer) Flush() {
	w.extend()
	_ = w.rc.Flush()
}

// WriteHeader implements http.ResponseWriter.
func (w *writer) WriteHeader(code int) {
	w.extend() // also of an answer without a body
	w.ResponseWriter.WriteHeader(code)
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (n int, err error) {
	for {
		part := p[n:min(n+piece, len(p))]
		w.extend()
		m, err := w.ResponseWriter.Write(part)
		n += m
		if err != nil || n == len(p) {
			return n, err
		}
	}
}
