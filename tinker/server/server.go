// Package server serves any durable tinker.Service over the HTTP protocol of Tinker, so that the unmodified Python
// SDK, the tinker command and this project's own client train and sample here as they do on the hosted service.
//
// A Server joins parts, which are packages below internal. The life of a request: edge checks Host and Origin, finds
// the tenant by the hash of the API key and decodes the body. training hands a training request to the Backend, which
// makes it durable. session and sampling write a session, a sampler or a sample to the server's own log, in state. Only
// then is the promise returned. Its request id is a signed ticket, so that future finds the result after a restart too.
// The server waits for results without polling.
//
// Another tenant's resources return 404.
//
// Samples have the logprobs of the model's own distribution at temperature 1. Telemetry of the SDK is accepted and
// dropped. A server on one machine has no billing and no audit: such requests are refused with an error that names the
// feature (routes.go).
package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/basemodel"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/capacity"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/checkpoint"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/edge"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/endpoints"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/future"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/life"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/sampling"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/session"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/state"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/stats"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/ticket"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/training"
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

// Server is an http.Handler. Open creates one and Close ends it. The caller closes the Backend.
type Server struct {
	edge      *edge.Edge
	opts      Options
	backend   Backend
	state     *state.Store
	life      *life.Life
	stats     *stats.Stats
	capacity  *capacity.Capacity
	tickets   *ticket.Signer
	names     *basemodel.Registry
	sessions  *session.Sessions
	saved     *checkpoint.Checkpoints
	weights   *sampling.Weights
	recorder  *sampling.Recorder
	samplers  *sampling.Samplers
	runs      *training.Runs
	futures   *future.Futures
	endpoints *endpoints.Endpoints
}

// Open reads the server's log and resumes what an earlier process accepted: it opens or creates the models, and draws
// unfinished samples again from their seeds.
func Open(ctx context.Context, b Backend, opts Options) (*Server, error) {
	opts.defaults()
	s := &Server{opts: opts, backend: b, stats: stats.New(), life: life.New(ctx, opts.Now, opts.Log)}
	var err error
	if err := disk.MkdirAll(opts.fs, opts.Dir); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if s.tickets, err = ticket.Open(opts.fs, filepath.Join(opts.Dir, "secret")); err != nil {
		return nil, err
	}
	if s.state, err = state.Open(opts.Dir, opts.fs, s.life,
		func(took time.Duration) { s.stats.Synced("server", took) }); err != nil {
		return nil, err
	}
	s.build()
	s.watch()
	s.routes()
	s.resume()
	return s, nil
}

// build makes the parts, each on those before it.
func (s *Server) build() {
	o, b := s.opts, s.backend
	engine, _ := o.Store.(tinker.Bounded)
	sized, _ := o.Store.(tinker.Sized)
	s.edge = edge.New(o.Access, o.Bodies, s.life, s.stats)
	s.capacity = capacity.New(o.Queues, s.life, o.Dir,
		func() error { return errors.Join(s.state.Log.Heal(), b.Heal()) }, engine, s.stats.Full)
	s.names = &basemodel.Registry{Models: o.Models, Life: s.life, Edge: s.edge, Able: b.Capabilities}
	s.saved = &checkpoint.Checkpoints{State: s.state, Life: s.life, Tickets: s.tickets, Edge: s.edge, Store: o.Store,
		Remove: b.DeleteCheckpoint}
	s.sessions = &session.Sessions{State: s.state, Life: s.life, Capacity: s.capacity, Names: s.names, Evict: b.Evict,
		Keep: o.Keep.Sessions, Tickets: s.tickets, Edge: s.edge, Saved: s.saved.List}
	s.weights = &sampling.Weights{State: s.state, Life: s.life, Backend: b, Idle: o.Idle,
		Lent: map[sampling.LentKey]*sampling.LentWeights{}}
	s.recorder = &sampling.Recorder{State: s.state, Life: s.life, Keep: o.Keep}
	s.samplers = &sampling.Samplers{State: s.state, Life: s.life, Stats: s.stats, Capacity: s.capacity,
		Tickets: s.tickets, Names: s.names, Saved: s.saved, Weights: s.weights, Recorder: s.recorder,
		Store: o.Store, Keep: o.Keep}
	s.runs = &training.Runs{State: s.state, Life: s.life, Stats: s.stats, Capacity: s.capacity, Tickets: s.tickets,
		Names: s.names, Saved: s.saved, Samplers: s.samplers, Memory: s.weights, Recorder: s.recorder, Backend: b,
		Sized: sized, GapAfter: o.GapAfter, MaxMissing: o.MaxMissing}
	s.futures = &future.Futures{State: s.state, Life: s.life, Capacity: s.capacity, Tickets: s.tickets, Edge: s.edge,
		Runs: s.runs, Samplers: s.samplers, Hold: o.Hold}
	s.endpoints = &endpoints.Endpoints{Life: s.life, Stats: s.stats, Edge: s.edge, Names: s.names, Saved: s.saved,
		Weights: s.weights, Store: o.Store}
	s.edge.Refuse, s.edge.Fallback = s.runs.RefuseTraining, s.endpoints.Fail
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.edge.ServeHTTP(w, r) }

// resume continues unfinished work.
func (s *Server) resume() {
	s.state.Lock()
	defer s.state.Unlock()
	s.state.Touch()
	models := s.state.ModelsInOrder()
	s.life.Begin(func() { s.runs.Remake(models) })
	s.samplers.Resume()
	s.runs.Republish()
	s.life.Every(retentionPeriod, s.retain)
	s.weights.Start()
}

// Fsynced records a group commit of the Backend's log.
func (s *Server) Fsynced(took time.Duration) { s.stats.Synced("journal", took) }

// Release answers every request that waits for a result with try_again, and accepts nothing new, so that an HTTP
// server can shut down.
func (s *Server) Release() { s.life.Release() }

// Close ends the samples in progress, which the next process draws again, and closes the log. Requests that are still
// being handled or arrive later are asked to retry.
func (s *Server) Close() error {
	s.Release()
	s.state.StopTimers()
	s.life.End()
	return s.state.Log.Close()
}

// retentionPeriod is the time between two rounds of retention.
const retentionPeriod = time.Minute

// retain removes expired data.
func (s *Server) retain() {
	if err := s.collect(); err != nil && !s.life.Closing() {
		s.life.Log.Error("server: removing expired data", "error", err)
	}
}

// collect is one round of retention: expired checkpoints, unused unnamed samplers, retrieved results, idle weights.
// It also rewrites the log if most of its records are obsolete.
func (s *Server) collect() error {
	errs := []error{s.saved.CollectCheckpoints(), s.samplers.CollectSamplers(), s.sessions.CollectSessions()}
	s.state.Lock()
	defer s.state.Unlock()
	s.samplers.ForgetSamples()
	s.recorder.ForgetRecordings()
	live := int64(0)
	for _, n := range s.state.Recorded.Bytes {
		live += 4 * n / 3 // base64
	}
	for _, p := range s.state.Samples {
		live += int64(len(p.Raw)+len(p.Result.Proto)) + 256
	}
	if size := s.state.Log.Size(); size > compactAt && size > 4*live {
		errs = append(errs, s.state.Compact())
	}
	return errors.Join(errs...)
}

// compactAt is the size of the log below which it is not rewritten, bytes.
const compactAt = 16 << 20
