package client

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// trainingClient is a tinker.TrainingClient. Its requests are submitted one at a time, in the order of the calls.
type trainingClient struct {
	client *Client
	id     string
	turn   chan struct{} // holds the token of the request that is being submitted
	next   int64         // the number of a request with SeqID 0; owned by the turn
	lora   tinker.LoRA   // as requested; get_info has only the rank
	breaks int64         // Client.breaks at the time of creation
}

// Limits returns the largest chunk of a batch that the server accepts, for tinker.Submit.
func (m *trainingClient) Limits() tinker.Limits {
	return tinker.Limits{Datums: m.client.config.ChunkDatums, Bytes: m.client.config.ChunkBytes}
}

// submit waits for its turn, numbers the request and sends it. The number is used up as soon as anything was sent.
func (m *trainingClient) submit(ctx context.Context, seq int64, kind string, proto bool,
	build func(seq int64) (*apiRequest, error)) (promise, error) {
	c := m.client
	ctx, done := c.within(ctx)
	defer done()
	select {
	case m.turn <- struct{}{}:
	case <-ctx.Done():
		return promise{}, context.Cause(ctx)
	}
	defer func() { <-m.turn }()
	if ctx.Err() != nil {
		return promise{}, context.Cause(ctx)
	}
	seq = cmp.Or(seq, m.next)
	if err := m.intact(); err != nil {
		return promise{}, err
	}
	r, err := build(seq)
	if err != nil {
		return promise{}, err
	}
	m.next = max(m.next, seq+1)
	p, err := c.promised(ctx, r, kind, proto)
	p.model = m.id
	return p, c.lost(m.id, kind, err)
}

// Info implements tinker.TrainingClient.
func (m *trainingClient) Info(ctx context.Context) (tinker.ModelInfo, error) {
	out, err := m.info(ctx)
	if err != nil {
		return tinker.ModelInfo{}, err
	}
	base := out.ModelName
	base = cmp.Or(base, out.ModelData.ModelName)
	select {
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
	case <-ctx.Done():
		return tinker.ModelInfo{}, context.Cause(ctx)
	}
	lora := m.lora
	lora.Rank, lora.Alpha = out.LoRARank, alpha
	tokenizer, _, _ := strings.Cut(out.ModelData.TokenizerID, ":") // as the SDK does: variants share a tokenizer
	info := tinker.ModelInfo{ModelID: m.id, BaseModel: base, BaseDtype: out.BaseDtype, LoRA: lora,
		NextSeqID: max(m.next, out.NextSeqID), TokenizerID: tokenizer}
	if out.OptimizerConfig != nil {
		info.OptimizerType = out.OptimizerConfig.Type
	}
	return info, nil
}

func (m *trainingClient) info(ctx context.Context) (out wire.GetInfoResponse, err error) {
	err = m.client.postJSON(ctx, "/get_info", wire.GetInfoRequest{ModelID: m.id, Type: "get_info"}, &out)
	return out, m.client.lost(m.id, "GetInfo", err)
}

// catchUp gets the next seq_id of a model of an earlier process.
func (m *trainingClient) catchUp(ctx context.Context) error {
	out, err := m.info(ctx)
	if err != nil {
		return err
	}
	if out.NextSeqID < 1 {
		return userf("client: %s does not report the next seq_id of model %s, so it cannot be continued; create a "+
			"model from a saved state", m.client.base, m.id)
	}
	m.turn <- struct{}{}
	m.next = max(m.next, out.NextSeqID)
	<-m.turn
	return nil
}

// Forward implements tinker.TrainingClient.
func (m *trainingClient) Forward(ctx context.Context,
	req tinker.ForwardRequest) (*tinker.Future[tinker.ForwardOutput], error) {
	return m.forward(ctx, req, "Forward")
}

// ForwardBackward implements tinker.TrainingClient.
func (m *trainingClient) ForwardBackward(ctx context.Context,
	req tinker.ForwardRequest) (*tinker.Future[tinker.ForwardOutput], error) {
	return m.forward(ctx, req, "ForwardBackward")
}

