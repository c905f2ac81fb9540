package server

import (
	"context"
	"errors"
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

// routes is the table of everything that is served.
func (s *Server) routes() *router {
	mux := &router{ServeMux: http.NewServeMux()}
	on := func(pattern string, kind bodyKind, h func(*call) (any, error)) {
		mux.Handle(pattern, s.handler(pattern, kind, h))
	}
	const v1 = wire.Prefix
	mux.HandleFunc("GET "+v1+"/healthz", s.health)
	mux.HandleFunc("GET /healthz", s.health)
	mux.HandleFunc("GET /health", s.health) // as vLLM and llama.cpp name it
	mux.HandleFunc("GET /version", s.version)
	mux.HandleFunc("GET "+v1+"/archive/{token}", s.download)
	mux.HandleFunc("GET /metrics", s.metrics)
	on("GET /tenants", noBody, s.tenants)
	on("POST "+v1+"/client/config", noBody, s.clientConfig)
	on("POST "+v1+"/client/dynamic_config", noBody, s.dynamicConfig)
	on("POST "+v1+"/telemetry", ignoredBody, s.telemetry)
	on("POST "+v1+"/create_session", smallBody, decoded(s.createSession))
	on("POST "+v1+"/session_heartbeat", smallBody, decoded(s.heartbeat))
	on("POST "+v1+"/create_model", smallBody, decoded(s.createModel))
	on("POST "+v1+"/get_info", smallBody, decoded(s.getInfo))
	on("POST "+v1+"/unload_model", smallBody, decoded(s.unloadModel))
	on("POST "+v1+"/forward_backward", largeTraining, s.forwardBackward)
	on("POST "+v1+"/forward", largeTraining, s.forwardBackward)
	on("POST "+v1+"/optim_step", smallTraining, decoded(s.optimStep))
	on("POST "+v1+"/save_weights", smallTraining, decoded(s.saveWeights))
	on("POST "+v1+"/save_weights_for_sampler", smallTraining, decoded(s.saveForSampler))
	on("POST "+v1+"/save_weights_external", smallTraining, decoded(s.saveExternal))
	on("POST "+v1+"/load_weights", smallTraining, decoded(s.loadWeights))
	on("POST "+v1+"/create_sampling_session", smallBody, decoded(s.createSampler))
	on("GET "+v1+"/samplers/{id}", noBody, s.getSampler)
	on("POST "+v1+"/asample", largeBody, s.sample)
	on("POST "+v1+"/retrieve_future", smallBody, decoded(s.retrieve))
	on("POST "+v1+"/retrieve_futures", smallBody, decoded(s.retrieveMany))
	on("POST "+v1+"/cancel_future", smallBody, decoded(s.cancelFuture))
	on("POST "+v1+"/join_sampling_session", smallBody, decoded(s.joinSampler))
	on("GET "+v1+"/get_server_capabilities", noBody, s.capabilities)
	on("POST "+v1+"/weights_info", smallBody, decoded(s.weightsInfo))
	on("GET "+v1+"/training_runs", noBody, s.listRuns)
	on("GET "+v1+"/training_runs/{run}", noBody, s.getRun)
	on("GET "+v1+"/training_runs/{run}/checkpoints", noBody, s.runCheckpoints)
	const one = v1 + "/training_runs/{run}/checkpoints/{kind}/{name}"
	on("DELETE "+one, noBody, s.deleteCheckpoint)
	on("GET "+one+"/archive", noBody, s.archiveURL)
	on("GET "+one+"/external_weights_urls", noBody, s.externalURLs)
	on("POST "+one+"/publish", noBody, s.publish)
	on("DELETE "+one+"/publish", noBody, s.unpublish)
	on("PUT "+one+"/ttl", smallBody, decoded(s.setTTL))
	const bare = v1 + "/training_runs/{run}/checkpoints/{name}"
	on("DELETE "+bare, noBody, s.bareID)
	on("GET "+bare+"/archive", noBody, s.bareID)
	on("GET "+v1+"/checkpoints", noBody, s.listCheckpoints)
	on("GET "+v1+"/sessions", noBody, s.listSessions)
	on("GET "+v1+"/sessions/{id}", noBody, s.getSession)
	on("POST "+v1+"/sessions/{id}/finish", smallBody, decoded(s.finishSession))
	for pattern, reason := range refusals() {
		on(pattern, noBody, refuse(reason))
	}
	s.openaiRoutes(mux)
	other := s.handlerFailing("other", noBody, s.unknown, s.failUnknown)
	mux.HandleFunc("GET /api/models/{repo...}", s.describe)
	mux.HandleFunc("GET /{path...}", func(w http.ResponseWriter, r *http.Request) { s.resolve(w, r, other) })
	mux.Handle("/", other)
	return mux
}

// decoded reads the JSON body for a handler.
func decoded[Req any](h func(*call, Req) (any, error)) func(*call) (any, error) {
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

// handler authenticates a request of the Tinker protocol, reads its body, and writes what h returns.
func (s *Server) handler(pattern string, kind bodyKind, h func(*call) (any, error)) http.Handler {
	return &route{s: s, pattern: pattern, kind: kind, serve: h, fail: s.fail, tenant: s.authenticate}
}

// handlerFailing is handler for another interface: fail writes its errors and returns their status, and where no key is
// required, callers without one are the tenant of localKey.
func (s *Server) handlerFailing(pattern string, kind bodyKind, h func(*call) (any, error),
	fail func(http.ResponseWriter, *http.Request, error) int) http.Handler {
	return &route{s: s, pattern: pattern, kind: kind, serve: h, fail: fail, tenant: s.authenticateLocal}
}

// route is the handler of one pattern.
type route struct {
	s       *Server
	pattern string
	kind    bodyKind
	serve   func(*call) (any, error)
	fail    func(http.ResponseWriter, *http.Request, error) int
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
	h.s.stats.request(h.pattern, code, time.Since(start))
	h.s.opts.Log.Debug("request", "method", r.Method, "path", r.URL.Path, "status", code, "seconds",
		time.Since(start).Seconds())
}

// enter checks the key before anything else of a request is read.
func (h *route) enter(c *call) (any, error) {
	s, kind := h.s, h.kind
	if c.tenant = h.tenant(c.r); c.tenant == "" {
		c.w.Header().Set("Connection", "close") // so that the body is not read
		return nil, s.noKey()
	}
	s.activity.request(c.tenant, s.opts.Now())
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
		return s.refuseTraining(c, kind, err)
	}
	return v, err
}

// noKey answers requests without a valid key.
func (s *Server) noKey() error {
	if s.keyed() {
		return status(http.StatusUnauthorized,
			"the key in %s, or in Authorization as Bearer, is missing, unknown or revoked; ask for one "+
				"(trinity serve key add)", wire.HeaderKey)
	}
	return status(http.StatusUnauthorized, "send a key that begins with tml- in %s; any will do here", wire.HeaderKey)
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	if s.ctx.Err() != nil {
		reply(w, http.StatusServiceUnavailable, map[string]string{"status": "closing"})
		return
	}
	if err := s.writable(); err != nil {
		reply(w, http.StatusServiceUnavailable, map[string]string{"status": err.Error()})
		return
	}
	reply(w, http.StatusOK, map[string]string{"status": "ok"})
}

func (s *Server) version(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, map[string]string{"version": s.opts.Version})
}
