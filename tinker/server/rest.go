package server

import (
	"slices"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// page reads limit and offset of a list.
func page(c *call, limit int) (wire.Cursor, error) {
	p := wire.Cursor{Limit: limit}
	for name, to := range map[string]*int{"limit": &p.Limit, "offset": &p.Offset} {
		text := c.r.URL.Query().Get(name)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return p, tinker.Userf("%s is %q; it must be a number of 0 or more", name, text)
		}
		*to = n
	}
	if q := c.r.URL.Query(); q.Get("project_id") != "" {
		return p, tinker.Userf("project_id is %q; this server has no projects", q.Get("project_id"))
	}
	return p, nil
}

// cut returns the page of a list.
func cut[T any](p *wire.Cursor, list []T) []T {
	p.TotalCount = len(list)
	from := min(p.Offset, len(list))
	return list[from : from+min(p.Limit, len(list)-from)] // not from+Limit, which may overflow
}

// checkpoints lists a tenant's checkpoints, newest first; model "" selects all models.
func (s *Server) checkpoints(c *call, model string) ([]savedCheckpoint, error) {
	list, err := s.opts.Store.Checkpoints(c.ctx)
	if err != nil {
		return nil, err
	}
	now := s.opts.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []savedCheckpoint
	for _, k := range list {
		if model != "" && k.Path.ModelID != model || strings.HasPrefix(k.Path.Name, unnamedPrefix) ||
			strings.HasPrefix(k.Path.Name, externalPrefix) && !knowsExternal(c.r) {
			continue
		}
		if d, ok := s.state.describe(k); ok && d.tenant == c.tenant && !d.note.expired(now) {
			out = append(out, d)
		}
	}
	slices.SortStableFunc(out, func(a, b savedCheckpoint) int { return b.Time.Compare(a.Time) })
	return out, nil
}

func (k savedCheckpoint) wire() wire.Checkpoint {
	size, kind := k.Size, wire.TypeOf(k.Path.Kind)
	folder, name := outer(k.Path)
	if folder == kindExternal {
		kind = typeExternal
	}
	return wire.Checkpoint{CheckpointID: folder + "/" + name, CheckpointType: kind,
		Time: k.Time.UTC(), TinkerPath: "tinker://" + k.Path.ModelID + "/" + folder + "/" + name, SizeBytes: &size,
		Public: k.note.Public, ExpiresAt: k.note.Expires, UserMetadata: k.note.UserMetadata}
}

func wires(list []savedCheckpoint) []wire.Checkpoint {
	out := make([]wire.Checkpoint, len(list))
	for i, k := range list {
		out[i] = k.wire()
	}
	return out
}

func (s *Server) listCheckpoints(c *call) (any, error) {
	p, err := page(c, 100)
	if err != nil {
		return nil, err
	}
	list, err := s.checkpoints(c, "")
	if err != nil {
		return nil, err
	}
	return wire.Checkpoints{Checkpoints: wires(cut(&p, list)), Cursor: &p}, nil
}

func (s *Server) runCheckpoints(c *call) (any, error) {
	if _, err := s.ownModel(c.tenant, c.r.PathValue("run")); err != nil {
		return nil, err
	}
	list, err := s.checkpoints(c, c.r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	return wire.Checkpoints{Checkpoints: wires(list)}, nil
}

// checkpointOf finds the checkpoint that a path below training_runs names.
func (s *Server) checkpointOf(c *call,
	find func(tenant, path string) (savedCheckpoint, error)) (savedCheckpoint, error) {
	kind, name := c.r.PathValue("kind"), c.r.PathValue("name")
	if tinker.Kind(kind) != tinker.KindState && tinker.Kind(kind) != tinker.KindSampler && kind != kindExternal {
		return savedCheckpoint{}, tinker.Userf("checkpoint id %q; it is weights/<name>, sampler_weights/<name> or "+
			"external_weights/<name>", kind+"/"+name)
	}
	return find(c.tenant, inner("tinker://"+c.r.PathValue("run")+"/"+kind+"/"+name))
}

func (s *Server) readableOnly(tenant, path string) (savedCheckpoint, error) {
	return s.readable(tenant, path, "")
}

// bareID refuses a checkpoint id of one part.
func (s *Server) bareID(c *call) (any, error) {
	return nil, tinker.Userf("checkpoint id %q; it is weights/<name> or sampler_weights/<name>", c.r.PathValue("name"))
}

func (s *Server) deleteCheckpoint(c *call) (any, error) {
	k, err := s.checkpointOf(c, s.ownOrDamaged)
	if err != nil {
		return nil, err
	}
	if err := s.delete(k.Path.String()); err != nil {
		return nil, err
	}
	s.opts.Log.Info("checkpoint deleted", "path", k.Path.String())
	return map[string]string{"status": "deleted"}, nil
}

// decide changes the owner's settings of a checkpoint. Repeating a change is no error.
func (s *Server) decide(c *call, f func(*checkpointSettings)) (any, error) {
	k, err := s.checkpointOf(c, s.own)
	if err != nil {
		return nil, err
	}
	err = s.change(func(t *serverState) (int64, error) {
		m := t.marks[k.Path.String()][k.SeqID] // as it is now: another request may have changed it meanwhile
		m.Path, m.Seq, m.Time = k.Path.String(), k.SeqID, s.opts.Now().UTC()
		f(&m)
		at, err := s.record(recCheckpoint, m)
		if err == nil {
			t.addMark(m)
		}
		return at, err
	})
	return map[string]string{"status": "ok"}, err
}

func (s *Server) publish(c *call) (any, error) {
	return s.decide(c, func(m *checkpointSettings) { m.Public = true })
}

func (s *Server) unpublish(c *call) (any, error) {
	return s.decide(c, func(m *checkpointSettings) { m.Public = false })
}

func (s *Server) setTTL(c *call, req wire.TTLRequest) (any, error) {
	if req.TTLSeconds != nil {
		if err := checkTTL(*req.TTLSeconds); err != nil {
			return nil, err
		}
	}
	return s.decide(c, func(m *checkpointSettings) {
		m.Expires = nil
		if req.TTLSeconds != nil {
			m.Expires = expiry(m.Time, *req.TTLSeconds)
		}
	})
}

func (s *Server) weightsInfo(c *call, req wire.WeightsInfoRequest) (any, error) {
	k, err := s.readable(c.tenant, inner(req.TinkerPath), "")
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	base := s.state.baseOf(k.Path.ModelID, k.BaseModel)
	s.mu.Unlock()
	l := k.LoRA
	return wire.WeightsInfo{BaseModel: base, IsLoRA: l.Rank > 0, LoRARank: &l.Rank, TrainUnembed: &l.TrainUnembed,
		TrainMLP: &l.TrainMLP, TrainAttn: &l.TrainAttn, OptimizerConfig: wire.FromOptimizer(k.OptimizerType)}, nil
}
