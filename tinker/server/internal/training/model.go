// Package training serves training runs: it creates them, hands their requests to the backend in the order of their
// numbers, and uses up the numbers of requests that are invalid or never arrive.
package training

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"syscall"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/basemodel"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/capacity"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/checkpoint"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/edge"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/future"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/life"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/state"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/stats"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/ticket"
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

// memory frees the memory of weights for sampling and of idle runs.
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
	// Publish moves a run's in-flight samplers to the weights at path when they are saved.
	Publish(path string, saving *tinker.Future[tinker.SaveOutput])
}

// attribution knows which tokens were sampled, and their logprobs.
type attribution interface {
	// Attribute adds the recorded logprobs to the data of a stable_reinforce request of a session.
	Attribute(session string, req wire.ForwardBackward) error
}

// Runs are the training runs, and their requests.
type Runs struct {
	State    *state.Store
	Life     *life.Life
	Stats    *stats.Stats
	Capacity *capacity.Capacity
	Tickets  *ticket.Signer
	Names    *basemodel.Registry
	Saved    *checkpoint.Checkpoints
	Samplers unnamed
	Memory   memory
	Recorder attribution
	Backend  trainable
	Sized    tinker.Sized // nil: the memory that a model takes is unknown

	GapAfter   time.Duration // after which a missing request is cancelled
	MaxMissing int64
}

// makeWait is how long a training request waits for its model; it is below the SDK's time limit.
const makeWait = 45 * time.Second

func (s *Runs) CreateModel(c *edge.Call, req wire.CreateModelRequest) (any, error) {
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
	base := s.Names.BaseName(req.BaseModel)
	if err := s.Names.Served(base); err != nil {
		return nil, err
	}
	lora := req.LoRA.Tinker()
	if !lora.TrainAttn && !lora.TrainMLP && !lora.TrainUnembed {
		return nil, tinker.Userf("lora_config trains nothing: set train_attn, train_mlp or train_unembed")
	}
	meta := state.Texts(req.UserMetadata)
	return s.newRun(c, state.ModelRecord{Session: req.SessionID, ID: state.ModelID(req.SessionID, req.ModelSeqID),
		Metadata: meta, Asked: s.Names.Told(req.BaseModel),
		Create: &tinker.CreateModelRequest{SessionID: req.SessionID, ModelSeqID: req.ModelSeqID, BaseModel: base,
			LoRA: lora, UserMetadata: meta,
			OptimizerType: optimizer, Owner: c.Tenant}}, req.ModelSeqID)
}

// newRun records a model and creates it in the background. The key of a model is its session and number.
func (s *Runs) newRun(c *edge.Call, r state.ModelRecord, seq int64) (any, error) {
	if err := state.CheckMetadata("user_metadata", r.Metadata); err != nil {
		return nil, err
	}
	if seq < 0 {
		return nil, tinker.Userf("model_seq_id is %d; numbers begin at 0", seq)
	}
	if err := s.Capacity.Disk(); err != nil {
		return nil, err
	}
	s.State.Lock()
	known := s.State.Models[r.ID] != nil
	s.State.Unlock()
	if !known {
		if err := s.memoryRoom(r); err != nil {
			return nil, err
		}
	}
	r.Created = s.Life.Now().UTC()
	var fresh *state.Model
	err := s.State.Change(func(t *state.Store) (int64, error) {
		if _, err := t.Active(c.Tenant, r.Session); err != nil {
			return 0, err
		}
		if old := t.Models[r.ID]; old != nil {
			if !reflect.DeepEqual(old.Create, r.Create) || !reflect.DeepEqual(old.Load, r.Load) {
				return 0, tinker.Userf("model %s was created with other settings; use another model_seq_id", r.ID)
			}
			return 0, nil
		}
		at, err := s.State.Record(state.RecModel, r)
		if err == nil {
			fresh = state.NewModel(r)
			t.Models[r.ID] = fresh
		}
		return at, err
	})
	if fresh != nil { // also on a full disk: the log writes the record later, and the client repeats its request
		s.Life.Log.Info("model", "model", r.ID, "metadata", len(r.Metadata))
		s.Life.Begin(func() { s.Remake([]*state.Model{fresh}) })
	}
	if err != nil {
		return nil, err
	}
	return s.Tickets.Promise(ticket.Model, r.ID, 0, r.ID), nil
}

// memoryRoom refuses a model for which there is no memory, after evicting unused samplers.
func (s *Runs) memoryRoom(r state.ModelRecord) error {
	if s.Sized == nil {
		return nil
	}
	room := func() error {
		if r.Load != nil {
			return s.Sized.RoomForState(*r.Load)
		}
		return s.Sized.RoomForModel(*r.Create)
	}
	err := room()
	for errors.Is(err, tinker.ErrBusy) && s.Memory.Free() {
		err = room()
	}
	if errors.Is(err, tinker.ErrBusy) {
		s.Stats.Full()
		return edge.StatusAfter(http.StatusServiceUnavailable, err, 10*time.Second)
	}
	return err
}

