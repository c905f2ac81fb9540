package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// samplers are the sampling sessions, and the samples that they draw.
type samplers struct {
	state    *store
	life     *life
	stats    *stats
	capacity *capacity
	tickets  *signer
	names    *baseModels
	saved    *checkpoints
	weights  *weights
	recorder *recorder
	store    Store
	keep     Keep
}

// Keep says how long the server keeps what clients no longer ask for, and how much of it for a tenant. Zero values mean
// their defaults.
type Keep struct {
	Results   time.Duration // a fetched sample; default 10 min
	Unfetched time.Duration // an unfetched sample; default 24 h
	// the samplers of a silent session, and the session itself if it has no runs; default 24 h
	Sessions  time.Duration
	Unnamed   time.Duration // an unused unnamed sampler; default 6 h
	Stability time.Duration // unused stability information; default 24 h
	// bytes of a tenant's stability information; default 64 MiB, about 8 million tokens
	MaxStability int64
	// unnamed samplers of a tenant; beyond that, the least recently used are deleted; default 1024
	MaxUnnamed      int
	MaxUnnamedBytes int64 // bytes of a tenant's unnamed samplers on disk; default 4 GiB
	MaxResultBytes  int64 // bytes of a tenant's sample results; default 256 MiB
}

func (k *Keep) defaults() {
	def(&k.Results, 10*time.Minute)
	def(&k.Unfetched, 24*time.Hour)
	def(&k.Sessions, 24*time.Hour)
	def(&k.Unnamed, 6*time.Hour)
	def(&k.Stability, 24*time.Hour)
	def(&k.MaxStability, 64<<20)
	def(&k.MaxUnnamed, 1024)
	def(&k.MaxUnnamedBytes, 4<<30)
	def(&k.MaxResultBytes, 256<<20)
}

