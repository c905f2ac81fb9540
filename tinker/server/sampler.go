package server

import (
	"context"
	"fmt"
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
	ModelPath string    `json:"model_path,omitempty"` // "" is the base model itself
	Unnamed   bool      `json:"unnamed,omitempty"`
	Created   time.Time `json:"created"`
	Copies    int64     `json:"copies,omitempty"` // clients that joined

	// Volatile.
	client tinker.SamplingClient // nil until it is used, and again when it was idle
	used   time.Time
	busy   int           // samples under way
	ends   int64         // samples that have ended
	end    chan struct{} // closed at the next end; nil while nobody waits
}

func samplerID(session string, seq int64) string { return fmt.Sprintf("%s:sample:%d", session, seq) }

func (t *state) addSampler(p *sampler) {
	t.samplers[p.ID] = p
	p.used = p.Created
	if p.Unnamed {
		t.unnamed[p.ModelPath] = p.ID
	}
}

// tenantOf is whose sampler that is, "" if it is gone; s.mu is held.
func (t *state) tenantOf(id string) string {
	if p := t.samplers[id]; p != nil && t.sessions[p.Session] != nil {
		return t.sessions[p.Session].Tenant
	}
	return ""
}

func (t *state) dropSampler(id string) {
	if p := t.samplers[id]; p != nil {
		delete(t.unnamed, p.ModelPath)
		delete(t.samplers, id)
	}
}

func (s *Server) createSampler(c *call, req wire.CreateSamplingSessionRequest) (any, error) {
	if req.SamplingSessionSeqID < 0 {
		return nil, tinker.Userf("sampling_session_seq_id is %d; numbers begin at 0", req.SamplingSessionSeqID)
	}
	p := &sampler{ID: samplerID(req.SessionID, req.SamplingSessionSeqID), Session: req.SessionID, BaseModel: s.baseName(req.BaseModel), ModelPath: req.ModelPath, Created: s.opts.Now().UTC()}
	s.mu.Lock()
	_, err := s.state.active(c.tenant, req.SessionID)
	old := s.state.samplers[p.ID]
	s.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case old != nil && (old.ModelPath != p.ModelPath || p.ModelPath == "" && old.BaseModel != p.BaseModel):
		return nil, tinker.Userf("sampling session %s was created with other weights; use another sampling_session_seq_id", p.ID)
	case old != nil:
		return samplerAnswer(p.ID), s.log.Sync(s.log.End())
	}
	if p.client, err = s.weights(c, p); err != nil {
		return nil, err
	}
	err = s.change(func(t *state) (int64, error) {
		if t.samplers[p.ID] != nil {
			return 0, nil
		}
		t.addSampler(p)
		return s.record(recSampler, p)
	})
	if err != nil {
		return nil, err
	}
	return samplerAnswer(p.ID), nil
}

func samplerAnswer(id string) wire.CreateSamplingSessionResponse {
	return wire.CreateSamplingSessionResponse{Type: "create_sampling_session", SamplingSessionID: id}
}

// weights checks what a new sampler is to sample from, fills in its base model and opens it.
func (s *Server) weights(c *call, p *sampler) (tinker.SamplingClient, error) {
	if p.ModelPath == "" {
		if p.BaseModel == "" {
			return nil, tinker.Userf("a sampling session needs a base_model or a model_path")
		}
		return s.backend.SamplingClient(c.ctx, tinker.SamplingClientRequest{BaseModel: p.BaseModel, Owner: c.tenant})
	}
	k, err := s.readable(c.tenant, p.ModelPath, "")
	if err != nil {
		return nil, err
	}
	if p.BaseModel != "" && p.BaseModel != k.BaseModel {
		return nil, tinker.Userf("base_model is %q, checkpoint %s is of %q", p.BaseModel, p.ModelPath, k.BaseModel)
	}
	p.BaseModel = k.BaseModel
	return s.backend.SamplingClient(c.ctx, tinker.SamplingClientRequest{ModelPath: p.ModelPath, Owner: c.tenant})
}

// ownSampler returns a tenant's sampler. s.mu is held.
func (t *state) ownSampler(tenant, id string) (*sampler, error) {
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
	if name := s.opts.Tokenizers[p.BaseModel]; name != "" {
		out.BaseModel = name // the SDK loads the tokenizer by this name
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
	client, err := s.backend.SamplingClient(ctx, req)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	p.client = client
	s.mu.Unlock()
	return client, nil
}

// busy is the answer to a burst that is larger than what may wait.
func busy(c *call, what string) error {
	code := http.StatusServiceUnavailable
	if c.r.Header.Get(wire.HeaderBackpressure) != "" {
		code = http.StatusTooManyRequests // which such a client takes as "later"
	}
	return &statusError{code, fmt.Errorf("%s; send this one again later", what), time.Second}
}
