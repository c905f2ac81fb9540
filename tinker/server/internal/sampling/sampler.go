// Package sampling serves sampling sessions: their weights, their samples, and the stability information of these.
package sampling

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/pause"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/basemodel"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/capacity"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/checkpoint"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/edge"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/future"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/life"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/state"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/stats"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/ticket"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// Samplers are the sampling sessions, and the samples that they draw.
type Samplers struct {
	State    *state.Store
	Life     *life.Life
	Stats    *stats.Stats
	Capacity *capacity.Capacity
	Tickets  *ticket.Signer
	Names    *basemodel.Registry
	Saved    *checkpoint.Checkpoints
	Weights  *Weights
	Recorder *Recorder
	Store    checkpoint.Store
	Keep     Keep

	moving sync.Mutex // held while in-flight samplers move to other weights
}

// Keep limits for how long data are kept that clients no longer ask for, and how much of them for a tenant. Zero values
// mean their defaults.
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

func (k *Keep) Defaults() {
	edge.Default(&k.Results, 10*time.Minute)
	edge.Default(&k.Unfetched, 24*time.Hour)
	edge.Default(&k.Sessions, 24*time.Hour)
	edge.Default(&k.Unnamed, 6*time.Hour)
	edge.Default(&k.Stability, 24*time.Hour)
	edge.Default(&k.MaxStability, 64<<20)
	edge.Default(&k.MaxUnnamed, 1024)
	edge.Default(&k.MaxUnnamedBytes, 4<<30)
	edge.Default(&k.MaxResultBytes, 256<<20)
}

