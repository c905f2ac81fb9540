package wire

import (
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Capabilities is the answer of get_server_capabilities.
type Capabilities struct {
	SupportedModels []SupportedModel `json:"supported_models"`
	// these are not of the official protocol
	ExactLogprobs bool `json:"exact_logprobs,omitempty"`
	ExactEntropy  bool `json:"exact_entropy,omitempty"`
	SilentDatums  bool `json:"silent_datums,omitempty"`
}

// SupportedModel is one base model.
type SupportedModel struct {
	ModelName        string `json:"model_name"`
	MaxContextLength int    `json:"max_context_length"`
	Trainable        *bool  `json:"trainable,omitempty"`
	Sampleable       *bool  `json:"sampleable,omitempty"`
}

// Sampler is the answer of samplers/{id}.
type Sampler struct {
	SamplerID string  `json:"sampler_id"`
	BaseModel string  `json:"base_model"`
	ModelPath *string `json:"model_path"`
}

// The types of checkpoints in REST answers.
const (
	typeTraining = "training"
	TypeSampler  = "sampler"
)

// TypeOf is the REST name of a kind.
func TypeOf(k tinker.Kind) string {
	if k == tinker.KindState {
		return typeTraining
	}
	return TypeSampler
}

// Checkpoint describes a saved checkpoint.
type Checkpoint struct {
	CheckpointID   string            `json:"checkpoint_id"` // <kind>/<name>
	CheckpointType string            `json:"checkpoint_type"`
	Time           time.Time         `json:"time"`
	TinkerPath     string            `json:"tinker_path"`
	SizeBytes      *int64            `json:"size_bytes"`
	Public         bool              `json:"public"`
	ExpiresAt      *time.Time        `json:"expires_at"`
	UserMetadata   map[string]string `json:"user_metadata,omitempty"`
}

// Cursor is the place of a page in a list.
type Cursor struct {
	Offset     int `json:"offset"`
	Limit      int `json:"limit"`
	TotalCount int `json:"total_count"`
}

// Checkpoints is a list of checkpoints.
type Checkpoints struct {
	Checkpoints []Checkpoint `json:"checkpoints"`
	Cursor      *Cursor      `json:"cursor"`
}

// TrainingRun describes a training run.
type TrainingRun struct {
	TrainingRunID         string            `json:"training_run_id"`
	BaseModel             string            `json:"base_model"`
	ModelOwner            string            `json:"model_owner"`
	IsLoRA                bool              `json:"is_lora"`
	Corrupted             bool              `json:"corrupted"`
	LoRARank              *int              `json:"lora_rank"`
	LastRequestTime       time.Time         `json:"last_request_time"`
	LastCheckpoint        *Checkpoint       `json:"last_checkpoint"`
	LastSamplerCheckpoint *Checkpoint       `json:"last_sampler_checkpoint"`
	UserMetadata          map[string]string `json:"user_metadata"`
}

// TrainingRuns is a page of training runs.
type TrainingRuns struct {
	TrainingRuns []TrainingRun `json:"training_runs"`
	Cursor       Cursor        `json:"cursor"`
}

// WeightsInfoRequest is the body of weights_info.
type WeightsInfoRequest struct {
	TinkerPath string `json:"tinker_path"`
}

// WeightsInfo describes a checkpoint as far as loading it needs.
type WeightsInfo struct {
	BaseModel    string `json:"base_model"`
	IsLoRA       bool   `json:"is_lora"`
	LoRARank     *int   `json:"lora_rank"`
	TrainUnembed *bool  `json:"train_unembed"`
	TrainMLP     *bool  `json:"train_mlp"`
	TrainAttn    *bool  `json:"train_attn"`
	// OptimizerConfig is the saved run's; absent it is AdamW.
	OptimizerConfig *Optimizer `json:"optimizer_config,omitempty"`
}

// TTLRequest is the body of PUT …/ttl; null keeps the checkpoint.
type TTLRequest struct {
	TTLSeconds *int64 `json:"ttl_seconds" null:"ok"`
}

// ArchiveURL is the answer of …/archive.
type ArchiveURL struct {
	URL     string    `json:"url"`
	Expires time.Time `json:"expires"`
}

// Sessions lists session ids.
type Sessions struct {
	Sessions []string `json:"sessions"`
}

// Session is the answer of sessions/{id}.
type Session struct {
	TrainingRunIDs []string          `json:"training_run_ids"`
	SamplerIDs     []string          `json:"sampler_ids"`
	UserMetadata   map[string]string `json:"user_metadata"`
	DisplayName    *string           `json:"display_name"`
}
