package training

import (
	"cmp"
	"errors"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/checkpoint"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/edge"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/state"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// CopyWeights copies a checkpoint that the tenant may read. The copy belongs to a run of its own, in a session of its
// own unless the request names one; that run cannot be trained. The key of a copy is its session and number, or else
// the header X-Idempotency-Key, so that a repeated request makes no second one.
func (s *Runs) CopyWeights(c *edge.Call, req wire.CopyWeights) (any, error) {
	token := cmp.Or(c.R.Header.Get(wire.HeaderWeightsToken), req.WeightsAccessToken)
	k, err := s.Saved.Readable(c.Tenant, checkpoint.Inner(req.SourcePath), token)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(k.Path.Name, checkpoint.UnnamedPrefix) {
		return nil, tinker.Userf("%s is an unnamed sampler; save its weights under a name and copy that",
			req.SourcePath)
	}
	if req.TTLSeconds != nil {
		if err := checkpoint.CheckTTL(*req.TTLSeconds); err != nil {
			return nil, err
		}
	}
	if err := state.CheckText("destination_project_id", req.ProjectID); err != nil {
		return nil, err
	}
	if err := s.Capacity.Disk(); err != nil {
		return nil, err
	}
	run, err := s.copyRun(c, req, k)
	if err != nil {
		return nil, err
	}
	to := tinker.Path{ModelID: run, Kind: k.Path.Kind, Name: k.Path.Name}
	if _, err := s.Saved.Store.Checkpoint(to.String()); errors.Is(err, tinker.ErrNotFound) {
		if err := s.Saved.Store.CopyCheckpoint(k.Path.String(), to); err != nil {
			return nil, err
		}
		s.Life.Log.Info("checkpoint copied", "from", k.Path.String(), "to", to.String())
	}
	kind, name := checkpoint.Outer(to)
	return wire.CopyResponse{TinkerPath: "tinker://" + run + "/" + kind + "/" + name}, nil
}

// copyRun records the run of a copy, its session and its time to live, unless an earlier request did.
func (s *Runs) copyRun(c *edge.Call, req wire.CopyWeights, k state.SavedCheckpoint) (run string, err error) {
	session, seq := req.SessionID, int64(0)
	switch {
	case session != "" && req.ModelSeqID == nil:
		return "", tinker.Userf("copy_weights has a session_id and no model_seq_id; give both, or a " +
			"destination_project_id")
	case session != "":
		seq = *req.ModelSeqID
	case c.R.Header.Get(wire.HeaderIdempotency) != "":
		session = state.IDFor(c.Tenant, c.R.Header.Get(wire.HeaderIdempotency))
	default:
		session = state.NewID()
	}
	run = state.ModelID(session, seq)
	err = s.State.Change(func(t *state.Store) (at int64, err error) {
		r := state.ModelRecord{ID: run, Session: session, Created: s.Life.Now().UTC(), Asked: t.BaseOf(k.Path.ModelID,
			k.BaseModel), Copy: &state.CopyRecord{From: k.Path.String(), BaseModel: k.BaseModel, Rank: k.LoRA.Rank}}
		if old := t.Models[run]; old != nil {
			if old.Copy == nil || *old.Copy != *r.Copy {
				return 0, tinker.Userf("model %s exists already; use another model_seq_id", run)
			}
			_, err = t.Session(c.Tenant, session)
			return 0, err
		}
		if req.SessionID != "" {
			_, err = t.Active(c.Tenant, session)
		} else if t.Sessions[session] == nil {
			u := &state.Session{ID: session, Tenant: c.Tenant, Created: r.Created, Project: req.ProjectID,
				DisplayName: "copy of " + req.SourcePath, Finished: "success", Seen: r.Created}
			if _, err = s.State.Record(state.RecSession, u); err == nil {
				t.Sessions[session] = u
			}
		}
		if err != nil {
			return 0, err
		}
		return s.recordCopy(t, r, k, req.TTLSeconds)
	})
	return run, err
}

// recordCopy records the run of a copy and the copy's settings. The store is locked.
func (s *Runs) recordCopy(t *state.Store, r state.ModelRecord, k state.SavedCheckpoint, ttl *int64) (int64, error) {
	if ttl != nil {
		path := tinker.Path{ModelID: r.ID, Kind: k.Path.Kind, Name: k.Path.Name}.String()
		mark := state.CheckpointSettings{Path: path, Seq: k.SeqID, Expires: checkpoint.Expiry(r.Created, *ttl),
			Time: r.Created}
		if at, err := s.State.Record(state.RecCheckpoint, mark); err != nil {
			return at, err
		}
		t.AddMark(mark)
	}
	at, err := s.State.Record(state.RecModel, r)
	if err == nil {
		m := state.NewModel(r)
		m.SettleCopy()
		t.Models[r.ID] = m
	}
	return at, err
}
