package checkpoint

import (
	"context"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/edge"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/state"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// List lists a tenant's checkpoints, newest first, those for other programs if external; model "" selects all models.
func (s *Checkpoints) List(ctx context.Context, tenant, model string, external bool) ([]state.SavedCheckpoint, error) {
	list, err := s.Store.Checkpoints(ctx)
	if err != nil {
		return nil, err
	}
	now := s.Life.Now()
	s.State.Lock()
	defer s.State.Unlock()
	var out []state.SavedCheckpoint
	for _, k := range list {
		if model != "" && k.Path.ModelID != model || strings.HasPrefix(k.Path.Name, UnnamedPrefix) ||
			strings.HasPrefix(k.Path.Name, ExternalPrefix) && !external {
			continue
		}
		if d, ok := s.State.Describe(k); ok && d.Tenant == tenant && !d.Note.Expired(now) {
			out = append(out, d)
		}
	}
	slices.SortStableFunc(out, func(a, b state.SavedCheckpoint) int { return b.Time.Compare(a.Time) })
	return out, nil
}

// WireOf is a checkpoint in a list.
func WireOf(k state.SavedCheckpoint) wire.Checkpoint {
	size, kind := k.Size, wire.TypeOf(k.Path.Kind)
	folder, name := Outer(k.Path)
	if folder == KindExternal {
		kind = typeExternal
	}
	return wire.Checkpoint{CheckpointID: folder + "/" + name, CheckpointType: kind,
		Time: k.Time.UTC(), TinkerPath: "tinker://" + k.Path.ModelID + "/" + folder + "/" + name, SizeBytes: &size,
		Public: k.Note.Public, ExpiresAt: k.Note.Expires, UserMetadata: k.Note.UserMetadata}
}

func wires(list []state.SavedCheckpoint) []wire.Checkpoint {
	out := make([]wire.Checkpoint, len(list))
	for i, k := range list {
		out[i] = WireOf(k)
	}
	return out
}

func (s *Checkpoints) ListCheckpoints(c *edge.Call) (any, error) {
	p, err := edge.Page(c, 100)
	if err != nil {
		return nil, err
	}
	list, err := s.List(c.Ctx, c.Tenant, "", KnowsExternal(c.R))
	if err != nil {
		return nil, err
	}
	return wire.Checkpoints{Checkpoints: wires(edge.Cut(&p, list)), Cursor: &p}, nil
}

func (s *Checkpoints) RunCheckpoints(c *edge.Call) (any, error) {
	if _, err := s.State.OwnModel(c.Tenant, c.R.PathValue("run")); err != nil {
		return nil, err
	}
	list, err := s.List(c.Ctx, c.Tenant, c.R.PathValue("run"), KnowsExternal(c.R))
	if err != nil {
		return nil, err
	}
	return wire.Checkpoints{Checkpoints: wires(list)}, nil
}

// checkpointOf finds the checkpoint that a path below training_runs names.
func (s *Checkpoints) checkpointOf(c *edge.Call,
	find func(tenant, path string) (state.SavedCheckpoint, error)) (state.SavedCheckpoint, error) {
	kind, name := c.R.PathValue("kind"), c.R.PathValue("name")
	if tinker.Kind(kind) != tinker.KindState && tinker.Kind(kind) != tinker.KindSampler && kind != KindExternal {
		return state.SavedCheckpoint{}, tinker.Userf("checkpoint id %q; it is weights/<name>, sampler_weights/<name> "+
			"or external_weights/<name>", kind+"/"+name)
	}
	return find(c.Tenant, Inner("tinker://"+c.R.PathValue("run")+"/"+kind+"/"+name))
}

func (s *Checkpoints) readableOnly(tenant, path string) (state.SavedCheckpoint, error) {
	return s.Readable(tenant, path, "")
}

// BareID refuses a checkpoint id of one part.
func (s *Checkpoints) BareID(c *edge.Call) (any, error) {
	return nil, tinker.Userf("checkpoint id %q; it is weights/<name> or sampler_weights/<name>", c.R.PathValue("name"))
}

func (s *Checkpoints) DeleteCheckpoint(c *edge.Call) (any, error) {
	k, err := s.checkpointOf(c, s.ownOrDamaged)
	if err != nil {
		return nil, err
	}
	if err := s.Delete(k.Path.String()); err != nil {
		return nil, err
	}
	s.Life.Log.Info("checkpoint deleted", "path", k.Path.String())
	return map[string]string{"status": "deleted"}, nil
}

// decide changes the owner's settings of a checkpoint. Repeating a change is no error.
func (s *Checkpoints) decide(c *edge.Call, f func(*state.CheckpointSettings)) (any, error) {
	k, err := s.checkpointOf(c, s.own)
	if err != nil {
		return nil, err
	}
	err = s.State.Change(func(t *state.Store) (int64, error) {
		m := t.Marks[k.Path.String()][k.SeqID] // as it is now: another request may have changed it meanwhile
		m.Path, m.Seq, m.Time = k.Path.String(), k.SeqID, s.Life.Now().UTC()
		f(&m)
		at, err := s.State.Record(state.RecCheckpoint, m)
		if err == nil {
			t.AddMark(m)
		}
		return at, err
	})
	return map[string]string{"status": "ok"}, err
}

func (s *Checkpoints) Publish(c *edge.Call) (any, error) {
	return s.decide(c, func(m *state.CheckpointSettings) { m.Public = true })
}

func (s *Checkpoints) Unpublish(c *edge.Call) (any, error) {
	return s.decide(c, func(m *state.CheckpointSettings) { m.Public = false })
}

func (s *Checkpoints) SetTTL(c *edge.Call, req wire.TTLRequest) (any, error) {
	if req.TTLSeconds != nil {
		if err := CheckTTL(*req.TTLSeconds); err != nil {
			return nil, err
		}
	}
	return s.decide(c, func(m *state.CheckpointSettings) {
		m.Expires = nil
		if req.TTLSeconds != nil {
			m.Expires = Expiry(m.Time, *req.TTLSeconds)
		}
	})
}

func (s *Checkpoints) WeightsInfo(c *edge.Call, req wire.WeightsInfoRequest) (any, error) {
	k, err := s.Readable(c.Tenant, Inner(req.TinkerPath), "")
	if err != nil {
		return nil, err
	}
	s.State.Lock()
	base := s.State.BaseOf(k.Path.ModelID, k.BaseModel)
	s.State.Unlock()
	l := k.LoRA
	return wire.WeightsInfo{BaseModel: base, IsLoRA: l.Rank > 0, LoRARank: &l.Rank, TrainUnembed: &l.TrainUnembed,
		TrainMLP: &l.TrainMLP, TrainAttn: &l.TrainAttn, OptimizerConfig: wire.FromOptimizer(k.OptimizerType)}, nil
}
