package server

import (
	"context"
	"errors"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// sampled is a service whose weights are read for sampling.
type sampled interface {
	SamplingClient(ctx context.Context, req tinker.SamplingClientRequest) (tinker.SamplingClient, error)
	EvictOldest() (bool, error)
}

// weights opens weights for sampling and closes those that are idle, when they have been so for long or when others
// need the memory.
type weights struct {
	state   *store // its lock guards lent
	life    *life
	backend sampled
	idle    time.Duration // 0: until others need the memory

	lent map[lentKey]*lentWeights // of requests without a sampling session
}

// lentKey names weights that requests without a sampling session use. seq distinguishes the checkpoints that had the
// same path.
type lentKey struct {
	tenant, base, path string
	seq                int64
}

// lentWeights is a client that requests share. the store's mutex guards it.
type lentWeights struct {
	client tinker.SamplingClient
	busy   int // requests that use it
	used   time.Time
}

// maxIdleWeights is the number of checkpoints whose weights stay open without requests. They are closed earlier when
// memory is needed.
const maxIdleWeights = 16

// lend returns a client for weights, which stay open until release is called.
func (s *weights) lend(ctx context.Context, key lentKey) (client tinker.SamplingClient, release func(), err error) {
	if l := s.borrow(key); l != nil {
		return l.client, func() { s.giveBack(key, l) }, nil
	}
	req := tinker.SamplingClientRequest{ModelPath: key.path, Owner: key.tenant}
	if key.path == "" {
		req.BaseModel = key.base
	}
	client, err = s.client(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	s.state.Lock()
	defer s.state.Unlock()
	l := s.lent[key]
	if l == nil {
		l = &lentWeights{client: client}
		s.lent[key] = l
	} else {
		closeClient(client) // a concurrent request was faster
	}
	l.busy++
	return l.client, func() { s.giveBack(key, l) }, nil
}

// borrow returns an open client; nil if there is none.
func (s *weights) borrow(key lentKey) *lentWeights {
	s.state.Lock()
	defer s.state.Unlock()
	l := s.lent[key]
	if l != nil {
		l.busy++
	}
	return l
}

// giveBack ends a request's use of a client. Idle clients of base models are not kept: the backend keeps the weights.
func (s *weights) giveBack(key lentKey, l *lentWeights) {
	s.state.Lock()
	defer s.state.Unlock()
	l.busy--
	l.used = s.life.now()
	if l.busy == 0 && key.path == "" {
		s.drop(key)
	}
	for s.idleWeights() > maxIdleWeights {
		s.drop(*s.oldestIdle())
	}
}

// start closes the weights of samplers and checkpoints that no request has used for the idle time, until the server
// closes. Base models and training runs have idle times of their own, in the backend.
func (s *weights) start() {
	if s.idle > 0 {
		s.life.every(max(s.idle/8, min(s.idle, 10*time.Second)), func() { s.closeIdle(s.life.now().Add(-s.idle)) })
	}
}

// closeIdle closes the weights that were not used after that time.
func (s *weights) closeIdle(since time.Time) {
	s.state.Lock()
	defer s.state.Unlock()
	for _, p := range s.state.samplers {
		if p.busy == 0 && p.client != nil && !p.used.After(since) {
			p.forget() // its weights are read again when they are needed
		}
	}
	for key, l := range s.lent {
		if l.busy == 0 && !l.used.After(since) {
			s.drop(key)
		}
	}
}

// lentUntil is when the tenant's checkpoints that requests without a sampling session use leave memory, by path; zero
// is not before others need it.
func (s *weights) lentUntil(tenant string) map[string]time.Time {
	s.state.Lock()
	defer s.state.Unlock()
	until := map[string]time.Time{}
	for key, l := range s.lent {
		switch {
		case key.tenant != tenant || key.path == "":
		case s.idle <= 0:
			until[key.path] = time.Time{}
		case l.busy > 0:
			until[key.path] = s.life.now().Add(s.idle)
		default:
			until[key.path] = l.used.Add(s.idle)
		}
	}
	return until
}

// unload closes a client that no request uses.
func (s *weights) unload(key lentKey) {
	s.state.Lock()
	defer s.state.Unlock()
	if l := s.lent[key]; l != nil && l.busy == 0 {
		s.drop(key)
	}
}

// drop closes an idle client; the store is locked.
func (s *weights) drop(key lentKey) {
	closeClient(s.lent[key].client)
	delete(s.lent, key)
}

// idleWeights counts the idle clients; the store is locked.
func (s *weights) idleWeights() (n int) {
	for _, l := range s.lent {
		if l.busy == 0 {
			n++
		}
	}
	return n
}

// oldestIdle is the least recently used idle client; nil if there is none. The store is locked.
func (s *weights) oldestIdle() (oldest *lentKey) {
	for key, l := range s.lent {
		if l.busy == 0 && (oldest == nil || l.used.Before(s.lent[*oldest].used)) {
			oldest = &key
		}
	}
	return oldest
}

// client opens weights. When they do not fit into memory, the least recently used ones are released.
func (s *weights) client(ctx context.Context, req tinker.SamplingClientRequest) (tinker.SamplingClient, error) {
	client, err := s.backend.SamplingClient(ctx, req)
	for errors.Is(err, tinker.ErrBusy) && s.Free() {
		client, err = s.backend.SamplingClient(ctx, req)
	}
	return client, err
}

// Free releases unused memory, weights before training runs, and reports whether there was any.
func (s *weights) Free() bool {
	if s.Forget() {
		return true
	}
	done, err := s.backend.EvictOldest()
	if err != nil && s.life.ctx.Err() == nil {
		s.life.log.Error("making room in memory", "error", err)
	}
	return done
}

// Forget closes the least recently used idle client, of a sampler or lent, and reports whether there was one.
// Its weights are read again when they are needed.
func (s *weights) Forget() bool {
	s.state.Lock()
	defer s.state.Unlock()
	var oldest *sampler
	for _, p := range s.state.samplers {
		if p.client != nil && p.busy == 0 && (oldest == nil || p.used.Before(oldest.used)) {
			oldest = p
		}
	}
	lent := s.oldestIdle()
	switch {
	case lent != nil && (oldest == nil || s.lent[*lent].used.Before(oldest.used)):
		s.drop(*lent)
	case oldest != nil:
		oldest.forget()
	default:
		return false
	}
	return true
}
