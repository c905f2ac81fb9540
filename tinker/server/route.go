package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// call is one request that is let in.
type call struct {
	ctx    context.Context
	tenant string
	w      http.ResponseWriter
	r      *http.Request
	body   []byte
}

// errAnswered is returned by handlers that have written their answer themselves.
var errAnswered = errors.New("answered")

// statusError is an error with the HTTP status it is answered with.
type statusError struct {
	code  int
	err   error
	after time.Duration // Retry-After; 0 is none
}

func (e *statusError) Error() string { return e.err.Error() }
func (e *statusError) Unwrap() error { return e.err }

func status(code int, format string, args ...any) error {
	return &statusError{code: code, err: fmt.Errorf(format, args...)}
}

// clientGone is the status under which requests are counted whose client has hung up.
const clientGone = 499

// routes is the table of everything that is served.
func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	on := func(pattern string, h func(*call) (any, error)) {
		mux.Handle(pattern, s.handler(pattern, h))
	}
	const v1 = wire.Prefix
	mux.HandleFunc("GET "+v1+"/healthz", s.health)
	mux.HandleFunc("GET /healthz", s.health)
	mux.HandleFunc("GET "+v1+"/archive/{token}", s.download)
	mux.HandleFunc("GET /metrics", s.metrics)
	on("POST "+v1+"/client/config", s.clientConfig)
	on("POST "+v1+"/client/dynamic_config", s.dynamicConfig)
	on("POST "+v1+"/telemetry", s.telemetry)
	on("POST "+v1+"/create_session", decoded(s.createSession))
	on("POST "+v1+"/session_heartbeat", decoded(s.heartbeat))
	on("POST "+v1+"/create_model", decoded(s.createModel))
	on("POST "+v1+"/get_info", decoded(s.getInfo))
	on("POST "+v1+"/unload_model", decoded(s.unloadModel))
	on("POST "+v1+"/forward_backward", s.forwardBackward)
	on("POST "+v1+"/forward", s.forwardBackward)
	on("POST "+v1+"/optim_step", numbered(s, s.optimStep))
	on("POST "+v1+"/save_weights", numbered(s, s.saveWeights))
	on("POST "+v1+"/save_weights_for_sampler", numbered(s, s.saveForSampler))
	on("POST "+v1+"/save_weights_external", numbered(s, s.saveExternal))
	on("POST "+v1+"/load_weights", numbered(s, s.loadWeights))
	on("POST "+v1+"/create_sampling_session", decoded(s.createSampler))
	on("GET "+v1+"/samplers/{id}", s.getSampler)
	on("POST "+v1+"/asample", s.sample)
	on("POST "+v1+"/retrieve_future", decoded(s.retrieve))
	on("POST "+v1+"/retrieve_futures", decoded(s.retrieveMany))
	on("POST "+v1+"/cancel_future", decoded(s.cancelFuture))
	on("POST "+v1+"/join_sampling_session", decoded(s.joinSampler))
	on("GET "+v1+"/get_server_capabilities", s.capabilities)
	on("POST "+v1+"/weights_info", decoded(s.weightsInfo))
	on("GET "+v1+"/training_runs", s.listRuns)
	on("GET "+v1+"/training_runs/{run}", s.getRun)
	on("GET "+v1+"/training_runs/{run}/checkpoints", s.runCheckpoints)
	const one = v1 + "/training_runs/{run}/checkpoints/{kind}/{name}"
	on("DELETE "+one, s.deleteCheckpoint)
	on("GET "+one+"/archive", s.archiveURL)
	on("GET "+one+"/external_weights_urls", s.externalURLs)
	on("POST "+one+"/publish", s.publish)
	on("DELETE "+one+"/publish", s.unpublish)
	on("PUT "+one+"/ttl", decoded(s.setTTL))
	const bare = v1 + "/training_runs/{run}/checkpoints/{name}"
	on("DELETE "+bare, s.bareID)
	on("GET "+bare+"/archive", s.bareID)
	on("GET "+v1+"/checkpoints", s.listCheckpoints)
	on("GET "+v1+"/sessions", s.listSessions)
	on("GET "+v1+"/sessions/{id}", s.getSession)
	on("POST "+v1+"/sessions/{id}/finish", decoded(s.finishSession))
	for pattern, reason := range refusals() {
		on(pattern, refuse(reason))
	}
	other := s.handler("other", s.unknown)
	mux.HandleFunc("GET /api/models/{repo...}", s.describe)
	mux.HandleFunc("GET /{path...}", func(w http.ResponseWriter, r *http.Request) { s.resolve(w, r, other) })
	mux.Handle("/", other)
	return mux
}

// decoded reads the JSON body for a handler.
func decoded[Req any](h func(*call, Req) (any, error)) func(*call) (any, error) {
	return func(c *call) (any, error) {
		var req Req
		if err := wire.Decode(c.body, &req); err != nil {
			return nil, err
		}
		return h(c, req)
	}
}

// numbered is decoded for requests of a model's queue: one whose contents are wrong uses its number up, so that later
// ones run.
func numbered[Req wire.Numbered](s *Server, h func(*call, Req) (any, error)) func(*call) (any, error) {
	return func(c *call) (any, error) {
		var req Req
		err := wire.Decode(c.body, &req)
		if err == nil {
			return h(c, req)
		}
		id, seq := req.Number()
		if errors.Is(err, wire.ErrMalformed) || id == "" || seq < 1 {
			return nil, err
		}
		m, missing := s.trainer(c, id)
		if missing != nil {
			return nil, missing
		}
		return s.reject(m, seq, err)
	}
}

