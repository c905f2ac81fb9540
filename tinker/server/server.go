// Package server serves any durable tinker.Service over the HTTP protocol of Tinker, so that the unmodified Python
// SDK, the tinker command and this project's own client train and sample here as they do on the hosted service.
//
// The life of a request: Host and Origin are checked (edge.go). The route (route.go) finds the tenant by the hash of
// the API key (auth.go) and decodes the body. A training request (train.go) goes to the Backend, which makes it
// durable. A session, a sampler or a sample (session.go, sampler.go, sample.go) is written to the server's own log
// (state.go). Only then is the promise returned. Its request id is a signed key, so that retrieve_future (future.go)
// finds the result after a restart too. The server waits for results without polling.
//
// Another tenant's resources return 404.
//
// Logprobs of samples are those of the model's own distribution at temperature 1. Telemetry of the SDK is accepted
// and dropped. What a server on one machine does not offer (billing, audit, projects, traces) is refused with an
// error that names it (refuse.go).
package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/wal"
	"github.com/seed-d9ad8ee0/trinity/internal/web"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// Backend is the durable service behind a server, such as journal.Journal.
type Backend interface {
	tinker.Service
	tinker.Unloader
	// OpenModel returns the client of an existing model; for any other id the error is ErrNotFound.
	OpenModel(ctx context.Context, modelID string) (tinker.TrainingClient, error)
	// Accepted reports whether a training request was accepted, also in an earlier process.
	Accepted(modelID string, seqID int64) bool
	// Evict evicts a model without pending requests from memory; its next request restores it.
	Evict(modelID string) error
	// EvictOldest is Evict of the least recently used model; false means that there is none.
	EvictOldest() (bool, error)
	// Heal returns nil when requests can be made durable. After a failed write it tries again.
	Heal() error
	// Lookup finds an accepted training request, also of an earlier process. future is a *tinker.Future of its result,
	// nil when the result is no longer kept.
	Lookup(modelID string, seqID int64) (future any, accepted bool)
}

// Store lists and reads what the Backend saved, such as engine.Engine.
type Store interface {
	Checkpoints(ctx context.Context) ([]tinker.Checkpoint, error)
	Checkpoint(path string) (tinker.Checkpoint, error)
	// Folder returns the folder of a checkpoint's files, for reading.
	Folder(path string) (string, error)
}

// Exporter is a Store that exports some files of a checkpoint in another form than they are saved in, such as
// engine.Engine.
type Exporter interface {
	Export(path string) ([]tinker.ExportFile, error)
}

// Server is an http.Handler. Open creates one and Close ends it. The caller closes the Backend.
type Server struct {
	backend  Backend
	opts     Options
	secret   []byte // signs request ids and archive addresses
	mux      *router
	stats    *serverMetrics
	activity *activity
	hider    *strings.Replacer

	bodies *web.Bodies // of requests in flight

	ctx    context.Context // ends with Close
	cancel context.CancelCauseFunc
	work   goroutines

	training  *quota // pending training requests
	sampling  *quota // unfinished samples
	listening *quota // calls that wait for a result

	texts  modelTexts
	traced traceStore

	mu    sync.Mutex
	log   *wal.Log
	state serverState
	free  freeSpace

	listed time.Time                // when retention last listed all checkpoints; its alone
	lent   map[lentKey]*lentWeights // weights of requests without a sampling session
}

// Open reads the server's log and resumes what an earlier process accepted: it opens or creates the models, and draws
// unfinished samples again from their seeds.
func Open(ctx context.Context, b Backend, opts Options) (*Server, error) {
	opts.defaults()
	s := &Server{backend: b, opts: opts, stats: newStats(), activity: newActivity(), hider: hider(opts.Private),
		state: newState(), lent: map[lentKey]*lentWeights{}, bodies: web.NewBodies(web.BodyOptions{
			Most: opts.MaxBodies, Tenant: opts.MaxTenantBodies, Unpack: opts.MaxUnpack, Malformed: wire.ErrMalformed})}
	s.training = newQuota("training requests", math.MaxInt32, opts.MaxQueuedBytes) // package engine bounds their number
	s.sampling = newQuota("samples", opts.MaxSamples, opts.MaxSampleBytes)
	s.listening = newQuota("calls", opts.MaxListening, math.MaxInt64/2)
	s.stats.watch(s)
	s.ctx, s.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	var err error
	if err := disk.MkdirAll(opts.fs, opts.Dir); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if s.secret, err = readSecret(opts.fs, filepath.Join(opts.Dir, "secret")); err != nil {
		return nil, err
	}
	s.state.firstEnd = opts.Now().UnixMicro()
	if s.log, err = wal.Open(filepath.Join(opts.Dir, logName), s.logOptions(), s.state.replay); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	s.mux = s.routes()
	s.resume()
	return s, nil
}

// logOptions are those of the server's log.
func (s *Server) logOptions() wal.Options {
	return wal.Options{FS: s.opts.fs, Notice: func(msg string) { s.opts.Log.Warn(msg) },
		Synced: func(d time.Duration) { s.stats.fsync.WithLabelValues("server").Observe(d.Seconds()) }}
}

// readSecret returns the key that signs ids. The first start draws it.
func readSecret(dfs disk.FS, path string) ([]byte, error) {
	secret, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		secret = make([]byte, 32)
		rand.Read(secret) // never fails
		return secret, disk.WriteFile(dfs, path, secret)
	}
	if err == nil && len(secret) != 32 {
		err = fmt.Errorf("%s has %d bytes, not 32; restore it from a backup, or remove it (ids given out so far are "+
			"then unknown)", path, len(secret))
	}
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	return secret, nil
}

// resume continues unfinished work.
func (s *Server) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.state.sessions {
		u.seen = s.opts.Now() // its last heartbeat is not in the log
	}
	for _, p := range s.state.samplers {
		p.used = s.opts.Now() // likewise
	}
	for _, r := range s.state.recorded.of {
		r.used = s.opts.Now() // its last use is not in the log
	}
	models := s.state.modelsInOrder()
	s.work.begin(func() { s.remake(models) })
	for _, p := range s.state.samples {
		if p.finished.IsZero() {
			p.size = int64(len(p.raw))
			p.tenant = s.state.tenantOf(p.Sampler)
			s.sampling.take(p.tenant, p.size)
			s.draw(p)
		}
	}
	s.resumeKept()
	s.work.begin(s.runRetention)
	if s.opts.Idle > 0 {
		s.work.begin(s.runIdle)
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.letIn(w, r) {
		s.mux.ServeHTTP(w, r)
	}
}

// Release answers every request that waits for a result with try_again, and accepts nothing new, so that an HTTP
// server can shut down.
func (s *Server) Release() { s.cancel(fmt.Errorf("server: %w", tinker.ErrClosed)) }

// Close ends the samples in progress, which the next process draws again, and closes the log. Requests that are still
// being handled or arrive later are asked to retry.
func (s *Server) Close() error {
	s.Release()
	s.mu.Lock()
	s.state.stopTimers()
	s.mu.Unlock()
	s.work.end()
	return s.log.Close()
}
