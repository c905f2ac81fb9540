package sampling

import (
	"context"
	"errors"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/life"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/state"
)

// sampled is a service whose weights are read for sampling.
type sampled interface {
	SamplingClient(ctx context.Context, req tinker.SamplingClientRequest) (tinker.SamplingClient, error)
	EvictOldest() (bool, error)
}

// Weights opens weights for sampling and closes those that are idle, when they have been so for long or when others
// need the memory.
type Weights struct {
	State   *state.Store // its lock guards Lent
	Life    *life.Life
	Backend sampled
	Idle    time.Duration // 0: until others need the memory

	Lent map[LentKey]*LentWeights // of requests without a sampling session
}

// LentKey names weights that requests without a sampling session use. seq distinguishes the checkpoints that had the
// same path.
type LentKey struct {
	Tenant, Base, Path string
	Seq                int64
}

// LentWeights is a client that requests share. The store's mutex guards it.
type LentWeights struct {
	client tinker.SamplingClient
	busy   int // requests that use it
	used   time.Time
}

// maxIdleWeights is the number of checkpoints whose weights stay open without requests. They are closed earlier when
// memory is needed.
const maxIdleWeights = 16

// Lend returns a client for weights, which stay open until release is called.
func (s *Weights) Lend(ctx context.Context, key LentKey) (client tinker.SamplingClient, release func(), err error) {
	if l := s.borrow(key); l != nil {
		return l.client, func() { s.giveBack(key, l) }, nil
	}
	req := tinker.SamplingClientRequest{ModelPath: key.Path, Owner: key.Tenant}
	if key.Path == "" {
		req.BaseModel = key.Base
	}
	client, err = s.client(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	s.State.Lock()
	defer s.State.Unlock()
	l := s.Lent[key]
	if l == nil {
		l = &LentWeights{client: client}
		s.Lent[key] = l
	} else {
		state.CloseClient(client) // a concurrent request was faster
	}
	l.busy++
	return l.client, func() { s.giveBack(key, l) }, nil
}

// borrow returns an open client; nil if there is none.
func (s *Weights) borrow(key LentKey) *LentWeights {
	s.State.Lock()
	defer s.State.Unlock()
	l := s.Lent[key]
	if l != nil {
		l.busy++
	}
	return l
}

// giveBack ends a request's use of a client. Idle clients of base models are not kept: the backend keeps the weights.
func (s *Weights) giveBack(key LentKey, l *LentWeights) {
	s.State.Lock()
	defer s.State.Unlock()
	l.busy--
	l.used = s.Life.Now()
	if l.busy == 0 && key.Path == "" {
		s.drop(key)
	}
	for s.idleWeights() > maxIdleWeights {
		s.drop(*s.oldestIdle())
	}
}

// Start closes the weights of samplers and checkpoints that no request has used for the idle time, until the server
// closes. Base models and training runs have idle times of their own, in the backend.
func (s *Weights) Start() {
	if s.Idle > 0 {
		s.Life.Every(max(s.Idle/8, min(s.Idle, 10*time.Second)), func() { s.closeIdle(s.Life.Now().Add(-s.Idle)) })
	}
}

// closeIdle closes the weights that were not used after that time.
func (s *Weights) closeIdle(since time.Time) {
	s.State.Lock()
	defer s.State.Unlock()
	for _, p := range s.State.Samplers {
		if p.Busy == 0 && p.Client != nil && !p.Used.After(since) {
			p.Forget() // its weights are read again when they are needed
		}
	}
	for key, l := range s.Lent {
		if l.busy == 0 && !l.used.After(since) {
			s.drop(key)
		}
	}
}

// LentUntil is when the tenant's checkpoints that requests without a sampling session use leave memory, by path; zero
// is not before others need it.
func (s *Weights) LentUntil(tenant string) map[string]time.Time {
	s.State.Lock()
	defer s.State.Unlock()
	until := map[string]time.Time{}
	for key, l := range s.Lent {
		switch {
		case key.Tenant != tenant || key.Path == "":
		case s.Idle <= 0:
			until[key.Path] = time.Time{}
		case l.busy > 0:
			until[key.Path] = s.Life.Now().Add(s.Idle)
		default:
			until[key.Path] = l.used.Add(s.Idle)
		}
	}
	return until
}

// Unload closes a client that no request uses.
func (s *Weights) Unload(key LentKey) {
	s.State.Lock()
	defer s.State.Unlock()
	if l := s.Lent[key]; l != nil && l.busy == 0 {
		s.drop(key)
	}
}

// drop closes an idle client; the store is locked.
func (s *Weights) drop(key LentKey) {
	state.CloseClient(s.Lent[key].client)
	delete(s.Lent, key)
}

// idleWeights counts the idle clients; the store is locked.
func (s *Weights) idleWeights() (n int) {
	for _, l := range s.Lent {
		if l.busy == 0 {
			n++
		}
	}
	return n
}

// oldestIdle is the least recently used idle client; nil if there is none. The store is locked.
func (s *Weights) oldestIdle() (oldest *LentKey) {
	for key, l := range s.Lent {
		if l.busy == 0 && (oldest == nil || l.used.Before(s.Lent[*oldest].used)) {
			oldest = &key
		}
	}
	return oldest
}

// client opens weights. When they do not fit into memory, the least recently used ones are released.
func (s *Weights) client(ctx context.Context, req tinker.SamplingClientRequest) (tinker.SamplingClient, error) {
	client, err := s.Backend.SamplingClient(ctx, req)
	for errors.Is(err, tinker.ErrBusy) && s.Free() {
		client, err = s.Backend.SamplingClient(ctx, req)
	}
	return client, err
}

// Free releases unused memory, weights before training runs, and reports whether there was any.
func (s *Weights) Free() bool {
	if s.Forget() {
		return true
	}
	done, err := s.Backend.EvictOldest()
	if err != nil && s.Life.Ctx.Err() == nil {
		s.Life.Log.Error("making room in memory", "error", err)
	}
	return done
}

// Forget closes the least recently used idle client, of a sampler or lent, and reports whether there was one.
// Its weights are read again when they are needed.
func (s *Weights) Forget() bool {
	s.State.Lock()
	defer s.State.Unlock()
	var oldest *state.Sampler
	for _, p := range s.State.Samplers {
		if p.Client != nil && p.Busy == 0 && (oldest == nil || p.Used.Before(oldest.Used)) {
			oldest = p
		}
	}
	lent := s.oldestIdle()
	switch {
	case lent != nil && (oldest == nil || s.Lent[*lent].used.Before(oldest.Used)):
		s.drop(*lent)
	case oldest != nil:
		oldest.Forget()
	default:
		return false
	}
	return true
}