func (s *Samplers) CreateSampler(c *edge.Call, req wire.CreateSamplingSessionRequest) (any, error) {
	if req.SamplingSessionSeqID < 0 {
		return nil, tinker.Userf("sampling_session_seq_id is %d; numbers begin at 0", req.SamplingSessionSeqID)
	}
	p := &state.Sampler{ID: state.SamplerID(req.SessionID, req.SamplingSessionSeqID), Session: req.SessionID,
		BaseModel: s.Names.BaseName(req.BaseModel), Asked: s.Names.Told(req.BaseModel),
		ModelPath: checkpoint.Sampled(req.ModelPath), Created: s.Life.Now().UTC()}
	s.State.Lock()
	_, err := s.State.Active(c.Tenant, req.SessionID)
	old := s.State.Samplers[p.ID]
	s.State.Unlock()
	switch {
	case err != nil:
		return nil, err
	case old != nil && (old.ModelPath != p.ModelPath || p.ModelPath == "" && old.BaseModel != p.BaseModel):
		return nil, tinker.Userf("sampling session %s was created with other weights; use another "+
			"sampling_session_seq_id", p.ID)
	case old != nil:
		return samplerAnswer(p.ID), s.State.Log.Sync(s.State.Log.End())
	}
	if p.Client, err = s.first(c, p); err != nil {
		return nil, err
	}
	err = s.State.Change(func(t *state.Store) (int64, error) {
		if t.Samplers[p.ID] != nil {
			p.Forget() // a concurrent copy of the request was faster
			return 0, nil
		}
		at, err := s.State.Record(state.RecSampler, p)
		if err == nil {
			t.AddSampler(p)
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
func (s *Samplers) first(c *edge.Call, p *state.Sampler) (tinker.SamplingClient, error) {
	if p.ModelPath == "" {
		if p.BaseModel == "" {
			return nil, tinker.Userf("a sampling session needs a base_model or a model_path")
		}
		return s.firstClient(c, tinker.SamplingClientRequest{BaseModel: p.BaseModel, Owner: c.Tenant})
	}
	k, err := s.Saved.Readable(c.Tenant, p.ModelPath, "")
	if err != nil {
		return nil, err
	}
	if p.BaseModel != "" && p.BaseModel != k.BaseModel {
		return nil, tinker.Userf("base_model is %q, checkpoint %s is of %q", p.BaseModel, p.ModelPath, k.BaseModel)
	}
	p.BaseModel = k.BaseModel
	if p.Asked == "" {
		s.State.Lock()
		p.Asked = s.State.BaseOf(k.Path.ModelID, k.BaseModel)
		s.State.Unlock()
	}
	return s.firstClient(c, tinker.SamplingClientRequest{ModelPath: p.ModelPath, Owner: c.Tenant})
}

// fullMemory is how long a client should wait that made a sampler for which there is no memory now. The SDK asks ten
// times.
const fullMemory = 30 * time.Second

// firstClient opens the weights of a sampler that is made.
func (s *Samplers) firstClient(c *edge.Call, req tinker.SamplingClientRequest) (tinker.SamplingClient, error) {
	client, err := s.Weights.client(c.Ctx, req)
	if errors.Is(err, tinker.ErrBusy) {
		s.Stats.Full()
		return nil, edge.StatusAfter(http.StatusServiceUnavailable, err, fullMemory)
	}
	return client, err
}

func (s *Samplers) GetSampler(c *edge.Call) (any, error) {
	s.State.Lock()
	defer s.State.Unlock()
	p, err := s.State.OwnSampler(c.Tenant, c.R.PathValue("id"))
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
func (s *Samplers) open(ctx context.Context, p *state.Sampler) (tinker.SamplingClient, error) {
	s.State.Lock()
	client, session := p.Client, s.State.Sessions[p.Session]
	req := tinker.SamplingClientRequest{ModelPath: p.ModelPath}
	if req.Inflight = p.Inflight > 0; req.Inflight {
		req.ModelPath = s.State.Latest(p).ModelPath
	}
	s.State.Unlock()
	if client != nil {
		return client, nil
	}
	if session != nil {
		req.Owner = session.Tenant
	}
	if p.ModelPath == "" {
		req.BaseModel = p.BaseModel
	} else if _, err := s.Saved.Find(req.ModelPath); err != nil {
		return nil, edge.AsUser(err)
	}
	client, err := s.await(ctx, req)
	if err != nil {
		return nil, err
	}
	if client = s.keep(p, client); req.Inflight {
		s.follow(ctx, p.Run()) // it may have moved meanwhile
	}
	return client, nil
}

// keep gives a sampler its client, unless a concurrent sample was faster.
func (s *Samplers) keep(p *state.Sampler, client tinker.SamplingClient) tinker.SamplingClient {
	s.State.Lock()
	defer s.State.Unlock()
	if p.Client != nil {
		state.CloseClient(client)
	} else {
		p.Client = client
	}
	return p.Client
}

// loadWait limits how long an accepted sample waits for memory for its weights; loadEvery is the time between two
// attempts.
const (
	loadWait  = 5 * time.Minute
	loadEvery = 50 * time.Millisecond
)

// await is client for accepted samples: while all weights in memory are in use, it waits.
func (s *Samplers) await(ctx context.Context, req tinker.SamplingClientRequest) (tinker.SamplingClient, error) {
	for begun := time.Now(); ; {
		client, err := s.Weights.client(ctx, req)
		if !errors.Is(err, tinker.ErrBusy) || time.Since(begun) > loadWait {
			return client, err
		}
		if err := pause.For(ctx, loadEvery); err != nil {
			return nil, err
		}
	}
}

// Ended lists the samples of a session's copy that ended after a cursor, the number of an end. The store is locked.
func (s *Samplers) Ended(p *state.Sampler, copy, after int64) (done []future.Completion, cursor int64) {
	cursor = after
	for key, q := range s.State.Samples {
		if key.Sampler != p.ID || key.Seq/future.Clones != copy || q.Finished.IsZero() || q.Result.Order <= after {
			continue
		}
		d := future.Completion{State: "finished", RequestID: s.Tickets.Ticket(ticket.Sample, key.Sampler, key.Seq)}
		if n := len(q.Result.Proto); n > 0 {
			d.Size = &n
		}
		if q.Result.Error != "" {
			d.State = "failed"
		}
		done, cursor = append(done, d), max(cursor, q.Result.Order)
	}
	return done, cursor
}

type joinRequest struct {
	SamplingSessionID string `json:"sampling_session_id"`
}

// JoinSampler numbers a copy of a sampling client; the original is 0.
func (s *Samplers) JoinSampler(c *edge.Call, req joinRequest) (any, error) {
	var n int64
	err := s.State.Change(func(t *state.Store) (int64, error) {
		p, err := t.OwnSampler(c.Tenant, req.SamplingSessionID)
		if err != nil {
			return 0, err
		}
		p.Copies++
		n = p.Copies
		return s.State.Record(state.RecSampler, p)
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"type": "join_sampling_session", "client_counter": n}, nil
}

// Result finds a sample.
func (s *Samplers) Result(tenant string, key state.SampleKey) (future.PendingResult, error) {
	s.State.Lock()
	defer s.State.Unlock()
	if s.State.Samplers[key.Sampler] == nil {
		return future.PendingResult{}, future.Gone("sampling session %s no longer exists", key.Sampler)
	}
	if _, err := s.State.OwnSampler(tenant, key.Sampler); err != nil {
		return future.PendingResult{}, future.ErrUnknownFuture
	}
	p := s.State.Samples[key]
	if p == nil {
		return future.PendingResult{}, future.Gone("the result of this sample is no longer kept")
	}
	return future.PendingResult{Done: p.Done, State: func() (string, string) { return s.busyReason(tenant) },
		Result: func() (any, error) {
			s.State.Lock()
			defer s.State.Unlock()
			p.Fetched = s.Life.Now()
			if p.Result.Error != "" {
				return nil, &tinker.Error{Category: p.Result.Category, Err: errors.New(p.Result.Error)}
			}
			return p.Result.Proto, nil
		}}, nil
}

// busyReason is the reason why a sample takes long: many other samples are in progress.
func (s *Samplers) busyReason(tenant string) (queue, reason string) {
	if reason := s.Capacity.Crowded(tenant); reason != "" {
		return wire.QueuePausedCapacity, reason
	}
	return wire.QueueActive, ""
}
