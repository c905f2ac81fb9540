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
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker"
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
	*edge
	opts      Options
	backend   Backend
	state     *store
	life      *life
	stats     *stats
	capacity  *capacity
	tickets   *signer
	names     *baseModels
	sessions  *sessions
	saved     *checkpoints
	weights   *weights
	recorder  *recorder
	samplers  *samplers
	runs      *runs
	futures   *futures
	endpoints *endpoints
}

// Open reads the server's log and resumes what an earlier process accepted: it opens or creates the models, and draws
// unfinished samples again from their seeds.
func Open(ctx context.Context, b Backend, opts Options) (*Server, error) {
	opts.defaults()
	s := &Server{opts: opts, backend: b, stats: newStats(), life: newLife(ctx, opts.Now, opts.Log)}
	var err error
	if err := disk.MkdirAll(opts.fs, opts.Dir); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if s.tickets, err = openSigner(opts.fs, filepath.Join(opts.Dir, "secret")); err != nil {
		return nil, err
	}
	if s.state, err = openStore(opts.Dir, opts.fs, s.life,
		func(took time.Duration) { s.stats.synced("server", took) }); err != nil {
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
	s.edge = newEdge(o.Access, o.Bodies, s.life, s.stats)
	s.capacity = newCapacity(o.Queues, s.life, o.Dir,
		func() error { return errors.Join(s.state.log.Heal(), b.Heal()) }, engine, s.stats.full)
	s.names = &baseModels{Models: o.Models, life: s.life, edge: s.edge, able: b.Capabilities}
	s.sessions = &sessions{state: s.state, life: s.life, capacity: s.capacity, names: s.names, evict: b.Evict,
		keep: o.Keep.Sessions}
	s.saved = &checkpoints{state: s.state, life: s.life, tickets: s.tickets, edge: s.edge, store: o.Store,
		remove: b.DeleteCheckpoint}
	s.weights = &weights{state: s.state, life: s.life, backend: b, idle: o.Idle, lent: map[lentKey]*lentWeights{}}
	s.recorder = &recorder{state: s.state, life: s.life, keep: o.Keep}
	s.samplers = &samplers{state: s.state, life: s.life, stats: s.stats, capacity: s.capacity, tickets: s.tickets,
		names: s.names, saved: s.saved, weights: s.weights, recorder: s.recorder, store: o.Store, keep: o.Keep}
	s.runs = &runs{state: s.state, life: s.life, stats: s.stats, capacity: s.capacity, tickets: s.tickets,
		names: s.names, saved: s.saved, samplers: s.samplers, memory: s.weights, recorder: s.recorder, backend: b,
		sized: sized, gapAfter: o.GapAfter, maxMissing: o.MaxMissing}
	s.futures = &futures{state: s.state, life: s.life, capacity: s.capacity, tickets: s.tickets, edge: s.edge,
		runs: s.runs, samplers: s.samplers, hold: o.Hold}
	s.endpoints = &endpoints{life: s.life, stats: s.stats, edge: s.edge, names: s.names, saved: s.saved,
		weights: s.weights, store: o.Store}
	s.edge.refuse, s.edge.fallback = s.runs.refuseTraining, s.endpoints.fail
}

// resume continues unfinished work.
func (s *Server) resume() {
	s.state.Lock()
	defer s.state.Unlock()
	s.state.touch()
	models := s.state.modelsInOrder()
	s.life.begin(func() { s.runs.remake(models) })
	s.samplers.resume()
	s.life.every(retentionPeriod, s.retain)
	s.weights.start()
}

// Fsynced records a group commit of the Backend's log.
func (s *Server) Fsynced(took time.Duration) { s.stats.synced("journal", took) }

// Release answers every request that waits for a result with try_again, and accepts nothing new, so that an HTTP
// server can shut down.
func (s *Server) Release() { s.life.release() }

// Close ends the samples in progress, which the next process draws again, and closes the log. Requests that are still
// being handled or arrive later are asked to retry.
func (s *Server) Close() error {
	s.Release()
	s.state.stopTimers()
	s.life.end()
	return s.state.log.Close()
}
