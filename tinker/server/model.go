package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"syscall"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// trainable is a service that trains.
type trainable interface {
	tinker.Service
	tinker.Unloader
	OpenModel(ctx context.Context, modelID string) (tinker.TrainingClient, error)
	Accepted(modelID string, seqID int64) bool
	Lookup(modelID string, seqID int64) (future any, accepted bool)
}

// memory is what weights for sampling and idle runs take.
type memory interface {
	// Forget releases idle weights for sampling, and reports whether there were any.
	Forget() bool
	// Free also evicts idle runs.
	Free() bool
}

// unnamed are samplers of weights that were not given a name.
type unnamed interface {
	// Trim deletes a tenant's least recently used ones beyond the limits.
	Trim(tenant string) error
}

// attribution knows which tokens were sampled, and their logprobs.
type attribution interface {
	// Attribute adds the recorded logprobs to the data of a stable_reinforce request of a session.
	Attribute(session string, req wire.ForwardBackward) error
}

// runs are the training runs, and their requests.
type runs struct {
	state    *store
	life     *life
	stats    *stats
	capacity *capacity
	tickets  *signer
	names    *baseModels
	saved    *checkpoints
	samplers unnamed
	memory   memory
	recorder attribution
	backend  trainable
	sized    tinker.Sized // nil: the memory that a model takes is unknown

	gapAfter   time.Duration // after which a missing request is cancelled
	maxMissing int64
}

// makeWait is how long a training request waits for its model; it is below the SDK's time limit.
const makeWait = 45 * time.Second

func (s *runs) createModel(c *call, req wire.CreateModelRequest) (any, error) {
	optimizer, err := req.OptimizerConfig.Tinker()
	if err != nil {
		return nil, err
	}
	if optimizer == tinker.AdamW {
		optimizer = "" // as older versions recorded it; a repeated request is compared with the record
	}
	if req.BaseModel == "" {
		return nil, tinker.Userf("base_model is missing; get_server_capabilities lists what is served")
	}
	if req.LoRA == nil || req.LoRA.Rank <= 0 {
		return nil, tinker.Userf("lora_config.rank is 0 or missing; train all weights locally " +
			"(trinity run): this server trains LoRA adapters")
	}
	base := s.names.baseName(req.BaseModel)
	if err := s.names.served(base); err != nil {
		return nil, err
	}
	lora := req.LoRA.Tinker()
	if !lora.TrainAttn && !lora.TrainMLP && !lora.TrainUnembed {
		return nil, tinker.Userf("lora_config trains nothing: set train_attn, train_mlp or train_unembed")
	}
	meta := texts(req.UserMetadata)
	return s.newRun(c, modelRecord{Session: req.SessionID, ID: modelID(req.SessionID, req.ModelSeqID), Metadata: meta,
		Asked: s.names.told(req.BaseModel),
		Create: &tinker.CreateModelRequest{SessionID: req.SessionID, ModelSeqID: req.ModelSeqID, BaseModel: base,
			LoRA: lora, UserMetadata: meta,
			OptimizerType: optimizer, Owner: c.tenant}}, req.ModelSeqID)
}

// newRun records a model and creates it in the background. The key of a model is its session and number.
func (s *runs) newRun(c *call, r modelRecord, seq int64) (any, error) {
	if err := checkMetadata("user_metadata", r.Metadata); err != nil {
		return nil, err
	}
	if seq < 0 {
		return nil, tinker.Userf("model_seq_id is %d; numbers begin at 0", seq)
	}
	if err := s.capacity.disk(); err != nil {
		return nil, err
	}
	s.state.Lock()
	known := s.state.models[r.ID] != nil
	s.state.Unlock()
	if !known {
		if err := s.memoryRoom(r); err != nil {
			return nil, err
		}
	}
	r.Created = s.life.now().UTC()
	var fresh *model
	err := s.state.change(func(t *store) (int64, error) {
		if _, err := t.active(c.tenant, r.Session); err != nil {
			return 0, err
		}
		if old := t.models[r.ID]; old != nil {
			if r.Create != nil && old.Create != nil {
				r.Create.Owner = old.Create.Owner // an older version did not record it
			}
			if r.Load != nil && old.Load != nil {
				r.Load.Owner = old.Load.Owner
			}
			if !reflect.DeepEqual(old.Create, r.Create) || !reflect.DeepEqual(old.Load, r.Load) {
				return 0, tinker.Userf("model %s was created with other settings; use another model_seq_id", r.ID)
			}
			return 0, nil
		}
		at, err := s.state.record(recModel, r)
		if err == nil {
			fresh = newModel(r)
			t.models[r.ID] = fresh
		}
		return at, err
	})
	if fresh != nil { // also on a full disk: the log writes the record later, and the client repeats its request
		s.life.log.Info("model", "model", r.ID, "metadata", len(r.Metadata))
		s.life.begin(func() { s.remake([]*model{fresh}) })
	}
	if err != nil {
		return nil, err
	}
	return s.tickets.promise(ticketModel, r.ID, 0, r.ID), nil
}

// memoryRoom refuses a model for which there is no memory, after evicting unused samplers.
func (s *runs) memoryRoom(r modelRecord) error {
	if s.sized == nil {
		return nil
	}
	room := func() error {
		if r.Load != nil {
			return s.sized.RoomForState(*r.Load)
		}
		return s.sized.RoomForModel(*r.Create)
	}
	err := room()
	for errors.Is(err, tinker.ErrBusy) && s.memory.Free() {
		err = room()
	}
	if errors.Is(err, tinker.ErrBusy) {
		s.stats.full()
		return statusAfter(http.StatusServiceUnavailable, err, 10*time.Second)
	}
	return err
}

