package server

import (
	"maps"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

func (s *sessions) listSessions(c *call) (any, error) {
	p, err := page(c, 20)
	if err != nil {
		return nil, err
	}
	s.state.Lock()
	defer s.state.Unlock()
	var mine []*session
	for _, id := range slices.Sorted(maps.Keys(s.state.sessions)) {
		if u := s.state.sessions[id]; u.Tenant == c.tenant {
			mine = append(mine, u)
		}
	}
	slices.SortStableFunc(mine, func(a, b *session) int { return b.Created.Compare(a.Created) })
	out := wire.Sessions{Sessions: []string{}}
	for _, u := range cut(&p, mine) {
		out.Sessions = append(out.Sessions, u.ID)
	}
	return out, nil
}

func (s *sessions) getSession(c *call) (any, error) {
	s.state.Lock()
	defer s.state.Unlock()
	u, err := s.state.session(c.tenant, c.r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	out := wire.Session{TrainingRunIDs: []string{}, SamplerIDs: []string{}, UserMetadata: u.UserMetadata}
	if u.DisplayName != "" {
		out.DisplayName = &u.DisplayName
	}
	for _, m := range s.state.modelsInOrder() {
		if m.Session == u.ID {
			out.TrainingRunIDs = append(out.TrainingRunIDs, m.ID)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.state.samplers)) {
		if s.state.samplers[id].Session == u.ID {
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

// finishSession ends a session: no new work is accepted, and pending samples are cancelled. The first reason is kept.
func (s *sessions) finishSession(c *call, req finishReason) (any, error) {
	id := c.r.PathValue("id")
	if err := checkText("reason.type", req.Reason.Type); err != nil {
		return nil, err
	}
	var over []string // runs whose client is done
	err := s.state.change(func(t *store) (int64, error) {
		u, err := t.session(c.tenant, id)
		if err != nil || u.Finished != "" {
			return 0, err
		}
		u.Finished = req.Reason.Type
		if u.Finished == "" {
			u.Finished = "finished"
		}
		for _, p := range t.samples {
			if w := t.samplers[p.Sampler]; w != nil && w.Session == id && p.cancel != nil {
				p.cancel()
			}
		}
		for _, m := range t.models {
			if m.Session == id {
				over = append(over, m.ID)
			}
		}
		return s.state.record(recFinish, finish{id, u.Finished})
	})
	s.life.begin(func() {
		for _, run := range over {
			if err := s.evict(run); err != nil && s.life.ctx.Err() == nil {
				s.life.log.Warn("a finished run stays in memory", "model", run, "error", err)
			}
		}
	})
	return map[string]string{"status": "ok"}, err
}

// collectSessions removes the samplers of sessions whose clients have been silent for KeepSessions, and those of the
// sessions that have no training runs. Training runs and their checkpoints stay.
func (s *sessions) collectSessions() error {
	now := s.life.now()
	return s.state.change(func(t *store) (at int64, err error) {
		held := map[string]bool{} // sessions that own something
		for _, m := range t.models {
			held[m.Session] = true
		}
		for id, p := range t.samplers {
			u := t.sessions[p.Session]
			if p.Unnamed || p.busy > 0 || now.Sub(p.used) <= s.keep ||
				u != nil && now.Sub(u.seen) <= s.keep {
				held[p.Session] = true
				continue
			}
			t.dropSampler(id)
			if at, err = s.state.record(recDropped, samplerKey{id}); err != nil {
				return at, err
			}
		}
		for id, u := range t.sessions {
			if !held[id] && now.Sub(u.seen) > s.keep {
				delete(t.sessions, id) // the log keeps its records until it is rewritten
			}
		}
		return at, nil
	})
}