func (m *trainingClient) forward(ctx context.Context, req tinker.ForwardRequest,
	kind string) (*tinker.Future[tinker.ForwardOutput], error) {
	p, err := m.submit(ctx, req.SeqID, kind, true, func(seq int64) (*apiRequest, error) {
		r := &apiRequest{method: http.MethodPost, path: "/forward_backward", contentType: wire.Proto, retries: retries,
			window: window}
		r.body = wire.EncodeForwardBackward(wire.ForwardBackward{ModelID: m.id, SeqID: seq, Data: req.Data,
			LossFn:       req.LossFn,
			LossFnConfig: req.LossFnConfig, ForwardOnly: kind == "Forward"})
		if m.client.zstd == nil {
			return r, nil
		}
		r.body, r.encoding = m.client.zstd.EncodeAll(r.body, nil), "zstd"
		return r, nil
	})
	if err != nil {
		return nil, err
	}
	return future(m.client, p, wire.DecodeOutput), nil
}

// OptimStep implements tinker.TrainingClient.
func (m *trainingClient) OptimStep(ctx context.Context,
	req tinker.OptimStepRequest) (*tinker.Future[tinker.OptimStepOutput], error) {
	p, err := m.submit(ctx, req.SeqID, "OptimStep", false, func(seq int64) (*apiRequest, error) {
		return post("/optim_step", wire.FromOptimStep(m.id, seq, req))
	})
	if err != nil {
		return nil, err
	}
	return future(m.client, p, object[tinker.OptimStepOutput]), nil
}

// saveStateBody always has overwrite, as in the SDK.
type saveStateBody struct {
	wire.SaveRequest
	Overwrite bool `json:"overwrite"`
}

// SaveState implements tinker.TrainingClient.
func (m *trainingClient) SaveState(ctx context.Context,
	req tinker.SaveRequest) (*tinker.Future[tinker.SaveOutput], error) {
	return m.save(ctx, req, "SaveWeights", func(body wire.SaveRequest) (*apiRequest, error) {
		body.Type = "save_weights"
		return post("/save_weights", saveStateBody{body, req.Overwrite})
	})
}

// SaveWeightsForSampler implements tinker.TrainingClient.
func (m *trainingClient) SaveWeightsForSampler(ctx context.Context,
	req tinker.SaveRequest) (*tinker.Future[tinker.SaveOutput], error) {
	return m.save(ctx, req, "SaveWeightsForSampler", func(body wire.SaveRequest) (*apiRequest, error) {
		body.Type, body.Overwrite = "save_weights_for_sampler", req.Overwrite
		return post("/save_weights_for_sampler", body)
	})
}

func (m *trainingClient) save(ctx context.Context, req tinker.SaveRequest, kind string,
	build func(wire.SaveRequest) (*apiRequest, error)) (*tinker.Future[tinker.SaveOutput], error) {
	p, err := m.submit(ctx, req.SeqID, kind, false, func(seq int64) (*apiRequest, error) {
		body := wire.SaveRequest{ModelID: m.id, Path: &req.Name, SeqID: seq}
		if req.TTL != 0 {
			seconds := int64((req.TTL + time.Second - 1) / time.Second)
			body.TTLSeconds = &seconds
		}
		r, err := build(body)
		if err != nil {
			return nil, err
		}
		r.retries, r.conflict = 0, true // a repetition would not free the name
		return r, nil
	})
	if err != nil {
		return nil, err
	}
	return tinker.Then(future(m.client, p, object[tinker.SaveOutput]),
		func(o tinker.SaveOutput) (tinker.SaveOutput, error) {
			// SkyRL's form
			if bare := "tinker://" + m.id + "/"; kind == "SaveWeightsForSampler" && o.Path == bare+req.Name {
				o.Path = tinker.Path{ModelID: m.id, Kind: tinker.KindSampler, Name: req.Name}.String()
			}
			return o, nil
		}), nil
}

// LoadState implements tinker.TrainingClient.
func (m *trainingClient) LoadState(ctx context.Context,
	req tinker.LoadRequest) (*tinker.Future[tinker.LoadOutput], error) {
	p, err := m.submit(ctx, req.SeqID, "LoadWeights", false, func(seq int64) (*apiRequest, error) {
		return post("/load_weights", wire.LoadRequest{ModelID: m.id, SeqID: seq, Path: req.Path,
			Optimizer: req.Optimizer, Type: "load_weights"})
	})
	if err != nil {
		return nil, err
	}
	return tinker.Then(future(m.client, p, object[tinker.LoadOutput]),
		func(o tinker.LoadOutput) (tinker.LoadOutput, error) {
			o.Path = cmp.Or(o.Path, req.Path)
			return o, nil
		}), nil
}