// remake creates models, or opens those that the backend has, one after another.
func (s *runs) remake(models []*model) {
	for _, m := range models {
		if s.life.ctx.Err() != nil {
			return // the next process makes it
		}
		s.state.Lock()
		old, failed := s.state.rejects[trainKey{m.ID, 0}]
		s.state.Unlock()
		if failed {
			m.err = old.err()
			close(m.made)
			continue
		}
		client, err := s.make(m)
		for errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) { // it is created when there is room
			select {
			case <-s.life.ctx.Done():
				return
			case <-time.After(time.Second):
				client, err = s.make(m)
			}
		}
		if errors.Is(err, tinker.ErrClosed) || s.life.ctx.Err() != nil {
			return
		}
		s.settleModel(m, client, err)
	}
}

// make creates a model, or opens the one that an earlier process created. If that one is missing, the data is damaged;
// the model is not created again.
func (s *runs) make(m *model) (tinker.TrainingClient, error) {
	if m.wasMade {
		client, err := s.backend.OpenModel(s.life.ctx, m.ID)
		if errors.Is(err, tinker.ErrNotFound) {
			err = tinker.Serverf("the data of model %s is missing from the data folder; restore it from a backup", m.ID)
		}
		return client, err
	}
	if m.Load != nil {
		return s.backend.CreateModelFromState(tinker.Promised(s.life.ctx), *m.Load)
	}
	return s.backend.CreateModel(tinker.Promised(s.life.ctx), *m.Create)
}

// settleModel records how creating a model ended, and which requests of it were accepted before.
func (s *runs) settleModel(m *model, client tinker.TrainingClient, err error) {
	var info tinker.ModelInfo
	if err == nil {
		if info, err = client.Info(s.life.ctx); errors.Is(err, tinker.ErrUnloaded) {
			err = nil // the client's own methods return it
		}
	}
	s.state.Lock()
	defer s.state.Unlock()
	m.client, m.info, m.err = client, info, tinker.Brief(err)
	switch {
	case err != nil && (m.wasMade || errors.Is(err, tinker.ErrUnusable)): // it may exist again after the next start
		s.life.log.Error("a model cannot be used", "model", m.ID, "error", m.err)
	case err != nil:
		s.life.log.Warn("a model could not be created", "model", m.ID, "error", m.err)
		r := rejected(m.ID, 0, err)
		s.state.addReject(r)
		s.state.record(recReject, r) // lazily: what fails now fails again
	default:
		if !m.wasMade {
			m.wasMade = true
			s.state.record(recMade, madeRecord{m.ID}) // lazily: without it the model is requested again, and found
		}
		s.recount(m)
	}
	close(m.made)
}

// trainer returns a tenant's model, whose client is set. It waits while the model is being created.
func (s *runs) trainer(c *call, id string) (*model, error) {
	m, err := s.state.ownModel(c.tenant, id)
	if err != nil {
		return nil, err
	}
	select {
	case <-m.made:
	case <-c.ctx.Done():
		return nil, context.Cause(c.ctx)
	case <-s.life.ctx.Done():
		return nil, context.Cause(s.life.ctx)
	case <-time.After(makeWait):
		return nil, statusAfter(http.StatusServiceUnavailable,
			fmt.Errorf("model %s is still being created; its base model may be large", id), 2*time.Second)
	}
	if m.err != nil {
		return nil, fmt.Errorf("model %s could not be created: %w", id, m.err)
	}
	return m, nil
}

// unloadModel unloads a model after its accepted requests. Its checkpoints stay.
func (s *runs) unloadModel(c *call, req wire.GetInfoRequest) (any, error) {
	m, err := s.trainer(c, req.ModelID)
	if err != nil {
		return nil, err
	}
	if _, err := s.backend.UnloadModel(s.life.ctx, m.ID); err != nil {
		return nil, err
	}
	s.life.log.Info("model unloaded", "model", m.ID)
	return s.tickets.promise(ticketUnload, m.ID, 0, m.ID), nil
}

// Unloaded repeats the request to the backend, which gives the same answer.
func (s *runs) Unloaded(id string) (pendingResult, error) {
	f, err := s.backend.UnloadModel(s.life.ctx, id)
	if err != nil {
		return pendingResult{}, err
	}
	return pendingResult{done: f.Done(), result: resultOf(f)}, nil
}

func (s *runs) getInfo(c *call, req wire.GetInfoRequest) (any, error) {
	m, err := s.trainer(c, req.ModelID)
	if err != nil {
		return nil, err
	}
	info, err := m.client.Info(c.ctx)
	if err != nil {
		return nil, err
	}
	s.state.Lock()
	name := s.state.baseOf(m.ID, info.BaseModel)
	s.state.Unlock()
	return wire.GetInfoResponse{Type: "get_info", ModelID: m.ID, IsLoRA: info.LoRA.Rank > 0, LoRARank: info.LoRA.Rank,
		LoRAAlpha: info.LoRA.Alpha, OptimizerConfig: wire.FromOptimizer(info.OptimizerType),
		ModelName: name, NextSeqID: info.NextSeqID, ModelData: wire.ModelData{ModelName: name,
			TokenizerID: s.names.tokenizerID(name, info.BaseModel)}}, nil
}
