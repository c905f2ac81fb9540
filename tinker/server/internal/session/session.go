// Package session serves clients' sessions.
package session

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/basemodel"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/capacity"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/edge"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/life"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/state"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/ticket"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// Sessions are the clients' sessions.
type Sessions struct {
	State    *state.Store
	Life     *life.Life
	Capacity *capacity.Capacity
	Names    *basemodel.Registry
	Evict    func(modelID string) error
	Keep     time.Duration // of a silent session without runs
	Tickets  *ticket.Signer
	Edge     *edge.Edge
	// Saved lists a tenant's checkpoints, newest first; model "" is all of its runs.
	Saved func(ctx context.Context, tenant, model string, external bool) ([]state.SavedCheckpoint, error)
}

// ClientConfig configures the SDK's transport to this server: plain HTTP, zstd, concurrent chunks. It does not give up
// samples of which none has ended for two hours: long ones that are drawn together may take longer on a CPU.
func (s *Sessions) ClientConfig(*edge.Call) (any, error) {
	yes, no := true, false
	return wire.ClientConfig{ProtoCompressFwdBwd: true, ParallelFwdBwdChunks: &yes, UsePyqwestTransport: &no,
		CreateModelViaLoadWeights: true, SampleEnableStuckDetection: &no}, nil
}

func (s *Sessions) DynamicConfig(*edge.Call) (any, error) {
	return wire.DynamicConfig{RefreshIntervalSec: 300, SampleCancelEnabled: true}, nil
}

// Telemetry is dropped: it is meant for the SDK's developers and may contain keys.
func (s *Sessions) Telemetry(*edge.Call) (any, error) {
	return map[string]string{"status": "accepted"}, nil
}

func (s *Sessions) CreateSession(c *edge.Call, req wire.CreateSessionRequest) (any, error) {
	if err := state.CheckText("project_id", req.ProjectID); err != nil {
		return nil, err
	}
	if err := state.CheckTexts(req.DisplayName, req.SDKVersion, req.Tags, req.UserMetadata); err != nil {
		return nil, err
	}
	if err := s.Capacity.Disk(); err != nil {
		return nil, err
	}
	u := &state.Session{ID: state.NewID(), Tenant: c.Tenant, Created: s.Life.Now().UTC(), Tags: req.Tags,
		UserMetadata: state.Texts(req.UserMetadata), Project: req.ProjectID,
		DisplayName: req.DisplayName, SDKVersion: req.SDKVersion, Seen: s.Life.Now()}
	err := s.State.Change(func(t *state.Store) (int64, error) {
		at, err := s.State.Record(state.RecSession, u)
		if err == nil {
			t.Sessions[u.ID] = u
		}
		return at, err
	})
	if err != nil {
		return nil, err
	}
	s.Life.Log.Info("session", "session", u.ID, "sdk", req.SDKVersion, "tenant", c.Tenant[:8])
	return wire.CreateSessionResponse{Type: "create_session", SessionID: u.ID,
		InfoMessage: s.Names.TokenizerAdvice(c)}, nil
}

func (s *Sessions) Heartbeat(c *edge.Call, req wire.Heartbeat) (any, error) {
	s.State.Lock()
	defer s.State.Unlock()
	u, err := s.State.Session(c.Tenant, req.SessionID)
	if err != nil {
		return nil, err
	}
	if u.Finished != "" {
		return nil, edge.Status(http.StatusGone, "session %s was finished by its client (%s)", req.SessionID,
			u.Finished)
	}
	u.Seen = s.Life.Now()
	return wire.Heartbeat{Type: "session_heartbeat"}, nil
}

