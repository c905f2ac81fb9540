// Package tinker is the Tinker training API as Go types and small interfaces.
//
// Package engine implements Service in this process, package journal makes any deterministic Service durable,
// tinker/client implements it over HTTP, and tinker/server serves any implementation. The training loops use only this
// package, so a run is the same code on a laptop's CPU and against a remote trainer. The suite in tinker/tinkertest
// tests the contracts below.
//
// Code that is the same above every implementation is here too: splitting big batches and combining their results
// (chunk.go), custom losses from forward and cross_entropy (custom.go), and checkpoint paths (path.go).
package tinker

import "context"

// Service is a training and sampling service for one or more base models. All methods are safe for concurrent use.
//
// Errors that the caller can correct are of type *Error with Category User; ErrNotFound and ErrExists are wrapped
// if they apply.
type Service interface {
	// Capabilities lists the base models and the guarantees of the service.
	Capabilities(ctx context.Context) (Capabilities, error)
	// CreateModel starts a training run. With SessionID set, the pair (SessionID, ModelSeqID) is its key: a repeated
	// request returns the same model in its current state, and a different request with the same key is a User error.
	CreateModel(ctx context.Context, req CreateModelRequest) (TrainingClient, error)
	// CreateModelFromState starts a training run whose adapter (and optimizer, if asked) come from a saved state. The
	// key is as for CreateModel.
	CreateModelFromState(ctx context.Context, req CreateFromStateRequest) (TrainingClient, error)
	// SamplingClient samples from base weights or from saved sampler weights. The weights it holds never change, unless
	// it is a Mover.
	SamplingClient(ctx context.Context, req SamplingClientRequest) (SamplingClient, error)
	// DeleteCheckpoint removes a saved checkpoint by its tinker:// path; a missing one is ErrNotFound. Open sampling
	// clients keep their weights.
	DeleteCheckpoint(ctx context.Context, path string) error
	// Close ends the service; calls in flight end with ErrClosed. It returns when the service's goroutines have ended.
	Close() error
}

// TrainingClient drives one model. Every call returns as soon as the request is accepted; its result is the future.
//
// Acceptance is ordered by SeqID: 1, 2, 3 … per model, each exactly once. A request with SeqID 0 takes the next
// number. Requests run in SeqID order, in whatever order they arrive; so OptimStep can be sent right after
// ForwardBackward. A request whose SeqID was used before is not run again: it gets the first one's result, or a User
// error when it differs. A request that fails has used its number but changed nothing. The slices of a request must
// not change until its future is resolved. NextSeqID of Info is one above the highest number accepted.
type TrainingClient interface {
	// Info describes the model; it takes no SeqID and does not wait.
	Info(ctx context.Context) (ModelInfo, error)
	// Forward computes the loss and its outputs and does not change the gradient.
	Forward(ctx context.Context, req ForwardRequest) (*Future[ForwardOutput], error)
	// ForwardBackward also adds the gradient of the loss, a sum over all positions of all datums, to the model's
	// gradient.
	ForwardBackward(ctx context.Context, req ForwardRequest) (*Future[ForwardOutput], error)
	// OptimStep applies AdamW to the gradient gathered since the last one and clears it.
	OptimStep(ctx context.Context, req OptimStepRequest) (*Future[OptimStepOutput], error)
	// SaveState saves weights and optimizer under tinker://<model>/weights/<name>.
	SaveState(ctx context.Context, req SaveRequest) (*Future[SaveOutput], error)
	// LoadState replaces weights (and optimizer, or resets it) by a saved state's. The gradient is cleared.
	LoadState(ctx context.Context, req LoadRequest) (*Future[LoadOutput], error)
	// SaveWeightsForSampler freezes the weights as they are at this SeqID under
	// tinker://<model>/sampler_weights/<name>.
	SaveWeightsForSampler(ctx context.Context, req SaveRequest) (*Future[SaveOutput], error)
}

// SamplingClient samples from weights that never change, unless it is a Mover.
type SamplingClient interface {
	// Sample draws NumSamples continuations of one prompt, all in one result in order. The result is a pure function
	// of weights and request when Params.Seed is set. When ctx ends, the request is cancelled and its future has ctx's
	// error.
	Sample(ctx context.Context, req SampleRequest) (*Future[SampleResponse], error)
}

// Capabilities describes a Service.
type Capabilities struct {
	Models []SupportedModel `json:"supported_models"`
	// ExactLogprobs: a sampler's logprobs and the forward's at the same weights are the same bits.
	ExactLogprobs bool `json:"exact_logprobs"`
	// ExactEntropy: every loss takes entropy_coef in its loss_fn_config and then returns the entropies over the whole
	// vocabulary.
	ExactEntropy bool `json:"exact_entropy"`
	// SilentDatums: a datum at which a request's loss has no derivative, whatever the weights, changes no bit of the
	// gradient. It may be left out of the request.
	SilentDatums bool `json:"silent_datums"`
	// FullParameter: rank 0 trains all weights.
	FullParameter bool `json:"full_parameter"`
}

// SupportedModel is one base model.
type SupportedModel struct {
	Name          string `json:"model_name"`
	ContextLength int    `json:"max_context_length"` // tokens
}

// ModelInfo describes a training run.
type ModelInfo struct {
	ModelID   string `json:"model_id"`
	BaseModel string `json:"base_model"`
	// BaseDtype is bf16, int8 or int4, as the base model's matrices are held; "" if the service does not say.
	BaseDtype string `json:"base_dtype,omitempty"`
	LoRA      LoRA   `json:"lora_config"`
	// OptimizerType is as in CreateModelRequest.
	OptimizerType string `json:"optimizer_type,omitempty"`
	NextSeqID     int64  `json:"next_seq_id"` // the SeqID a request with 0 would take now
	// TokenizerID names the base model's tokenizer on the hub or on the server itself, which may serve tokenizers as a
	// hub does; "" if the service names none.
	TokenizerID string `json:"tokenizer_id,omitempty"`
}
