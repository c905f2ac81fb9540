package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// sampler is a sampling session: weights that never change.
type sampler struct {
	ID        string    `json:"id"`
	Session   string    `json:"session"`
	BaseModel string    `json:"base_model"`
	Asked     string    `json:"asked,omitempty"`      // the base model's name in the request; older records lack it
	ModelPath string    `json:"model_path,omitempty"` // "" is the base model itself
	Unnamed   bool      `json:"unnamed,omitempty"`
	Created   time.Time `json:"created"`
	Copies    int64     `json:"copies,omitempty"` // clients that joined

	// Volatile.
	client tinker.SamplingClient // nil until first use, and after eviction
	used   time.Time
	busy   int           // samples in progress
	ends   int64         // number of the latest end of a sample
	bytes  int64         // of an unnamed one on the disk, once that is known
	end    chan struct{} // closed at the next end; nil without waiting calls
}

func samplerID(session string, seq int64) string { return fmt.Sprintf("%s:sample:%d", session, seq) }

func (t *serverState) addSampler(p *sampler) {
	p.used, p.ends = p.Created, t.firstEnd
	if old := t.samplers[p.ID]; old != nil { // a copy of its client has joined
		p.ends = old.ends
	}
	t.samplers[p.ID] = p
	if p.Unnamed {
		t.unnamed[p.ModelPath] = p.ID
	}
}

// tenantOf returns the tenant of a sampler, "" if there is no such sampler; s.mu is held.
func (t *serverState) tenantOf(id string) string {
	if p := t.samplers[id]; p != nil && t.sessions[p.Session] != nil {
		return t.sessions[p.Session].Tenant
	}
	return ""
}

func (t *serverState) dropSampler(id string) {
	if p := t.samplers[id]; p != nil {
		p.forget()
		delete(t.unnamed, p.ModelPath)
		delete(t.samplers, id)
	}
}

func (s *Server) createSampler(c *call, req wire.CreateSamplingSessionRequest) (any, error) {
	if req.SamplingSessionSeqID < 0 {
		return nil, tinker.Userf("sampling_session_seq_id is %d; numbers begin at 0", req.SamplingSessionSeqID)
	}
	p := &sampler{ID: samplerID(req.SessionID, req.SamplingSessionSeqID), Session: req.SessionID,
		BaseModel: s.baseName(req.BaseModel), Asked: s.told(req.BaseModel), ModelPath: req.ModelPath,
		Created: s.opts.Now().UTC()}
	s.mu.Lock()
	_, err := s.state.active(c.tenant, req.SessionID)
	old := s.state.samplers[p.ID]
	s.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case old != nil && (old.ModelPath != p.ModelPath || p.ModelPath == "" && old.BaseModel != p.BaseModel):
		return nil, tinker.Userf("sampling session %s was created with other weights; use another "+
			"sampling_session_seq_id", p.ID)
	case old != nil:
		return samplerAnswer(p.ID), s.log.Sync(s.log.End())
	}
	if p.client, err = s.weights(c, p); err != nil {
		return nil, err
	}
	err = s.change(func(t *serverState) (int64, error) {
		if t.samplers[p.ID] != nil {
			p.forget() // a concurrent copy of the request was faster
			return 0, nil
		}
		at, err := s.record(recSampler, p)
		if err == nil {
			t.addSampler(p)
		}
		return at, err
	})
	if err != nil {
		return nil, err
	}
	return samplerAnswer(p.ID), nil
}

func samplerAnswer(id string) wire.CreateSamplingSessionResponse {
	return wire.CreateSamplingSessionResponse{Type: "create_sampling_session", SamplingSessionID: id}
}

// weights checks the weights of a new sampler, fills in its base model and opens them.
func (s *Server) weights(c *call, p *sampler) (tinker.SamplingClient, error) {
	if p.ModelPath == "" {
		if p.BaseModel == "" {
			return nil, tinker.Userf("a sampling session needs a base_model or a model_path")
		}
		return s.firstClient(c, tinker.SamplingClientRequest{BaseModel: p.BaseModel, Owner: c.tenant})
	}
	k, err := s.readable(c.tenant, p.ModelPath, "")
	if err != nil {
		return nil, err
	}
	if p.BaseModel != "" && p.BaseModel != k.BaseModel {
		return nil, tinker.Userf("base_model is %q, checkpoint %s is of %q", p.BaseModel, p.ModelPath, k.BaseModel)
	}
	p.BaseModel = k.BaseModel
	if p.Asked == "" {
		s.mu.Lock()
		p.Asked = s.state.baseOf(k.Path.ModelID, k.BaseModel)
		s.mu.Unlock()
	}
	return s.firstClient(c, tinker.SamplingClientRequest{ModelPath: p.ModelPath, Owner: c.tenant})
}