func (s *Sessions) ListSessions(c *edge.Call) (any, error) {
	p, err := edge.Page(c, 20)
	if err != nil {
		return nil, err
	}
	s.State.Lock()
	defer s.State.Unlock()
	var mine []*state.Session
	for _, id := range slices.Sorted(maps.Keys(s.State.Sessions)) {
		if u := s.State.Sessions[id]; u.Tenant == c.Tenant {
			mine = append(mine, u)
		}
	}
	slices.SortStableFunc(mine, func(a, b *state.Session) int { return b.Created.Compare(a.Created) })
	out := wire.Sessions{Sessions: []string{}}
	for _, u := range edge.Cut(&p, mine) {
		out.Sessions = append(out.Sessions, u.ID)
	}
	return out, nil
}

func (s *Sessions) GetSession(c *edge.Call) (any, error) {
	s.State.Lock()
	defer s.State.Unlock()
	u, err := s.State.Session(c.Tenant, c.R.PathValue("id"))
	if err != nil {
		return nil, err
	}
	out := wire.Session{TrainingRunIDs: []string{}, SamplerIDs: []string{}, UserMetadata: u.UserMetadata}
	if u.DisplayName != "" {
		out.DisplayName = &u.DisplayName
	}
	for _, m := range s.State.ModelsInOrder() {
		if m.Session == u.ID {
			out.TrainingRunIDs = append(out.TrainingRunIDs, m.ID)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.State.Samplers)) {
		if s.State.Samplers[id].Session == u.ID {
			out.SamplerIDs = append(out.SamplerIDs, id)
		}
	}
	return out, nil
}

// finishReason is why a client ends its session.
type finishReason struct {
	Reason struct {
		Type string `json:"type"`
	} `json:"reason"`
	Detail *string `json:"detail"`
}

// FinishSession ends a session: no new work is accepted, and pending samples are cancelled. The first reason is kept.
func (s *Sessions) FinishSession(c *edge.Call, req finishReason) (any, error) {
	id := c.R.PathValue("id")
	if err := state.CheckText("reason.type", req.Reason.Type); err != nil {
		return nil, err
	}
	var over []string // runs whose client is done
	err := s.State.Change(func(t *state.Store) (int64, error) {
		u, err := t.Session(c.Tenant, id)
		if err != nil || u.Finished != "" {
			return 0, err
		}
		u.Finished = req.Reason.Type
		u.Finished = cmp.Or(u.Finished, "finished")
		for _, p := range t.Samples {
			if w := t.Samplers[p.Sampler]; w != nil && w.Session == id && p.Cancel != nil {
				p.Cancel()
			}
		}
		for _, m := range t.Models {
			if m.Session == id {
				over = append(over, m.ID)
			}
		}
		return s.State.Record(state.RecFinish, state.Finish{Session: id, Reason: u.Finished})
	})
	s.Life.Begin(func() {
		for _, run := range over {
			if err := s.Evict(run); err != nil && s.Life.Ctx.Err() == nil {
				s.Life.Log.Warn("a finished run stays in memory", "model", run, "error", err)
			}
		}
	})
	return map[string]string{"status": "ok"}, err
}

// CollectSessions removes the samplers of sessions whose clients have been silent for Keep, and such sessions that
// have no training runs. Training runs and their checkpoints stay.
func (s *Sessions) CollectSessions() error {
	now := s.Life.Now()
	return s.State.Change(func(t *state.Store) (at int64, err error) {
		held := map[string]bool{} // sessions that own something
		for _, m := range t.Models {
			held[m.Session] = true
		}
		for id, p := range t.Samplers {
			u := t.Sessions[p.Session]
			if p.Unnamed || p.Busy > 0 || now.Sub(p.Used) <= s.Keep || u != nil && now.Sub(u.Seen) <= s.Keep {
				held[p.Session] = true
				continue
			}
			t.DropSampler(id)
			if at, err = s.State.Record(state.RecDropped, state.SamplerKey{ID: id}); err != nil {
				return at, err
			}
		}
		for id, u := range t.Sessions {
			if !held[id] && now.Sub(u.Seen) > s.Keep {
				delete(t.Sessions, id) // the log keeps its records until it is rewritten
			}
		}
		return at, nil
	})
}
