package server

import (
	"errors"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

func (s *runs) saveWeights(c *call, req wire.SaveRequest) (any, error) {
	m, err := s.trainer(c, req.ModelID)
	if err != nil {
		return nil, err
	}
	if req.Path == nil {
		return s.reject(m, req.SeqID, tinker.Userf("save_weights needs a path, the checkpoint's name"))
	}
	return s.saveNamed(c, m, req, tinker.KindState, *req.Path)
}

func (s *runs) saveForSampler(c *call, req wire.SaveRequest) (any, error) {
	m, err := s.trainer(c, req.ModelID)
	if err != nil {
		return nil, err
	}
	switch {
	case req.Kind != "" && req.Kind != "snapshot" && req.Kind != "inflight":
		return s.reject(m, req.SeqID, tinker.Userf("kind is %q; it must be snapshot, or inflight, which is the same "+
			"here: the weights of samplers never change", req.Kind))
	case req.Path != nil:
		return s.saveNamed(c, m, req, tinker.KindSampler, *req.Path)
	case req.SamplingSessionSeqID == nil:
		return s.reject(m, req.SeqID,
			tinker.Userf("save_weights_for_sampler needs a path, or a sampling_session_seq_id for an unnamed sampler"))
	}
	return s.saveUnnamed(c, m, req)
}

// saveNamed accepts a checkpoint under a name that its user chose.
func (s *runs) saveNamed(c *call, m *model, req wire.SaveRequest, kind tinker.Kind, name string) (any, error) {
	if err := checkSave(req, name); err != nil {
		return s.reject(m, req.SeqID, err)
	}
	return s.save(c, m, req, kind, name)
}

// save accepts a checkpoint. The user's settings of it are logged before the save itself, under the save's number.
func (s *runs) save(c *call, m *model, req wire.SaveRequest, kind tinker.Kind, name string) (any, error) {
	if err := checkSeq(req.SeqID); err != nil {
		return nil, err
	}
	now := s.life.now().UTC()
	k := checkpointSettings{Path: tinker.Path{ModelID: m.ID, Kind: kind, Name: name}.String(), Seq: req.SeqID,
		UserMetadata: req.UserMetadata, Time: now}
	if req.TTLSeconds != nil {
		k.Expires = expiry(now, *req.TTLSeconds)
	}
	err := s.state.change(func(t *store) (int64, error) {
		if err := s.tooFar(m, req.SeqID); err != nil {
			return 0, err
		}
		if _, again := t.marks[k.Path][k.Seq]; again || k.Expires == nil && k.UserMetadata == nil {
			return 0, nil
		}
		at, err := s.state.record(recCheckpoint, k)
		if err == nil {
			t.addMark(k)
		}
		return at, err
	})
	if err != nil {
		return nil, err
	}
	save := tinker.SaveRequest{SeqID: req.SeqID, Name: name, Overwrite: req.Overwrite}
	send := m.client.SaveState
	if kind == tinker.KindSampler {
		send = m.client.SaveWeightsForSampler
	}
	return accept(s, m, req.SeqID, "save", 0, int64(len(c.body)),
		func() (*tinker.Future[tinker.SaveOutput], error) { return send(s.life.ctx, save) })
}

// saveUnnamed makes a sampler of the weights at this request. A client that repeats the request names another sampling
// session; the first one counts.
func (s *runs) saveUnnamed(c *call, m *model, req wire.SaveRequest) (any, error) {
	if req.TTLSeconds != nil {
		return s.reject(m, req.SeqID,
			tinker.Userf("ttl_seconds is for named checkpoints; an unnamed sampler is kept while it is used"))
	}
	if err := checkSeq(req.SeqID); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%s%d", unnamedPrefix, req.SeqID)
	p := &sampler{ID: samplerID(m.Session, *req.SamplingSessionSeqID), Session: m.Session, BaseModel: m.info.BaseModel,
		Asked: m.Asked, Created: s.life.now().UTC(), Unnamed: true,
		ModelPath: tinker.Path{ModelID: m.ID, Kind: tinker.KindSampler, Name: name}.String()}
	taken := errors.New("taken")
	err := s.state.change(func(t *store) (int64, error) {
		if err := s.tooFar(m, req.SeqID); err != nil {
			return 0, err
		}
		if _, again := t.unnamed[p.ModelPath]; again {
			return 0, nil
		}
		if t.samplers[p.ID] != nil {
			return 0, taken
		}
		at, err := s.state.record(recSampler, p)
		if err == nil {
			t.addSampler(p)
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
	if err := s.samplers.Trim(c.tenant); err != nil {
		s.life.log.Warn("server: deleting unnamed samplers", "error", err)
	}
	save := tinker.SaveRequest{SeqID: req.SeqID, Name: name}
	return accept(s, m, req.SeqID, "save", 0, int64(len(c.body)), func() (*tinker.Future[tinker.SaveOutput], error) {
		return m.client.SaveWeightsForSampler(s.life.ctx, save)
	})
}

// loadWeights loads a state into a model, or creates a model from it.
func (s *runs) loadWeights(c *call, req wire.LoadRequest) (any, error) {
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
	if _, err := s.saved.Readable(c.tenant, req.Path, req.WeightsAccessToken); err != nil && !s.known(m, req.SeqID) {
		return s.reject(m, req.SeqID, asUser(err))
	}
	load := tinker.LoadRequest{SeqID: req.SeqID, Path: req.Path, Optimizer: req.Optimizer}
	return accept(s, m, req.SeqID, "load", 0, int64(len(c.body)),
		func() (*tinker.Future[tinker.LoadOutput], error) { return m.client.LoadState(s.life.ctx, load) })
}

// known reports whether a number was accepted before, so that the request is a repeated one.
func (s *runs) known(m *model, seq int64) bool {
	return s.backend.Accepted(m.ID, seq)
}

func (s *runs) createFromState(c *call, req wire.LoadRequest) (any, error) {
	if req.SessionID == "" || req.ModelSeqID == nil {
		return nil, tinker.Userf("load_weights needs a model_id, or a session_id and a model_seq_id to create a model")
	}
	optimizer, err := req.OptimizerConfig.Tinker()
	if err != nil {
		return nil, err
	}
	id, asked := modelID(req.SessionID, *req.ModelSeqID), s.names.told(req.BaseModel)
	// a repeated request finds its model although the checkpoint may be deleted
	if _, err := s.state.ownModel(c.tenant, id); err != nil {
		k, err := s.saved.Readable(c.tenant, req.Path, req.WeightsAccessToken)
		if err != nil {
			return nil, err
		}
		if base := s.names.baseName(req.BaseModel); base != "" && base != k.BaseModel {
			return nil, tinker.Userf("base_model is %q, checkpoint %s is of %q", req.BaseModel, req.Path, k.BaseModel)
		}
		if err := s.names.served(k.BaseModel); err != nil {
			return nil, fmt.Errorf("checkpoint %s: %w", req.Path, err)
		}
		if asked == "" {
			s.state.Lock()
			asked = s.state.baseOf(k.Path.ModelID, k.BaseModel)
			s.state.Unlock()
		}
	}
	return s.newRun(c, modelRecord{Session: req.SessionID, ID: id, Metadata: texts(req.UserMetadata), Asked: asked,
		Load: &tinker.CreateFromStateRequest{SessionID: req.SessionID, ModelSeqID: *req.ModelSeqID, Path: req.Path,
			Optimizer:     req.Optimizer,
			OptimizerType: optimizer, Owner: c.tenant}}, *req.ModelSeqID)
}

// saveExternalRequest is the body of save_weights_external.
type saveExternalRequest struct {
	wire.SaveRequest
	Recipients []string `json:"age_encryption_recipients"`
}

func (s *runs) saveExternal(c *call, req saveExternalRequest) (any, error) {
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
	if err := checkSave(req.SaveRequest, *req.Path); err != nil {
		return s.reject(m, req.SeqID, err)
	}
	return s.save(c, m, req.SaveRequest, tinker.KindSampler, externalPrefix+*req.Path)
}
