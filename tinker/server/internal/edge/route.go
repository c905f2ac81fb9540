package edge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/web"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// Call is one HTTP request of an authenticated tenant.
type Call struct {
	Ctx    context.Context
	Tenant string
	W      http.ResponseWriter
	R      *http.Request
	Body   []byte
	share  *web.Share // its memory in the budget of requests in flight
	Weight int64      // bytes that the body takes when it is decoded
}

// ErrAnswered is returned by handlers that have written their answer themselves.
var ErrAnswered = errors.New("answered")

// StatusError is an error with its HTTP status.
type StatusError = web.Problem

func Status(code int, format string, args ...any) error { return web.Problemf(code, format, args...) }

// StatusAfter is an error that asks the client to wait so long before it sends the request again.
func StatusAfter(code int, err error, wait time.Duration) error {
	return &StatusError{Status: code, Err: err, After: wait}
}

// clientGone is the status in metrics of requests whose client has disconnected.
const clientGone = 499

// router is a mux that knows its patterns.
type router struct {
	*http.ServeMux
	Patterns []string
}

// Handle registers a handler.
func (m *router) Handle(pattern string, h http.Handler) {
	m.Patterns = append(m.Patterns, pattern)
	m.ServeMux.Handle(pattern, h)
}

// HandleFunc registers a handler that authenticates its own callers, or needs no key.
func (m *router) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	m.Handle(pattern, http.HandlerFunc(h))
}

// Handler answers a request whose body was read. What it returns is sent as JSON.
type Handler = func(*Call) (any, error)

// Decoded reads the JSON body for a handler.
func Decoded[Req any](h func(*Call, Req) (any, error)) Handler {
	return func(c *Call) (any, error) {
		var req Req
		if err := decode(c.Body, &req); err != nil {
			return nil, err
		}
		return h(c, req)
	}
}

// undecodedError is the error of a body that its route cannot decode.
type undecodedError struct{ err error }

// Undecoded marks the error of a body that cannot be decoded.
func Undecoded(err error) error { return &undecodedError{err} }

func (e *undecodedError) Error() string { return e.err.Error() }
func (e *undecodedError) Unwrap() error { return e.err }

func decode(body []byte, v any) error {
	if err := wire.Decode(body, v); err != nil {
		return &undecodedError{err}
	}
	return nil
}

// strangerWait limits how long the rest of a request with a refused key is read: long enough for the client to read
// the answer.
const strangerWait = time.Second

// route is the handler of one pattern.
type route struct {
	edge    *Edge
	pattern string
	kind    bodyKind
	serve   Handler
	fail    Failure
	tenant  func(*http.Request) string
}

// ServeHTTP implements http.Handler.
func (h *route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	c := &Call{Ctx: r.Context(), W: w, R: r}
	v, err := h.enter(c)
	code := http.StatusOK
	switch {
	case errors.Is(err, ErrAnswered):
	case err != nil && r.Context().Err() != nil && CodeOf(err) != http.StatusRequestTimeout:
		// a read that timed out ends the context too
		code = clientGone
	case err != nil:
		code = h.fail(w, r, err)
	default:
		Reply(w, http.StatusOK, v)
	}
	if c.Tenant == "" { // the server reads the rest of an unauthenticated request, but not for long
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(strangerWait))
	}
	h.edge.meter.Request(h.pattern, code, time.Since(start))
	h.edge.life.Log.Debug("request", "method", r.Method, "path", r.URL.Path, "status", code, "seconds",
		time.Since(start).Seconds())
}

// enter checks the key before anything else of a request is read.
func (h *route) enter(c *Call) (any, error) {
	s, kind := h.edge, h.kind
	if c.Tenant = h.tenant(c.R); c.Tenant == "" {
		c.W.Header().Set("Connection", "close") // so that the body is not read
		return nil, s.NoKey()
	}
	s.meter.Called(c.Tenant, s.life.Now())
	c.share = s.Bodies.Budget().Share(c.Tenant)
	defer c.share.Release()
	c.Ctx = web.WithShare(c.Ctx, c.share)
	err := s.read(c, kind)
	if err == nil {
		err = s.weigh(c, kind)
	}
	var v any
	if err == nil {
		v, err = h.serve(c)
	}
	if kind.training() && unreadable(err) {
		return s.Refuse(c, kind.Proto(c.R), err)
	}
	return v, err
}

// NoKey answers requests without a valid key.
func (s *Edge) NoKey() error {
	if s.Keyed() {
		return Status(http.StatusUnauthorized,
			"the key in %s, or in Authorization as Bearer, is missing, unknown or revoked; ask for one "+
				"(trinity serve key add)", wire.HeaderKey)
	}
	return Status(http.StatusUnauthorized, "send a key that begins with tml- in %s; any will do here", wire.HeaderKey)
}

// unreadable reports whether an error means that a request can never be decoded.
func unreadable(err error) bool {
	var se *StatusError
	var undecoded *undecodedError
	return errors.Is(err, wire.ErrMalformed) || errors.As(err, &undecoded) ||
		errors.As(err, &se) && se.Status == http.StatusRequestEntityTooLarge
}

// Busy is the error of a request above the limit of pending work.
func Busy(c *Call, what string) error {
	code := http.StatusServiceUnavailable
	if c.R.Header.Get(wire.HeaderBackpressure) != "" {
		code = http.StatusTooManyRequests // such a client retries it later
	}
	return StatusAfter(code, fmt.Errorf("%s; send this one again later", what), time.Second)
}

// Answered returns the result of a handler that has written its answer unless there was an error.
func Answered(err error) (any, error) {
	if err == nil {
		err = ErrAnswered
	}
	return nil, err
}

// Page reads limit and offset of a list.
func Page(c *Call, limit int) (wire.Cursor, error) {
	p := wire.Cursor{Limit: limit}
	for name, to := range map[string]*int{"limit": &p.Limit, "offset": &p.Offset} {
		text := c.R.URL.Query().Get(name)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return p, tinker.Userf("%s is %q; it must be a number of 0 or more", name, text)
		}
		*to = n
	}
	return p, nil
}

// Cut returns the page of a list.
func Cut[T any](p *wire.Cursor, list []T) []T {
	p.TotalCount = len(list)
	from := min(p.Offset, len(list))
	return list[from : from+min(p.Limit, len(list)-from)] // not from+Limit, which may overflow
}