// Remake creates models, or opens those that the backend has, one after another.
func (s *Runs) Remake(models []*state.Model) {
	for _, m := range models {
		if s.Life.Ctx.Err() != nil {
			return // the next process makes it
		}
		if m.Copy != nil {
			m.SettleCopy()
			continue
		}
		s.State.Lock()
		old, failed := s.State.Rejects[state.TrainKey{Model: m.ID}]
		s.State.Unlock()
		if failed {
			m.Err = old.Err()
			close(m.Made)
			continue
		}
		client, err := s.make(m)
		for errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) { // it is created when there is room
			select {
			case <-s.Life.Ctx.Done():
				return
			case <-time.After(time.Second):
				client, err = s.make(m)
			}
		}
		if errors.Is(err, tinker.ErrClosed) || s.Life.Ctx.Err() != nil {
			return
		}
		s.settleModel(m, client, err)
	}
}

// make creates a model, or opens the one that an earlier process created. If that one is missing, the data is damaged;
// the model is not created again.
func (s *Runs) make(m *state.Model) (tinker.TrainingClient, error) {
	if m.WasMade {
		client, err := s.Backend.OpenModel(s.Life.Ctx, m.ID)
		if errors.Is(err, tinker.ErrNotFound) {
			err = tinker.Serverf("the data of model %s is missing from the data folder; restore it from a backup", m.ID)
		}
		return client, err
	}
	if m.Load != nil {
		return s.Backend.CreateModelFromState(tinker.Promised(s.Life.Ctx), *m.Load)
	}
	return s.Backend.CreateModel(tinker.Promised(s.Life.Ctx), *m.Create)
}

// settleModel records how creating a model ended, and which requests of it were accepted before.
func (s *Runs) settleModel(m *state.Model, client tinker.TrainingClient, err error) {
	var info tinker.ModelInfo
	if err == nil {
		if info, err = client.Info(s.Life.Ctx); errors.Is(err, tinker.ErrUnloaded) {
			err = nil // the client's own methods return it
		}
	}
	s.State.Lock()
	defer s.State.Unlock()
	m.Client, m.Info, m.Err = client, info, tinker.Brief(err)
	switch {
	case err != nil && (m.WasMade || errors.Is(err, tinker.ErrUnusable)): // it may exist again after the next start
		s.Life.Log.Error("a model cannot be used", "model", m.ID, "error", m.Err)
	case err != nil:
		s.Life.Log.Warn("a model could not be created", "model", m.ID, "error", m.Err)
		r := state.Rejected(m.ID, 0, err)
		s.State.AddReject(r)
		s.State.Record(state.RecReject, r) // lazily: what fails now fails again
	default:
		if !m.WasMade {
			m.WasMade = true
			// lazily: without it the model is requested again, and found
			s.State.Record(state.RecMade, state.MadeRecord{ID: m.ID})
		}
		s.recount(m)
	}
	close(m.Made)
}

// trainer returns a tenant's model, whose client is set. It waits while the model is being created.
func (s *Runs) trainer(c *edge.Call, id string) (*state.Model, error) {
	m, err := s.State.OwnModel(c.Tenant, id)
	if err != nil {
		return nil, err
	}
	select {
	case <-m.Made:
	case <-c.Ctx.Done():
		return nil, context.Cause(c.Ctx)
	case <-s.Life.Ctx.Done():
		return nil, context.Cause(s.Life.Ctx)
	case <-time.After(makeWait):
		return nil, edge.StatusAfter(http.StatusServiceUnavailable,
			fmt.Errorf("model %s is still being created; its base model may be large", id), 2*time.Second)
	}
	if m.Copy != nil {
		return nil, m.Err
	}
	if m.Err != nil {
		return nil, fmt.Errorf("model %s could not be created: %w", id, m.Err)
	}
	return m, nil
}

// UnloadModel unloads a model after its accepted requests. Its checkpoints stay.
func (s *Runs) UnloadModel(c *edge.Call, req wire.GetInfoRequest) (any, error) {
	m, err := s.trainer(c, req.ModelID)
	if err != nil {
		return nil, err
	}
	if _, err := s.Backend.UnloadModel(s.Life.Ctx, m.ID); err != nil {
		return nil, err
	}
	s.Life.Log.Info("model unloaded", "model", m.ID)
	return s.Tickets.Promise(ticket.Unload, m.ID, 0, m.ID), nil
}

// Unloaded repeats the request to the backend, which gives the same answer.
func (s *Runs) Unloaded(id string) (future.PendingResult, error) {
	f, err := s.Backend.UnloadModel(s.Life.Ctx, id)
	if err != nil {
		return future.PendingResult{}, err
	}
	return future.PendingResult{Done: f.Done(), Result: future.ResultOf(f)}, nil
}

func (s *Runs) GetInfo(c *edge.Call, req wire.GetInfoRequest) (any, error) {
	m, err := s.trainer(c, req.ModelID)
	if err != nil {
		return nil, err
	}
	info, err := m.Client.Info(c.Ctx)
	if err != nil {
		return nil, err
	}
	s.State.Lock()
	name := s.State.BaseOf(m.ID, info.BaseModel)
	s.State.Unlock()
	return wire.GetInfoResponse{Type: "get_info", ModelID: m.ID, IsLoRA: info.LoRA.Rank > 0, LoRARank: info.LoRA.Rank,
		LoRAAlpha: info.LoRA.Alpha, OptimizerConfig: wire.FromOptimizer(info.OptimizerType),
		ModelName: name, BaseDtype: info.BaseDtype, NextSeqID: info.NextSeqID,
		ModelData: wire.ModelData{ModelName: name, TokenizerID: s.Names.TokenizerID(name, info.BaseModel)}}, nil
}