// fullMemory is how long a client should wait that made a sampler for which there is no memory now. The SDK asks ten
// times.
const fullMemory = 30 * time.Second

// firstClient opens the weights of a sampler that is made.
func (s *Server) firstClient(c *call, req tinker.SamplingClientRequest) (tinker.SamplingClient, error) {
	client, err := s.client(c.ctx, req)
	if errors.Is(err, tinker.ErrBusy) {
		s.stats.pushedBack.Inc()
		return nil, statusAfter(http.StatusServiceUnavailable, err, fullMemory)
	}
	return client, err
}

// ownSampler returns a tenant's sampler. s.mu is held.
func (t *serverState) ownSampler(tenant, id string) (*sampler, error) {
	p := t.samplers[id]
	if p == nil || t.sessions[p.Session] == nil || t.sessions[p.Session].Tenant != tenant {
		return nil, fmt.Errorf("sampling session %q: %w", id, tinker.ErrNotFound)
	}
	return p, nil
}

func (s *Server) getSampler(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.state.ownSampler(c.tenant, c.r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	out := wire.Sampler{SamplerID: p.ID, BaseModel: p.BaseModel}
	if p.Asked != "" {
		out.BaseModel = p.Asked
	}
	if p.ModelPath != "" {
		out.ModelPath = &p.ModelPath
	}
	return out, nil
}

// open returns the client of a sampler, loading its weights if need be. The caller has counted itself into p.busy.
func (s *Server) open(ctx context.Context, p *sampler) (tinker.SamplingClient, error) {
	s.mu.Lock()
	client, session := p.client, s.state.sessions[p.Session]
	s.mu.Unlock()
	if client != nil {
		return client, nil
	}
	req := tinker.SamplingClientRequest{ModelPath: p.ModelPath}
	if session != nil {
		req.Owner = session.Tenant
	}
	if p.ModelPath == "" {
		req.BaseModel = p.BaseModel
	} else if _, err := s.find(p.ModelPath); err != nil {
		return nil, asUser(err)
	}
	client, err := s.await(ctx, req)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.client != nil { // a concurrent sample was faster
		closeClient(client)
		return p.client, nil
	}
	p.client = client
	return client, nil
}

// loadWait limits how long an accepted sample waits for memory for its weights; loadEvery is the time between two
// attempts.
const (
	loadWait  = 5 * time.Minute
	loadEvery = 50 * time.Millisecond
)

// await is client for accepted samples: while all weights in memory are in use, it waits.
func (s *Server) await(ctx context.Context, req tinker.SamplingClientRequest) (tinker.SamplingClient, error) {
	for begun := time.Now(); ; {
		client, err := s.client(ctx, req)
		if !errors.Is(err, tinker.ErrBusy) || time.Since(begun) > loadWait {
			return client, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(loadEvery):
		}
	}
}

// client opens weights. When they do not fit into memory, the least recently used ones are released.
func (s *Server) client(ctx context.Context, req tinker.SamplingClientRequest) (tinker.SamplingClient, error) {
	client, err := s.backend.SamplingClient(ctx, req)
	for errors.Is(err, tinker.ErrBusy) && s.freeMemory() {
		client, err = s.backend.SamplingClient(ctx, req)
	}
	return client, err
}

// freeMemory releases unused memory, weights before training runs, and reports whether there was any.
func (s *Server) freeMemory() bool {
	if s.forgetWeights() {
		return true
	}
	done, err := s.backend.EvictOldest()
	if err != nil && s.ctx.Err() == nil {
		s.opts.Log.Error("making room in memory", "error", err)
	}
	return done
}

// forgetWeights closes the least recently used idle client, of a sampler or lent, and reports whether there was one.
// Its weights are read again when they are needed.
func (s *Server) forgetWeights() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
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

// forget releases a sampler's weights; s.mu is held, and no sample uses them.
func (p *sampler) forget() {
	closeClient(p.client)
	p.client = nil
}

// closeClient closes a client that has a Close method.
func closeClient(c tinker.SamplingClient) {
	if c, ok := c.(io.Closer); ok {
		c.Close() // its memory is released even after an error
	}
}

// busy is the error of a request above the limit of pending work.
func busy(c *call, what string) error {
	code := http.StatusServiceUnavailable
	if c.r.Header.Get(wire.HeaderBackpressure) != "" {
		code = http.StatusTooManyRequests // such a client retries it later
	}
	return statusAfter(code, fmt.Errorf("%s; send this one again later", what), time.Second)
}
