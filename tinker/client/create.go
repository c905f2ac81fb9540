package client

import (
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// alpha is that of every adapter on the protocol.
const alpha = 32

// CreateModel implements tinker.Service. The package comment tells what SessionID means here. With an empty one the
// model gets the next number of this process's own session, whatever ModelSeqID says.
func (c *Client) CreateModel(ctx context.Context, req tinker.CreateModelRequest) (tinker.TrainingClient, error) {
	switch {
	case req.RandomInit:
		return nil, userf("client: random_init: a server starts from its own weights; use the local engine")
	case req.LoRA.Alpha != 0 && req.LoRA.Alpha != alpha:
		return nil, userf("client: alpha is %v; adapters on a server have alpha %d", req.LoRA.Alpha, alpha)
	}
	s, n, err := c.place(ctx, req.SessionID, req.ModelSeqID)
	if err != nil {
		return nil, err
	}
	meta := make(map[string]any, len(req.UserMetadata))
	for k, v := range req.UserMetadata {
		meta[k] = v
	}
	return c.createModel(ctx, s, wire.CreateModelRequest{SessionID: s.id, ModelSeqID: n, BaseModel: req.BaseModel,
		UserMetadata: meta, LoRA: wire.FromLoRA(req.LoRA), OptimizerConfig: wire.FromOptimizer(req.OptimizerType),
		Type: "create_model"})
}

// place is the session of a name, and the number in it.
func (c *Client) place(ctx context.Context, name string, n int64) (*session, int64, error) {
	s, err := c.session(ctx, name)
	if err == nil && name == "" {
		n = s.next(&s.models)
	}
	return s, n, err
}

func (c *Client) createModel(ctx context.Context, s *session, body wire.CreateModelRequest) (*model, error) {
	r, err := post("/create_model", body)
	if err != nil {
		return nil, err
	}
	r.window = 0
	ctx, done := c.within(ctx)
	defer done()
	p, err := c.promised(ctx, r, "CreateModel", false)
	if err != nil {
		return nil, err
	}
	out, err := result(ctx, c, p, object[wire.CreateModelResponse])
	if err != nil {
		return nil, err
	}
	if out.ModelID == "" {
		return nil, serverf("client: %s made a model without an id", c.base)
	}
	m := c.model(out.ModelID, body.LoRA.Tinker())
	if s.reopened {
		err = m.catchUp(ctx)
	}
	return m, err
}

// CreateModelFromState implements tinker.Service: in one request where the server offers that, else in three, the last
// of which is the model's seq_id 1.
func (c *Client) CreateModelFromState(ctx context.Context, req tinker.CreateFromStateRequest) (tinker.TrainingClient, error) {
	s, n, err := c.place(ctx, req.SessionID, req.ModelSeqID)
	if err != nil {
		return nil, err
	}
	if c.config.CreateByLoad {
		return c.createByLoad(ctx, s, n, req)
	}
	info, err := c.WeightsInfo(ctx, req.Path)
	if err != nil {
		return nil, err
	}
	if info.LoRARank == nil {
		return nil, userf("client: %s has no adapter (%s gives no lora_rank for it)", req.Path, c.base)
	}
	lora := wire.LoRA{Rank: *info.LoRARank, TrainUnembed: orTrue(info.TrainUnembed), TrainMLP: orTrue(info.TrainMLP), TrainAttn: orTrue(info.TrainAttn)}
	m, err := c.createModel(ctx, s, wire.CreateModelRequest{SessionID: s.id, ModelSeqID: n,
		BaseModel: info.BaseModel, LoRA: &lora,
		OptimizerConfig: wire.FromOptimizer(req.OptimizerType), Type: "create_model"})
	if err != nil {
		return nil, err
	}
	f, err := m.LoadState(ctx, tinker.LoadRequest{SeqID: 1, Path: req.Path, Optimizer: req.Optimizer})
	if err != nil {
		return nil, err
	}
	_, err = f.Wait(ctx)
	return m, err
}

func orTrue(b *bool) *bool {
	if b == nil {
		yes := true
		return &yes
	}
	return b
}

func (c *Client) createByLoad(ctx context.Context, s *session, n int64, req tinker.CreateFromStateRequest) (*model, error) {
	r, err := post("/load_weights", wire.LoadRequest{SessionID: s.id, ModelSeqID: &n, Path: req.Path,
		Optimizer:       req.Optimizer,
		OptimizerConfig: wire.FromOptimizer(req.OptimizerType), Type: "load_weights"})
	if err != nil {
		return nil, err
	}
	ctx, done := c.within(ctx)
	defer done()
	p, err := c.promised(ctx, r, "LoadWeights", false)
	if err != nil {
		return nil, err
	}
	out, err := result(ctx, c, p, object[wire.LoadResponse])
	if err != nil {
		return nil, err
	}
	if out.ModelID == "" { // the protocol's form of ids
		out.ModelID = fmt.Sprintf("%s:train:%d", s.id, n)
	}
	m := c.model(out.ModelID, tinker.LoRA{})
	if s.reopened {
		err = m.catchUp(ctx)
	}
	return m, err
}

// model is the one model of an id.
func (c *Client) model(id string, lora tinker.LoRA) *model {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.models[id]
	if m == nil {
		m = &model{client: c, id: id, turn: make(chan struct{}, 1), next: 1, lora: lora}
		c.models[id] = m
	}
	return m
}
