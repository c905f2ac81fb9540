package server

import (
	"context"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// List lists a tenant's checkpoints, newest first, those for other programs if external; model "" selects all models.
func (s *checkpoints) List(ctx context.Context, tenant, model string, external bool) ([]savedCheckpoint, error) {
	list, err := s.store.Checkpoints(ctx)
	if err != nil {
		return nil, err
	}
	now := s.life.now()
	s.state.Lock()
	defer s.state.Unlock()
	var out []savedCheckpoint
	for _, k := range list {
		if model != "" && k.Path.ModelID != model || strings.HasPrefix(k.Path.Name, unnamedPrefix) ||
			strings.HasPrefix(k.Path.Name, externalPrefix) && !external {
			continue
		}
		if d, ok := s.state.describe(k); ok && d.tenant == tenant && !d.note.expired(now) {
			out = append(out, d)
		}
	}
	slices.SortStableFunc(out, func(a, b savedCheckpoint) int { return b.Time.Compare(a.Time) })
	return out, nil
}

// wireOf is a checkpoint in a list.
func wireOf(k savedCheckpoint) wire.Checkpoint {
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
		out[i] = wireOf(k)
	}
	return out
}

func (s *checkpoints) listCheckpoints(c *call) (any, error) {
	p, err := page(c, 100)
	if err != nil {
		return nil, err
	}
	list, err := s.List(c.ctx, c.tenant, "", knowsExternal(c.r))
	if err != nil {
		return nil, err
	}
	return wire.Checkpoints{Checkpoints: wires(cut(&p, list)), Cursor: &p}, nil
}

func (s *checkpoints) runCheckpoints(c *call) (any, error) {
	if _, err := s.state.ownModel(c.tenant, c.r.PathValue("run")); err != nil {
		return nil, err
	}
	list, err := s.List(c.ctx, c.tenant, c.r.PathValue("run"), knowsExternal(c.r))
	if err != nil {
		return nil, err
	}
	return wire.Checkpoints{Checkpoints: wires(list)}, nil
}

// checkpointOf finds the checkpoint that a path below training_runs names.
func (s *checkpoints) checkpointOf(c *call,
	find func(tenant, path string) (savedCheckpoint, error)) (savedCheckpoint, error) {
	kind, name := c.r.PathValue("kind"), c.r.PathValue("name")
	if tinker.Kind(kind) != tinker.KindState && tinker.Kind(kind) != tinker.KindSampler && kind != kindExternal {
		return savedCheckpoint{}, tinker.Userf("checkpoint id %q; it is weights/<name>, sampler_weights/<name> or "+
			"external_weights/<name>", kind+"/"+name)
	}
	return find(c.tenant, inner("tinker://"+c.r.PathValue("run")+"/"+kind+"/"+name))
}

func (s *checkpoints) readableOnly(tenant, path string) (savedCheckpoint, error) {
	return s.Readable(tenant, path, "")
}

// bareID refuses a checkpoint id of one part.
func (s *checkpoints) bareID(c *call) (any, error) {
	return nil, tinker.Userf("checkpoint id %q; it is weights/<name> or sampler_weights/<name>", c.r.PathValue("name"))
}

func (s *checkpoints) deleteCheckpoint(c *call) (any, error) {
	k, err := s.checkpointOf(c, s.ownOrDamaged)
	if err != nil {
		return nil, err
	}
	if err := s.delete(k.Path.String()); err != nil {
		return nil, err
	}
	s.life.log.Info("checkpoint deleted", "path", k.Path.String())
	return map[string]string{"status": "deleted"}, nil
}

// decide changes the owner's settings of a checkpoint. Repeating a change is no error.
func (s *checkpoints) decide(c *call, f func(*checkpointSettings)) (any, error) {
	k, err := s.checkpointOf(c, s.own)
	if err != nil {
		return nil, err
	}
	err = s.state.change(func(t *store) (int64, error) {
		m := t.marks[k.Path.String()][k.SeqID] // as it is now: another request may have changed it meanwhile
		m.Path, m.Seq, m.Time = k.Path.String(), k.SeqID, s.life.now().UTC()
		f(&m)
		at, err := s.state.record(recCheckpoint, m)
		if err == nil {
			t.addMark(m)
		}
		return at, err
	})
	return map[string]string{"status": "ok"}, err
}

func (s *checkpoints) publish(c *call) (any, error) {
	return s.decide(c, func(m *checkpointSettings) { m.Public = true })
}

func (s *checkpoints) unpublish(c *call) (any, error) {
	return s.decide(c, func(m *checkpointSettings) { m.Public = false })
}

func (s *checkpoints) setTTL(c *call, req wire.TTLRequest) (any, error) {
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

func (s *checkpoints) weightsInfo(c *call, req wire.WeightsInfoRequest) (any, error) {
	k, err := s.Readable(c.tenant, inner(req.TinkerPath), "")
	if err != nil {
		return nil, err
	}
	s.state.Lock()
	base := s.state.baseOf(k.Path.ModelID, k.BaseModel)
	s.state.Unlock()
	l := k.LoRA
	return wire.WeightsInfo{BaseModel: base, IsLoRA: l.Rank > 0, LoRARank: &l.Rank, TrainUnembed: &l.TrainUnembed,
		TrainMLP: &l.TrainMLP, TrainAttn: &l.TrainAttn, OptimizerConfig: wire.FromOptimizer(k.OptimizerType)}, nil
}
