package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// alpha is the LoRA alpha of every adapter in the protocol.
const alpha = 32

// CreateModel implements tinker.Service. The package comment describes SessionID. If it is empty, the model gets the
// next number of this process's own session and ModelSeqID is ignored.
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
	lora := wire.FromLoRA(req.LoRA)
	if lora.Seed != nil && c.is(skyrl) {
		seed := *lora.Seed & narrow
		lora.Seed = &seed
	}
	return c.createModel(ctx, s, wire.CreateModelRequest{SessionID: s.id, ModelSeqID: n, BaseModel: req.BaseModel,
		UserMetadata: meta, LoRA: lora, OptimizerConfig: wire.FromOptimizer(req.OptimizerType),
		Type: "create_model"}, "")
}

// place returns the session of a name and the model's number in it.
func (c *Client) place(ctx context.Context, name string, n int64) (*session, int64, error) {
	s, err := c.session(ctx, name)
	if err == nil && name == "" {
		n = s.next(&s.models)
	}
	return s, n, err
}

// createModel creates a model. If there is no room, it unloads models of earlier processes; from is the model whose
// state will be loaded.
func (c *Client) createModel(ctx context.Context, s *session, body wire.CreateModelRequest,
	from string) (*trainingClient, error) {
	ctx, done := c.within(ctx)
	defer done()
	var out wire.CreateModelResponse
	err := c.withRoom(ctx, from, func() error {
		return c.inSession(ctx, &s, func() (err error) {
			body.SessionID = s.id
			out, err = c.askModel(ctx, body)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	if out.ModelID == "" {
		return nil, serverf("client: %s created a model without an id", c.base)
	}
	m := c.model(out.ModelID, body.LoRA.Tinker())
	if s.reopened {
		return m, m.catchUp(ctx)
	}
	return m, c.made(m)
}

func (c *Client) askModel(ctx context.Context, body wire.CreateModelRequest) (out wire.CreateModelResponse, err error) {
	r, err := post("/create_model", body)
	if err != nil {
		return out, err
	}
	r.window = 0
	p, err := c.promised(ctx, r, "CreateModel", false)
	if err != nil {
		return out, err
	}
	return result(ctx, c, p, object[wire.CreateModelResponse])
}

// made reports a new model to the caller.
func (c *Client) made(m *trainingClient) error {
	if c.OnModel == nil {
		return nil
	}
	if err := c.OnModel(m.id); err != nil {
		return fmt.Errorf("client: model %s: %w", m.id, err)
	}
	return nil
}

// CreateModelFromState implements tinker.Service: in one request if the server offers that, else in three, the last of
// which is the model's seq_id 1.
func (c *Client) CreateModelFromState(ctx context.Context,
	req tinker.CreateFromStateRequest) (tinker.TrainingClient, error) {
	s, n, err := c.place(ctx, req.SessionID, req.ModelSeqID)
	if err != nil {
		return nil, err
	}
	if c.config.CreateByLoad {
		return c.createByLoad(ctx, s, n, req)
	}
	info, err := c.WeightsInfo(ctx, req.Path)
	if errors.Is(err, tinker.ErrNotFound) {
		return nil, fmt.Errorf("%w; %s does not have the state %s: SkyRL keeps states as long as its --database-url "+
			"and --checkpoints-base stay, TuFT forgets them when it is restarted unless its configuration enables "+
			"persistence; start the server with its old data, or begin under another name", err, c.base, req.Path)
	}
	if err != nil {
		return nil, err
	}
	if info.LoRARank == nil {
		return nil, userf("client: %s has no adapter (%s gives no lora_rank for it)", req.Path, c.base)
	}
	lora := wire.LoRA{Rank: *info.LoRARank, TrainUnembed: orTrue(info.TrainUnembed), TrainMLP: orTrue(info.TrainMLP),
		TrainAttn: orTrue(info.TrainAttn)}
	from, err := tinker.ParsePath(req.Path)
	if err != nil {
		return nil, err
	}
	m, err := c.createModel(ctx, s, wire.CreateModelRequest{SessionID: s.id, ModelSeqID: n,
		BaseModel: info.BaseModel, LoRA: &lora,
		OptimizerConfig: wire.FromOptimizer(req.OptimizerType), Type: "create_model"}, from.ModelID)
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

func (c *Client) createByLoad(ctx context.Context, s *session, n int64,
	req tinker.CreateFromStateRequest) (*trainingClient, error) {
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
	if out.ModelID == "" { // the form of ids in the protocol
		out.ModelID = fmt.Sprintf("%s:train:%d", s.id, n)
	}
	m := c.model(out.ModelID, tinker.LoRA{})
	if s.reopened {
		return m, m.catchUp(ctx)
	}
	return m, c.made(m)
}

// model returns the client of a model id; there is one per id.
func (c *Client) model(id string, lora tinker.LoRA) *trainingClient {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.models[id]
	if m == nil {
		m = &trainingClient{client: c, id: id, turn: make(chan struct{}, 1), next: 1, lora: lora,
			breaks: c.breaks.Load()}
		c.models[id] = m
	}
	return m
}
