package session

import (
	"maps"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/edge"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/state"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

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
		if u.Finished == "" {
			u.Finished = "finished"
		}
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

// CollectSessions removes the samplers of sessions whose clients have been silent for KeepSessions, and those of the
// sessions that have no training runs. Training runs and their checkpoints stay.
func (s *Sessions) CollectSessions() error {
	now := s.Life.Now()
	return s.State.Change(func(t *state.Store) (at int64, err error) {
		held := map[string]bool{} // sessions that own something
		for _, m := range t.Models {
			held[m.Session] = true
		}
		for id, p := range t.Samplers {
			u := t.Sessions[p.Session]
			if p.Unnamed || p.Busy > 0 || now.Sub(p.Used) <= s.Keep ||
				u != nil && now.Sub(u.Seen) <= s.Keep {
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