// handler lets a request in, reads its body, and writes what h returns.
func (s *Server) handler(pattern string, h func(*call) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		c := &call{ctx: r.Context(), w: w, r: r}
		v, err := s.enter(c, h)
		code := http.StatusOK
		switch {
		case errors.Is(err, errAnswered):
		case err != nil && r.Context().Err() != nil:
			code = clientGone
		case err != nil:
			code = s.fail(w, r, err)
		default:
			reply(w, http.StatusOK, v)
		}
		s.stats.request(pattern, code, time.Since(start))
		s.opts.Log.Debug("request", "method", r.Method, "path", r.URL.Path, "status", code, "seconds", time.Since(start).Seconds())
	})
}

func (s *Server) enter(c *call, h func(*call) (any, error)) (any, error) {
	if c.tenant = s.authenticate(c.r); c.tenant == "" {
		return nil, s.noKey()
	}
	var err error
	if c.body, err = s.read(c.w, c.r); err != nil {
		return nil, err
	}
	return h(c)
}

// noKey turns away who is not let in.
func (s *Server) noKey() error {
	if s.opts.Keys != nil {
		return status(http.StatusUnauthorized, "the key in %s is missing, unknown or revoked; ask for one (trinity serve key add)", wire.HeaderKey)
	}
	return status(http.StatusUnauthorized, "send a key that begins with tml- in %s; any will do here", wire.HeaderKey)
}

// read returns the body, unpacked, within the bound.
func (s *Server) read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.Body == nil || r.Method == http.MethodGet {
		return nil, nil
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.opts.MaxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, s.tooLarge()
	case err != nil:
		return nil, status(http.StatusBadRequest, "reading the body: %w", err)
	}
	switch enc := r.Header.Get("Content-Encoding"); enc {
	case "", "identity":
		return raw, nil
	case "zstd":
		return s.inflate(raw)
	default:
		return nil, status(http.StatusUnsupportedMediaType, "content encoding %q; send zstd or none", enc)
	}
}

// newInflater makes a decoder that runs in its caller's goroutine, within the bound.
func newInflater(limit int64) *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(limit)), zstd.WithDecoderLowmem(true))
	if err != nil {
		panic(err) // the options are constants but for a positive limit
	}
	return d
}

// inflate unpacks zstd; what a frame says about its size is not believed.
func (s *Server) inflate(raw []byte) ([]byte, error) {
	d := s.inflaters.Get().(*zstd.Decoder)
	defer s.inflaters.Put(d)
	if err := d.Reset(bytes.NewReader(raw)); err != nil {
		return nil, status(http.StatusBadRequest, "zstd body: %w", err)
	}
	out, err := io.ReadAll(io.LimitReader(d, s.opts.MaxBody+1))
	if int64(len(out)) > s.opts.MaxBody || errors.Is(err, zstd.ErrDecoderSizeExceeded) || errors.Is(err, zstd.ErrWindowSizeExceeded) {
		return nil, s.tooLarge()
	}
	if err != nil {
		return nil, status(http.StatusBadRequest, "zstd body: %w", err)
	}
	return out, nil
}

func (s *Server) tooLarge() error {
	return status(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes; send smaller batches", s.opts.MaxBody)
}

// fail writes an error and returns its status.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) int {
	code := codeOf(err)
	var se *statusError
	if errors.As(err, &se) && se.after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(se.after.Seconds())))
	}
	if code >= 500 {
		s.opts.Log.Error("request failed", "path", r.URL.Path, "status", code, "error", err)
	}
	reply(w, code, wire.Detail{Detail: s.hide(err.Error())})
	return code
}

// codeOf maps errors to statuses. There is no 409: the SDK would send the request again for five minutes.
func codeOf(err error) int {
	var se *statusError
	switch {
	case errors.As(err, &se):
		return se.code
	case errors.Is(err, tinker.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, tinker.ErrClosed), errors.Is(err, context.Canceled):
		return http.StatusServiceUnavailable
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return http.StatusInsufficientStorage
	case errors.Is(err, wire.ErrMalformed), tinker.CategoryOf(err) == tinker.User:
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

// reply writes JSON with its length: the SDK takes a 400 without one for a fault of the network.
func reply(w http.ResponseWriter, code int, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		code, raw = http.StatusInternalServerError, []byte(`{"detail":"the answer has no JSON"}`)
	}
	write(w, code, wire.JSON, raw)
}

func write(w http.ResponseWriter, code int, kind string, raw []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(raw)))
	w.WriteHeader(code)
	w.Write(raw)
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	if s.ctx.Err() != nil {
		reply(w, http.StatusServiceUnavailable, map[string]string{"status": "closing"})
		return
	}
	reply(w, http.StatusOK, map[string]string{"status": "ok"})
}

func (s *Server) unknown(c *call) (any, error) {
	return nil, status(http.StatusNotFound, "%s %s is not of the Tinker protocol this server speaks (below %s)", c.r.Method, c.r.URL.Path, wire.Prefix)
}
