package server

import (
	"maps"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

func (s *Server) listSessions(c *call) (any, error) {
	p, err := page(c, 20)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
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

func (s *Server) getSession(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
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
func (s *Server) finishSession(c *call, req finishReason) (any, error) {
	id := c.r.PathValue("id")
	if err := checkText("reason.type", req.Reason.Type); err != nil {
		return nil, err
	}
	var over []string // runs whose client is done
	err := s.change(func(t *serverState) (int64, error) {
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
		return s.record(recFinish, finish{id, u.Finished})
	})
	s.work.begin(func() {
		for _, run := range over {
			if err := s.backend.Evict(run); err != nil && s.ctx.Err() == nil {
				s.opts.Log.Warn("a finished run stays in memory", "model", run, "error", err)
			}
		}
	})
	return map[string]string{"status": "ok"}, err
}

// cancelFuture cancels a sample that its client no longer waits for.
func (s *Server) cancelFuture(c *call, req wire.RetrieveRequest) (any, error) {
	kind, id, seq, ok := s.parseToken(req.RequestID)
	if !ok || kind != tokenSample {
		return nil, errUnknownFuture
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.state.ownSampler(c.tenant, id); err != nil {
		return nil, errUnknownFuture
	}
	if p := s.state.samples[sampleKey{id, seq}]; p != nil && p.cancel != nil {
		p.cancel()
	}
	return map[string]string{"status": "ok"}, nil
}
