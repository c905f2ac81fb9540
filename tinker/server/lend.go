package server

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
)

// lentKey names weights that requests without a sampling session use. seq distinguishes the checkpoints that had the
// same path.
type lentKey struct {
	tenant, base, path string
	seq                int64
}

// lentWeights is a client that requests share. s.mu guards it.
type lentWeights struct {
	client tinker.SamplingClient
	busy   int // requests that use it
	used   time.Time
}

// maxIdleWeights is the number of checkpoints whose weights stay open without requests. They are closed earlier when
// memory is needed.
const maxIdleWeights = 16

// lend returns a client for weights, which stay open until release is called.
func (s *Server) lend(ctx context.Context, key lentKey) (client tinker.SamplingClient, release func(), err error) {
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
	s.mu.Lock()
	defer s.mu.Unlock()
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
func (s *Server) borrow(key lentKey) *lentWeights {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lent[key]
	if l != nil {
		l.busy++
	}
	return l
}

// giveBack ends a request's use of a client. Idle clients of base models are not kept: the backend keeps the weights.
func (s *Server) giveBack(key lentKey, l *lentWeights) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.busy--
	l.used = s.opts.Now()
	if l.busy == 0 && key.path == "" {
		s.drop(key)
	}
	for s.idleWeights() > maxIdleWeights {
		s.drop(*s.oldestIdle())
	}
}

// runIdle closes the weights of samplers and checkpoints that no request has used for Options.Idle, until the server
// closes. Base models and training runs have idle times of their own, in the backend.
func (s *Server) runIdle() {
	tick := time.NewTicker(max(s.opts.Idle/8, min(s.opts.Idle, 10*time.Second)))
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
			s.closeIdle(s.opts.Now().Add(-s.opts.Idle))
		}
	}
}

// closeIdle closes the weights that were not used after that time.
func (s *Server) closeIdle(since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
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
func (s *Server) lentUntil(tenant string) map[string]time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	until := map[string]time.Time{}
	for key, l := range s.lent {
		switch {
		case key.tenant != tenant || key.path == "":
		case s.opts.Idle <= 0:
			until[key.path] = time.Time{}
		case l.busy > 0:
			until[key.path] = s.opts.Now().Add(s.opts.Idle)
		default:
			until[key.path] = l.used.Add(s.opts.Idle)
		}
	}
	return until
}

// drop closes an idle client; s.mu is held.
func (s *Server) drop(key lentKey) {
	closeClient(s.lent[key].client)
	delete(s.lent, key)
}

// idleWeights counts the idle clients; s.mu is held.
func (s *Server) idleWeights() (n int) {
	for _, l := range s.lent {
		if l.busy == 0 {
			n++
		}
	}
	return n
}

// oldestIdle is the least recently used idle client; nil if there is none. s.mu is held.
func (s *Server) oldestIdle() (oldest *lentKey) {
	for key, l := range s.lent {
		if l.busy == 0 && (oldest == nil || l.used.Before(s.lent[*oldest].used)) {
			oldest = &key
		}
	}
	return oldest
}

// modelTexts are the tokenizers and chat templates of base models, read at first use. The zero value is ready.
type modelTexts struct {
	mu sync.Mutex
	of map[string]*endpoint.Text
}

// get returns the text side of a base model.
func (m *modelTexts) get(s *Server, base string) (*endpoint.Text, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.of[base]; t != nil {
		return t, nil
	}
	dir := s.opts.Tokenizers[base]
	if dir == "" {
		return nil, tinker.Userf("base model %q has no tokenizer on this server; sample with token ids over the "+
			"Tinker API", s.told(base))
	}
	var ends []int32
	if b, ok := s.opts.Store.(interface {
		EndTokens(baseModel string) ([]int32, error)
	}); ok {
		var err error
		if ends, err = b.EndTokens(base); err != nil {
			return nil, err
		}
	}
	t, err := endpoint.LoadText(dir, ends, s.opts.Now())
	if err != nil {
		return nil, fmt.Errorf("server: the tokenizer of base model %q: %w", base, err)
	}
	if m.of == nil {
		m.of = map[string]*endpoint.Text{}
	}
	m.of[base] = t
	return t, nil
}
