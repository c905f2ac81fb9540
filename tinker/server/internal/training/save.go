package training

import (
	"errors"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/checkpoint"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/edge"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/state"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

func (s *Runs) SaveWeights(c *edge.Call, req wire.SaveRequest) (any, error) {
	m, err := s.trainer(c, req.ModelID)
	if err != nil {
		return nil, err
	}
	if req.Path == nil {
		return s.reject(m, req.SeqID, tinker.Userf("save_weights needs a path, the checkpoint's name"))
	}
	return s.saveNamed(c, m, req, tinker.KindState, *req.Path)
}

func (s *Runs) SaveForSampler(c *edge.Call, req wire.SaveRequest) (any, error) {
	m, err := s.trainer(c, req.ModelID)
	if err != nil {
		return nil, err
	}
	switch {
	case req.Kind != "" && req.Kind != "snapshot" && req.Kind != "inflight":
		return s.reject(m, req.SeqID, tinker.Userf("kind is %q; it must be snapshot or inflight", req.Kind))
	case req.Path != nil && req.Kind == "inflight":
		return s.reject(m, req.SeqID, tinker.Userf("kind inflight makes a sampling session, not a checkpoint %q; "+
			"leave out the path, or the kind", *req.Path))
	case req.Path != nil:
		return s.saveNamed(c, m, req, tinker.KindSampler, *req.Path)
	case req.SamplingSessionSeqID == nil:
		return s.reject(m, req.SeqID,
			tinker.Userf("save_weights_for_sampler needs a path, or a sampling_session_seq_id for an unnamed sampler"))
	}
	return s.saveUnnamed(c, m, req)
}

// saveNamed accepts a checkpoint under a name that its user chose.
func (s *Runs) saveNamed(c *edge.Call, m *state.Model, req wire.SaveRequest, kind tinker.Kind,
	name string) (any, error) {
	if err := checkpoint.CheckSave(req, name); err != nil {
		return s.reject(m, req.SeqID, err)
	}
	return s.save(c, m, req, kind, name)
}

// save accepts a checkpoint. The user's settings of it are logged before the save itself, under the save's number.
func (s *Runs) save(c *edge.Call, m *state.Model, req wire.SaveRequest, kind tinker.Kind, name string) (any, error) {
	if err := checkSeq(req.SeqID); err != nil {
		return nil, err
	}
	now := s.Life.Now().UTC()
	k := state.CheckpointSettings{Path: tinker.Path{ModelID: m.ID, Kind: kind, Name: name}.String(), Seq: req.SeqID,
		UserMetadata: req.UserMetadata, Time: now}
	if req.TTLSeconds != nil {
		k.Expires = checkpoint.Expiry(now, *req.TTLSeconds)
	}
	err := s.State.Change(func(t *state.Store) (int64, error) {
		if err := s.tooFar(m, req.SeqID); err != nil {
			return 0, err
		}
		if _, again := t.Marks[k.Path][k.Seq]; again || k.Expires == nil && k.UserMetadata == nil {
			return 0, nil
		}
		at, err := s.State.Record(state.RecCheckpoint, k)
		if err == nil {
			t.AddMark(k)
		}
		return at, err
	})
	if err != nil {
		return nil, err
	}
	save := tinker.SaveRequest{SeqID: req.SeqID, Name: name, Overwrite: req.Overwrite}
	send := m.Client.SaveState
	if kind == tinker.KindSampler {
		send = m.Client.SaveWeightsForSampler
	}
	return accept(s, m, req.SeqID, "save", 0, int64(len(c.Body)),
		func() (*tinker.Future[tinker.SaveOutput], error) { return send(s.Life.Ctx, save) })
}

// saveUnnamed makes a sampler of the weights at this request. A client that repeats the request names another sampling
// session; the first one counts.
func (s *Runs) saveUnnamed(c *edge.Call, m *state.Model, req wire.SaveRequest) (any, error) {
	if req.TTLSeconds != nil {
		return s.reject(m, req.SeqID,
			tinker.Userf("ttl_seconds is for named checkpoints; an unnamed sampler is kept while it is used"))
	}
	if err := checkSeq(req.SeqID); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%s%d", checkpoint.UnnamedPrefix, req.SeqID)
	p := &state.Sampler{ID: state.SamplerID(m.Session, *req.SamplingSessionSeqID), Session: m.Session,
		BaseModel: m.Info.BaseModel, Asked: m.Asked, Created: s.Life.Now().UTC(), Unnamed: true,
		ModelPath: tinker.Path{ModelID: m.ID, Kind: tinker.KindSampler, Name: name}.String()}
	if req.Kind == "inflight" {
		p.Inflight = req.SeqID
	}
	taken := errors.New("taken")
	err := s.State.Change(func(t *state.Store) (int64, error) {
		if err := s.tooFar(m, req.SeqID); err != nil {
			return 0, err
		}
		if _, again := t.Unnamed[p.ModelPath]; again {
			return 0, nil
		}
		if t.Samplers[p.ID] != nil {
			return 0, taken
		}
		at, err := s.State.Record(state.RecSampler, p)
		if err == nil {
			t.AddSampler(p)
		}
		return at, err
	})
	if errors.Is(err, taken) {
		return s.reject(m, req.SeqID, tinker.Userf("sampling_session_seq_id %d of session %s is already in use",
			*req.SamplingSessionSeqID, m.Session))
	}
	if err != nil {
		return nil, err
	}
	if err := s.Samplers.Trim(c.Tenant); err != nil {
		s.Life.Log.Warn("server: deleting unnamed samplers", "error", err)
	}
	save := tinker.SaveRequest{SeqID: req.SeqID, Name: name}
	return accept(s, m, req.SeqID, "save", 0, int64(len(c.Body)), func() (*tinker.Future[tinker.SaveOutput], error) {
		f, err := m.Client.SaveWeightsForSampler(s.Life.Ctx, save)
		if err == nil && p.Inflight > 0 {
			s.Samplers.Publish(p.ModelPath, f)
		}
		return f, err
	})
}

// Republish publishes the weights of in-flight samplers that an earlier process did not. The store is locked.
func (s *Runs) Republish() {
	for _, p := range s.State.Samplers {
		if p.Inflight == 0 || p.Saved {
			continue
		}
		found, _ := s.Backend.Lookup(p.Run(), p.Inflight)
		if f, saving := found.(*tinker.Future[tinker.SaveOutput]); saving {
			s.Samplers.Publish(p.ModelPath, f)
		}
	}
}

// LoadWeights loads a state into a model, or creates a model from it.
func (s *Runs) LoadWeights(c *edge.Call, req wire.LoadRequest) (any, error) {
	if req.ModelID == "" {
		return s.createFromState(c, req)
	}
	m, err := s.trainer(c, req.ModelID)
	if err != nil {
		return nil, err
	}
	if req.OptimizerConfig != nil {
		return s.reject(m, req.SeqID,
			tinker.Userf("optimizer_config chooses the optimizer of a new model; model %s has one, leave it out", m.ID))
	}
	if _, err := s.Saved.Readable(c.Tenant, req.Path, req.WeightsAccessToken); err != nil && !s.Known(m, req.SeqID) {
		return s.reject(m, req.SeqID, edge.AsUser(err))
	}
	load := tinker.LoadRequest{SeqID: req.SeqID, Path: req.Path, Optimizer: req.Optimizer}
	return accept(s, m, req.SeqID, "load", 0, int64(len(c.Body)),
		func() (*tinker.Future[tinker.LoadOutput], error) { return m.Client.LoadState(s.Life.Ctx, load) })
}

// Known reports whether a number was accepted before, so that the request is a repeated one.
func (s *Runs) Known(m *state.Model, seq int64) bool {
	return s.Backend.Accepted(m.ID, seq)
}

func (s *Runs) createFromState(c *edge.Call, req wire.LoadRequest) (any, error) {
	if req.SessionID == "" || req.ModelSeqID == nil {
		return nil, tinker.Userf("load_weights needs a model_id, or a session_id and a model_seq_id to create a model")
	}
	optimizer, err := req.OptimizerConfig.Tinker()
	if err != nil {
		return nil, err
	}
	id, asked := state.ModelID(req.SessionID, *req.ModelSeqID), s.Names.Told(req.BaseModel)
	// a repeated request finds its model although the checkpoint may be deleted
	if _, err := s.State.OwnModel(c.Tenant, id); err != nil {
		k, err := s.Saved.Readable(c.Tenant, req.Path, req.WeightsAccessToken)
		if err != nil {
			return nil, err
		}
		if base := s.Names.BaseName(req.BaseModel); base != "" && base != k.BaseModel {
			return nil, tinker.Userf("base_model is %q, checkpoint %s is of %q", req.BaseModel, req.Path, k.BaseModel)
		}
		if err := s.Names.Served(k.BaseModel); err != nil {
			return nil, fmt.Errorf("checkpoint %s: %w", req.Path, err)
		}
		if asked == "" {
			s.State.Lock()
			asked = s.State.BaseOf(k.Path.ModelID, k.BaseModel)
			s.State.Unlock()
		}
	}
	return s.newRun(c, state.ModelRecord{Session: req.SessionID, ID: id, Metadata: state.Texts(req.UserMetadata),
		Asked: asked,
		Load: &tinker.CreateFromStateRequest{SessionID: req.SessionID, ModelSeqID: *req.ModelSeqID, Path: req.Path,
			Optimizer:     req.Optimizer,
			OptimizerType: optimizer, Owner: c.Tenant}}, *req.ModelSeqID)
}

// saveExternalRequest is the body of save_weights_external.
type saveExternalRequest struct {
	wire.SaveRequest
	Recipients []string `json:"age_encryption_recipients"`
}

func (s *Runs) SaveExternal(c *edge.Call, req saveExternalRequest) (any, error) {
	m, err := s.trainer(c, req.ModelID)
	if err != nil {
		return nil, err
	}
	switch {
	case len(req.Recipients) > 0:
		return s.reject(m, req.SeqID, tinker.Userf("age_encryption_recipients names %d; exports are not encrypted "+
			"here: leave it out (TLS protects the download), and download the path that "+
			"save_weights_external returns", len(req.Recipients)))
	case req.Path == nil:
		return s.reject(m, req.SeqID, tinker.Userf("save_weights_external needs a path, the checkpoint's name"))
	}
	if err := checkpoint.CheckSave(req.SaveRequest, *req.Path); err != nil {
		return s.reject(m, req.SeqID, err)
	}
	return s.save(c, m, req.SaveRequest, tinker.KindSampler, checkpoint.ExternalPrefix+*req.Path)
}