func (s *samplers) createSampler(c *call, req wire.CreateSamplingSessionRequest) (any, error) {
	if req.SamplingSessionSeqID < 0 {
		return nil, tinker.Userf("sampling_session_seq_id is %d; numbers begin at 0", req.SamplingSessionSeqID)
	}
	p := &sampler{ID: samplerID(req.SessionID, req.SamplingSessionSeqID), Session: req.SessionID,
		BaseModel: s.names.baseName(req.BaseModel), Asked: s.names.told(req.BaseModel), ModelPath: req.ModelPath,
		Created: s.life.now().UTC()}
	s.state.Lock()
	_, err := s.state.active(c.tenant, req.SessionID)
	old := s.state.samplers[p.ID]
	s.state.Unlock()
	switch {
	case err != nil:
		return nil, err
	case old != nil && (old.ModelPath != p.ModelPath || p.ModelPath == "" && old.BaseModel != p.BaseModel):
		return nil, tinker.Userf("sampling session %s was created with other weights; use another "+
			"sampling_session_seq_id", p.ID)
	case old != nil:
		return samplerAnswer(p.ID), s.state.log.Sync(s.state.log.End())
	}
	if p.client, err = s.first(c, p); err != nil {
		return nil, err
	}
	err = s.state.change(func(t *store) (int64, error) {
		if t.samplers[p.ID] != nil {
			p.forget() // a concurrent copy of the request was faster
			return 0, nil
		}
		at, err := s.state.record(recSampler, p)
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

// first checks the weights of a new sampler, fills in its base model and opens them.
func (s *samplers) first(c *call, p *sampler) (tinker.SamplingClient, error) {
	if p.ModelPath == "" {
		if p.BaseModel == "" {
			return nil, tinker.Userf("a sampling session needs a base_model or a model_path")
		}
		return s.firstClient(c, tinker.SamplingClientRequest{BaseModel: p.BaseModel, Owner: c.tenant})
	}
	k, err := s.saved.Readable(c.tenant, p.ModelPath, "")
	if err != nil {
		return nil, err
	}
	if p.BaseModel != "" && p.BaseModel != k.BaseModel {
		return nil, tinker.Userf("base_model is %q, checkpoint %s is of %q", p.BaseModel, p.ModelPath, k.BaseModel)
	}
	p.BaseModel = k.BaseModel
	if p.Asked == "" {
		s.state.Lock()
		p.Asked = s.state.baseOf(k.Path.ModelID, k.BaseModel)
		s.state.Unlock()
	}
	return s.firstClient(c, tinker.SamplingClientRequest{ModelPath: p.ModelPath, Owner: c.tenant})
}

// fullMemory is how long a client should wait that made a sampler for which there is no memory now. The SDK asks ten
// times.
const fullMemory = 30 * time.Second

// firstClient opens the weights of a sampler that is made.
func (s *samplers) firstClient(c *call, req tinker.SamplingClientRequest) (tinker.SamplingClient, error) {
	client, err := s.weights.client(c.ctx, req)
	if errors.Is(err, tinker.ErrBusy) {
		s.stats.full()
		return nil, statusAfter(http.StatusServiceUnavailable, err, fullMemory)
	}
	return client, err
}

func (s *samplers) getSampler(c *call) (any, error) {
	s.state.Lock()
	defer s.state.Unlock()
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
func (s *samplers) open(ctx context.Context, p *sampler) (tinker.SamplingClient, error) {
	s.state.Lock()
	client, session := p.client, s.state.sessions[p.Session]
	s.state.Unlock()
	if client != nil {
		return client, nil
	}
	req := tinker.SamplingClientRequest{ModelPath: p.ModelPath}
	if session != nil {
		req.Owner = session.Tenant
	}
	if p.ModelPath == "" {
		req.BaseModel = p.BaseModel
	} else if _, err := s.saved.Find(p.ModelPath); err != nil {
		return nil, asUser(err)
	}
	client, err := s.await(ctx, req)
	if err != nil {
		return nil, err
	}
	s.state.Lock()
	defer s.state.Unlock()
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
func (s *samplers) await(ctx context.Context, req tinker.SamplingClientRequest) (tinker.SamplingClient, error) {
	for begun := time.Now(); ; {
		client, err := s.weights.client(ctx, req)
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

// Ended lists the samples of a session's copy that ended after a cursor, the number of an end. The store is locked.
func (s *samplers) Ended(p *sampler, copy, after int64) (done []completion, cursor int64) {
	cursor = after
	for key, q := range s.state.samples {
		if key.sampler != p.ID || key.seq/clones != copy || q.finished.IsZero() || q.result.Order <= after {
			continue
		}
		d := completion{State: "finished", RequestID: s.tickets.ticket(ticketSample, key.sampler, key.seq)}
		if n := len(q.result.Proto); n > 0 {
			d.Size = &n
		}
		if q.result.Error != "" {
			d.State = "failed"
		}
		done, cursor = append(done, d), max(cursor, q.result.Order)
	}
	return done, cursor
}

type joinRequest struct {
	SamplingSessionID string `json:"sampling_session_id"`
}

// joinSampler numbers a copy of a sampling client; the original is 0.
func (s *samplers) joinSampler(c *call, req joinRequest) (any, error) {
	var n int64
	err := s.state.change(func(t *store) (int64, error) {
		p, err := t.ownSampler(c.tenant, req.SamplingSessionID)
		if err != nil {
			return 0, err
		}
		p.Copies++
		n = p.Copies
		return s.state.record(recSampler, p)
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"type": "join_sampling_session", "client_counter": n}, nil
}

// Result finds a sample.
func (s *samplers) Result(tenant string, key sampleKey) (pendingResult, error) {
	s.state.Lock()
	defer s.state.Unlock()
	if s.state.samplers[key.sampler] == nil {
		return pendingResult{}, gone("sampling session %s no longer exists", key.sampler)
	}
	if _, err := s.state.ownSampler(tenant, key.sampler); err != nil {
		return pendingResult{}, errUnknownFuture
	}
	p := s.state.samples[key]
	if p == nil {
		return pendingResult{}, gone("the result of this sample is no longer kept")
	}
	return pendingResult{done: p.done, state: func() (string, string) { return s.busyReason(tenant) },
		result: func() (any, error) {
			s.state.Lock()
			defer s.state.Unlock()
			p.fetched = s.life.now()
			if p.result.Error != "" {
				return nil, &tinker.Error{Category: p.result.Category, Err: errors.New(p.result.Error)}
			}
			return p.result.Proto, nil
		}}, nil
}

// busyReason is the reason why a sample takes long: many other samples are in progress.
func (s *samplers) busyReason(tenant string) (queue, reason string) {
	if reason := s.capacity.crowded(tenant); reason != "" {
		return wire.QueuePausedCapacity, reason
	}
	return wire.QueueActive, ""
}
