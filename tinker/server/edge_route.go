package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/web"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// call is one HTTP request of an authenticated tenant.
type call struct {
	ctx    context.Context
	tenant string
	w      http.ResponseWriter
	r      *http.Request
	body   []byte
	share  *web.Share // its memory in the budget of requests in flight
	weight int64      // bytes that the body takes when it is decoded
}

// errAnswered is returned by handlers that have written their answer themselves.
var errAnswered = errors.New("answered")

// statusError is an error with its HTTP status.
type statusError = web.Problem

func status(code int, format string, args ...any) error { return web.Problemf(code, format, args...) }

// statusAfter is an error that asks the client to wait so long before it sends the request again.
func statusAfter(code int, err error, wait time.Duration) error {
	return &statusError{Status: code, Err: err, After: wait}
}

// clientGone is the status in metrics of requests whose client has disconnected.
const clientGone = 499

// router is a mux that knows its patterns.
type router struct {
	*http.ServeMux
	patterns []string
}

// Handle registers a handler.
func (m *router) Handle(pattern string, h http.Handler) {
	m.patterns = append(m.patterns, pattern)
	m.ServeMux.Handle(pattern, h)
}

// HandleFunc registers a handler that authenticates by itself, or needs no key.
func (m *router) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	m.Handle(pattern, http.HandlerFunc(h))
}

// handler answers a request whose body was read. What it returns is sent as JSON.
type handler = func(*call) (any, error)

// decoded reads the JSON body for a handler.
func decoded[Req any](h func(*call, Req) (any, error)) handler {
	return func(c *call) (any, error) {
		var req Req
		if err := decode(c.body, &req); err != nil {
			return nil, err
		}
		return h(c, req)
	}
}

// undecodedError is the error of a body that its route cannot decode.
type undecodedError struct{ err error }

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
	edge    *edge
	pattern string
	kind    bodyKind
	serve   handler
	fail    failure
	tenant  func(*http.Request) string
}

// ServeHTTP implements http.Handler.
func (h *route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	c := &call{ctx: r.Context(), w: w, r: r}
	v, err := h.enter(c)
	code := http.StatusOK
	switch {
	case errors.Is(err, errAnswered):
	case err != nil && r.Context().Err() != nil && codeOf(err) != http.StatusRequestTimeout:
		// a read that timed out ends the context too
		code = clientGone
	case err != nil:
		code = h.fail(w, r, err)
	default:
		reply(w, http.StatusOK, v)
	}
	if c.tenant == "" { // the server reads the rest of an unauthenticated request, but not for long
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(strangerWait))
	}
	h.edge.meter.Request(h.pattern, code, time.Since(start))
	h.edge.life.log.Debug("request", "method", r.Method, "path", r.URL.Path, "status", code, "seconds",
		time.Since(start).Seconds())
}

// enter checks the key before anything else of a request is read.
func (h *route) enter(c *call) (any, error) {
	s, kind := h.edge, h.kind
	if c.tenant = h.tenant(c.r); c.tenant == "" {
		c.w.Header().Set("Connection", "close") // so that the body is not read
		return nil, s.noKey()
	}
	s.meter.Called(c.tenant, s.life.now())
	c.share = s.bodies.Budget().Share(c.tenant)
	defer c.share.Release()
	c.ctx = web.WithShare(c.ctx, c.share)
	err := s.read(c, kind)
	if err == nil {
		err = s.weigh(c, kind)
	}
	var v any
	if err == nil {
		v, err = h.serve(c)
	}
	if kind.training() && unreadable(err) {
		return s.refuse(c, kind.proto(c.r), err)
	}
	return v, err
}

// noKey answers requests without a valid key.
func (s *edge) noKey() error {
	if s.keyed() {
		return status(http.StatusUnauthorized,
			"the key in %s, or in Authorization as Bearer, is missing, unknown or revoked; ask for one "+
				"(trinity serve key add)", wire.HeaderKey)
	}
	return status(http.StatusUnauthorized, "send a key that begins with tml- in %s; any will do here", wire.HeaderKey)
}

// unreadable reports whether an error means that a request can never be decoded.
func unreadable(err error) bool {
	var se *statusError
	var undecoded *undecodedError
	return errors.Is(err, wire.ErrMalformed) || errors.As(err, &undecoded) ||
		errors.As(err, &se) && se.Status == http.StatusRequestEntityTooLarge
}

// busy is the error of a request above the limit of pending work.
func busy(c *call, what string) error {
	code := http.StatusServiceUnavailable
	if c.r.Header.Get(wire.HeaderBackpressure) != "" {
		code = http.StatusTooManyRequests // such a client retries it later
	}
	return statusAfter(code, fmt.Errorf("%s; send this one again later", what), time.Second)
}

// answered is what a handler returns that has written its answer unless there was an error.
func answered(err error) (any, error) {
	if err == nil {
		err = errAnswered
	}
	return nil, err
}
