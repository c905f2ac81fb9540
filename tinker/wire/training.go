package wire

import (
	"math"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// CreateModelRequest is the body of create_model.
type CreateModelRequest struct {
	SessionID       string         `json:"session_id"`
	ModelSeqID      int64          `json:"model_seq_id"`
	BaseModel       string         `json:"base_model"`
	UserMetadata    map[string]any `json:"user_metadata,omitempty"`
	LoRA            *LoRA          `json:"lora_config,omitempty"`
	OptimizerConfig *Optimizer     `json:"optimizer_config,omitempty"`
	Type            string         `json:"type"` // create_model
}

// LoRA is lora_config. Absent flags are true.
type LoRA struct {
	Rank         int    `json:"rank"`
	Seed         *int64 `json:"seed,omitempty" null:"ok"`
	TrainUnembed *bool  `json:"train_unembed,omitempty"`
	TrainMLP     *bool  `json:"train_mlp,omitempty"`
	TrainAttn    *bool  `json:"train_attn,omitempty"`
}

// Tinker converts to package tinker's type.
func (l LoRA) Tinker() tinker.LoRA {
	on := func(b *bool) bool { return b == nil || *b }
	return tinker.LoRA{Rank: l.Rank, Seed: l.Seed, TrainAttn: on(l.TrainAttn), TrainMLP: on(l.TrainMLP),
		TrainUnembed: on(l.TrainUnembed)}
}

// FromLoRA is the inverse of Tinker. The protocol has no alpha: it is 32.
func FromLoRA(l tinker.LoRA) *LoRA {
	return &LoRA{Rank: l.Rank, Seed: l.Seed, TrainUnembed: &l.TrainUnembed, TrainMLP: &l.TrainMLP,
		TrainAttn: &l.TrainAttn}
}

// CreateModelResponse is the result of create_model.
type CreateModelResponse struct {
	Type    string `json:"type"` // create_model
	ModelID string `json:"model_id"`
}

// GetInfoRequest is the body of get_info and of unload_model.
type GetInfoRequest struct {
	ModelID string `json:"model_id"`
	Type    string `json:"type"` // get_info or unload_model
}

// GetInfoResponse describes a model.
type GetInfoResponse struct {
	Type      string    `json:"type"` // get_info
	ModelID   string    `json:"model_id"`
	ModelData ModelData `json:"model_data"`
	IsLoRA    bool      `json:"is_lora"`
	LoRARank  int       `json:"lora_rank"`
	LoRAAlpha float64   `json:"lora_alpha"` // not of the official protocol
	ModelName string    `json:"model_name"`
	BaseDtype string    `json:"base_dtype,omitempty"`  // not of the official protocol: bf16, int8 or int4
	NextSeqID int64     `json:"next_seq_id,omitempty"` // not of the official protocol: the next free number
	// OptimizerConfig is the run's; absent it is AdamW.
	OptimizerConfig *Optimizer `json:"optimizer_config,omitempty"`
}

// ModelData is the part of GetInfoResponse that names the tokenizer.
type ModelData struct {
	Arch        string `json:"arch,omitempty"`
	ModelName   string `json:"model_name"`
	TokenizerID string `json:"tokenizer_id,omitempty"`
}

// OptimStepRequest is the body of optim_step.
type OptimStepRequest struct {
	Adam            *adam        `json:"adam_params,omitempty"`
	OptimizerParams *optimParams `json:"optimizer_params,omitempty"` // of other optimizers
	ModelID         string       `json:"model_id"`
	SeqID           int64        `json:"seq_id"`
	Type            string       `json:"type"` // optim_step
}

// adam is adam_params; absent numbers have the SDK's defaults.
type adam struct {
	LearningRate *float64 `json:"learning_rate,omitempty"`
	Beta1        *float64 `json:"beta1,omitempty"`
	Beta2        *float64 `json:"beta2,omitempty"`
	Eps          *float64 `json:"eps,omitempty"`
	WeightDecay  *float64 `json:"weight_decay,omitempty"`
	GradClipNorm *float64 `json:"grad_clip_norm,omitempty"`
}

// Tinker converts to package tinker's type and fills in defaults.
func (a adam) Tinker() tinker.AdamParams {
	p := tinker.DefaultAdam()
	for _, v := range []struct {
		from *float64
		to   *float64
	}{{a.LearningRate, &p.LearningRate}, {a.Beta1, &p.Beta1}, {a.Beta2, &p.Beta2}, {a.Eps, &p.Eps},
		{a.WeightDecay, &p.WeightDecay}, {a.GradClipNorm, &p.GradClipNorm}} {
		if v.from != nil {
			*v.to = *v.from
		}
	}
	return p
}

// fromAdam is the inverse of Tinker.
func fromAdam(p tinker.AdamParams) *adam {
	return &adam{&p.LearningRate, &p.Beta1, &p.Beta2, &p.Eps, &p.WeightDecay, &p.GradClipNorm}
}

// OptimStepResponse is the result of optim_step.
type OptimStepResponse struct {
	Metrics map[string]float64 `json:"metrics"`
}

// FiniteMetrics leaves out metrics that are not finite, which JSON cannot represent.
func FiniteMetrics(m map[string]float64) map[string]float64 {
	out := map[string]float64{}
	for k, v := range m {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			out[k] = v
		}
	}
	return out
}
