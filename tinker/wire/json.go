package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// ClientConfigRequest is the body of client/config and client/dynamic_config.
type ClientConfigRequest struct {
	SDKVersion string `json:"sdk_version"`
}

// ClientConfig is the answer of client/config: flags that a client keeps for its life. Pointers tell absent from zero,
// since an absent flag has the client's default.
type ClientConfig struct {
	PJWTAuthEnabled              bool   `json:"pjwt_auth_enabled"`
	CredentialDefaultSource      string `json:"credential_default_source,omitempty"`
	ParallelFwdBwdChunks         *bool  `json:"parallel_fwdbwd_chunks,omitempty"`         // default true
	ProtoCompressFwdBwd          bool   `json:"proto_compress_fwdbwd"`                    // zstd bodies are taken
	FwdBwdMaxChunkLen            int    `json:"fwdbwd_max_chunk_len,omitempty"`           // datums; default 1024
	FwdBwdMaxChunkBytesCount     int    `json:"fwdbwd_max_chunk_bytes_count,omitempty"`   // default 5,000,000
	SampleMaxConcurrentRequests  int    `json:"sample_max_concurrent_requests,omitempty"` // default 2000
	UsePyqwestTransport          *bool  `json:"use_pyqwest_transport,omitempty"`          // default true
	CreateModelViaLoadWeights    bool   `json:"create_model_via_load_weights"`
	SampleUseRetrieveFutures     bool   `json:"sample_use_retrieve_futures"`
	SampleJoinSamplingSession    bool   `json:"sample_join_sampling_session"`
	CustomLossServerSide         bool   `json:"custom_loss_server_side"`
	BillingMaxPauseSeconds       *int   `json:"billing_exception_max_pause_duration_sec,omitempty"` // default 3600
	SampleDispatchBytesSemaphore int    `json:"sample_dispatch_bytes_semaphore_size,omitempty"`
}

// DynamicConfig is the answer of client/dynamic_config.
type DynamicConfig struct {
	RefreshIntervalSec  int  `json:"refresh_interval_sec"`
	SampleCancelEnabled bool `json:"sample_cancel_enabled"`
}

// TokenResponse is the answer of auth/token.
type TokenResponse struct {
	JWT string `json:"jwt"`
}

// CreateSessionRequest begins a session.
type CreateSessionRequest struct {
	Tags         []string       `json:"tags"`
	UserMetadata map[string]any `json:"user_metadata"`
	SDKVersion   string         `json:"sdk_version"`
	ProjectID    string         `json:"project_id,omitempty"`
	DisplayName  string         `json:"display_name,omitempty"`
	Type         string         `json:"type"` // create_session
}

// CreateSessionResponse names the session. Messages are shown to the user.
type CreateSessionResponse struct {
	Type           string `json:"type"` // create_session
	SessionID      string `json:"session_id"`
	InfoMessage    string `json:"info_message,omitempty"`
	WarningMessage string `json:"warning_message,omitempty"`
	ErrorMessage   string `json:"error_message,omitempty"`
}

// Heartbeat is the body of session_heartbeat, and with only its type the answer.
type Heartbeat struct {
	SessionID string `json:"session_id,omitempty"`
	Type      string `json:"type"` // session_heartbeat
}

// Promise is the answer of everything whose result is fetched later.
type Promise struct {
	RequestID         string   `json:"request_id"`
	ModelID           string   `json:"model_id,omitempty"`
	SampleSequenceIDs []string `json:"sample_sequence_ids,omitempty"` // of asample: one per sample
}

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

// Tinker is the seam's form.
func (l LoRA) Tinker() tinker.LoRA {
	on := func(b *bool) bool { return b == nil || *b }
	return tinker.LoRA{Rank: l.Rank, Seed: l.Seed, TrainAttn: on(l.TrainAttn), TrainMLP: on(l.TrainMLP), TrainUnembed: on(l.TrainUnembed)}
}

// FromLoRA is the inverse of Tinker. The protocol has no alpha: it is 32.
func FromLoRA(l tinker.LoRA) *LoRA {
	return &LoRA{Rank: l.Rank, Seed: l.Seed, TrainUnembed: &l.TrainUnembed, TrainMLP: &l.TrainMLP, TrainAttn: &l.TrainAttn}
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
	NextSeqID int64     `json:"next_seq_id,omitempty"` // not of the official protocol: the first number that is free
}

// ModelData is the part of GetInfoResponse that tokenizers are found by.
type ModelData struct {
	Arch        string `json:"arch,omitempty"`
	ModelName   string `json:"model_name"`
	TokenizerID string `json:"tokenizer_id,omitempty"`
}

// OptimStepRequest is the body of optim_step.
type OptimStepRequest struct {
	Adam            *Adam        `json:"adam_params,omitempty"`
	OptimizerParams *OptimParams `json:"optimizer_params,omitempty"` // of other optimizers
	ModelID         string       `json:"model_id"`
	SeqID           int64        `json:"seq_id"`
	Type            string       `json:"type"` // optim_step
}

// Adam is adam_params; absent numbers have the SDK's defaults.
type Adam struct {
	LearningRate *float64 `json:"learning_rate,omitempty"`
	Beta1        *float64 `json:"beta1,omitempty"`
	Beta2        *float64 `json:"beta2,omitempty"`
	Eps          *float64 `json:"eps,omitempty"`
	WeightDecay  *float64 `json:"weight_decay,omitempty"`
	GradClipNorm *float64 `json:"grad_clip_norm,omitempty"`
}

// Tinker fills defaults in.
func (a Adam) Tinker() tinker.AdamParams {
	p := tinker.DefaultAdam()
	for _, v := range []struct {
		from *float64
		to   *float64
	}{{a.LearningRate, &p.LearningRate}, {a.Beta1, &p.Beta1}, {a.Beta2, &p.Beta2}, {a.Eps, &p.Eps}, {a.WeightDecay, &p.WeightDecay}, {a.GradClipNorm, &p.GradClipNorm}} {
		if v.from != nil {
			*v.to = *v.from
		}
	}
	return p
}

// FromAdam is the inverse of Tinker.
func FromAdam(p tinker.AdamParams) *Adam {
	return &Adam{&p.LearningRate, &p.Beta1, &p.Beta2, &p.Eps, &p.WeightDecay, &p.GradClipNorm}
}

// OptimStepResponse is the result of optim_step.
type OptimStepResponse struct {
	Metrics map[string]float64 `json:"metrics"`
}

// SaveRequest is the body of save_weights and save_weights_for_sampler. The latter without a path makes an unnamed
// sampler, whose session is numbered SamplingSessionSeqID.
type SaveRequest struct {
	ModelID              string            `json:"model_id"`
	Path                 *string           `json:"path,omitempty"` // the checkpoint's name
	SeqID                int64             `json:"seq_id"`
	TTLSeconds           *int64            `json:"ttl_seconds,omitempty" null:"ok"`
	Overwrite            bool              `json:"overwrite,omitempty"`
	SamplingSessionSeqID *int64            `json:"sampling_session_seq_id,omitempty" null:"ok"`
	UserMetadata         map[string]string `json:"user_metadata,omitempty"`
	Kind                 string            `json:"kind,omitempty"` // snapshot (default) or inflight
	Type                 string            `json:"type"`           // save_weights or save_weights_for_sampler
}

// SaveResponse is the result: a path, or of an unnamed sampler its session.
type SaveResponse struct {
	Type              string `json:"type"` // as the request's
	Path              string `json:"path,omitempty"`
	SamplingSessionID string `json:"sampling_session_id,omitempty"`
}

// LoadRequest is the body of load_weights. With ModelID it loads into that model; with SessionID and ModelSeqID it
// creates the model from the checkpoint.
type LoadRequest struct {
	ModelID            string         `json:"model_id,omitempty"`
	SeqID              int64          `json:"seq_id,omitempty" null:"ok"`
	SessionID          string         `json:"session_id,omitempty"`
	ModelSeqID         *int64         `json:"model_seq_id,omitempty" null:"ok"`
	BaseModel          string         `json:"base_model,omitempty"`
	UserMetadata       map[string]any `json:"user_metadata,omitempty"`
	Path               string         `json:"path"`
	Optimizer          bool           `json:"optimizer"`
	WeightsAccessToken string         `json:"weights_access_token,omitempty"`
	OptimizerConfig    *Optimizer     `json:"optimizer_config,omitempty"`
	Type               string         `json:"type"` // load_weights
}

// LoadResponse is the result of load_weights.
type LoadResponse struct {
	Type    string `json:"type"` // load_weights
	Path    string `json:"path,omitempty"`
	ModelID string `json:"model_id,omitempty"`
}

// CreateSamplingSessionRequest is the body of create_sampling_session.
type CreateSamplingSessionRequest struct {
	SessionID            string `json:"session_id"`
	SamplingSessionSeqID int64  `json:"sampling_session_seq_id"`
	BaseModel            string `json:"base_model,omitempty"`
	ModelPath            string `json:"model_path,omitempty"`
	Type                 string `json:"type"` // create_sampling_session
}

// CreateSamplingSessionResponse names the sampling session.
type CreateSamplingSessionResponse struct {
	Type              string `json:"type"` // create_sampling_session
	SamplingSessionID string `json:"sampling_session_id"`
}

// SampleRequest is the body of asample.
type SampleRequest struct {
	SamplingSessionID  string         `json:"sampling_session_id,omitempty"`
	SeqID              int64          `json:"seq_id"`
	BaseModel          string         `json:"base_model,omitempty"`
	ModelPath          string         `json:"model_path,omitempty"`
	NumSamples         int            `json:"num_samples"`
	Prompt             ModelInput     `json:"prompt"`
	Params             SamplingParams `json:"sampling_params"`
	PromptLogprobs     bool           `json:"prompt_logprobs"`
	TopKPromptLogprobs int            `json:"topk_prompt_logprobs"`
	Type               string         `json:"type"` // sample

	// Of newer SDKs.
	PromptLogprobsLastN  *int          `json:"prompt_logprobs_last_n,omitempty" null:"ok"`
	TopKSampleLogprobs   int           `json:"topk_sample_logprobs,omitempty"`
	TargetPromptLogprobs *LegacyTensor `json:"target_prompt_logprobs,omitempty"` // int64 [prompt-1, K], dense or sparse
	PromptAltTokensK     int           `json:"prompt_alt_tokens_k,omitempty"`
	RecordStabilityInfo  bool          `json:"record_stability_info,omitempty"`
}

// SamplingParams is sampling_params.
type SamplingParams struct {
	MaxTokens   *int     `json:"max_tokens,omitempty" null:"ok"`
	Seed        *Seed    `json:"seed,omitempty" null:"ok"`
	Stop        *Stop    `json:"stop,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
	TopK        *int     `json:"top_k,omitempty"`
	TopP        *float64 `json:"top_p,omitempty"`
}

// Tinker fills defaults in. A max_tokens of 0 is refused here, as 0 means "no limit" on the seam.
func (p SamplingParams) Tinker() (tinker.SamplingParams, error) {
	s := tinker.DefaultSampling()
	if p.MaxTokens != nil {
		if s.MaxTokens = *p.MaxTokens; s.MaxTokens < 1 {
			return s, tinker.Userf("max_tokens is %d; it must be 1 or more", s.MaxTokens)
		}
	}
	if p.Temperature != nil {
		s.Temperature = *p.Temperature
	}
	if p.TopK != nil {
		s.TopK = *p.TopK
	}
	if p.TopP != nil {
		s.TopP = *p.TopP
	}
	if p.Seed != nil {
		seed := uint64(*p.Seed)
		s.Seed = &seed
	}
	if p.Stop != nil {
		s.StopStrings, s.StopTokens = p.Stop.Strings, p.Stop.Tokens
		s.NoStop = len(s.StopStrings)+len(s.StopTokens) == 0
	}
	return s, nil
}

// FromSampling is the inverse of Tinker. The protocol takes stop strings or stop tokens, not both.
func FromSampling(s tinker.SamplingParams) (SamplingParams, error) {
	p := SamplingParams{Temperature: &s.Temperature, TopK: &s.TopK, TopP: &s.TopP}
	if s.MaxTokens > 0 {
		p.MaxTokens = &s.MaxTokens
	}
	if s.Seed != nil {
		seed := Seed(*s.Seed)
		p.Seed = &seed
	}
	if s.NoStop && len(s.StopStrings)+len(s.StopTokens) > 0 {
		return p, tinker.Userf("wire: no_stop goes with neither stop strings %q nor stop tokens %v", s.StopStrings, s.StopTokens)
	}
	if len(s.StopStrings) > 0 && len(s.StopTokens) > 0 {
		return p, tinker.Userf("wire: the protocol takes stop strings or stop tokens in one request, not both: %q, %v", s.StopStrings, s.StopTokens)
	}
	if s.NoStop || len(s.StopStrings) > 0 || len(s.StopTokens) > 0 {
		p.Stop = &Stop{Strings: s.StopStrings, Tokens: s.StopTokens}
	}
	return p, nil
}

// Seed is any 64-bit number, signed or not.
type Seed uint64

// UnmarshalJSON takes signed and unsigned numbers.
func (s *Seed) UnmarshalJSON(b []byte) error {
	if u, err := strconv.ParseUint(string(b), 10, 64); err == nil {
		*s = Seed(u)
		return nil
	}
	i, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return fmt.Errorf("seed %s is no 64-bit number", b)
	}
	*s = Seed(uint64(i))
	return nil
}

// Stop is a string, a list of strings, or a list of token ids. An empty list turns the model's own ends off too;
// without any Stop they count.
type Stop struct {
	Strings []string
	Tokens  []int32
}

// MaxStops bounds the entries of a stop list: each is looked for at every token.
const MaxStops = 4096

// UnmarshalJSON takes the three forms, and a list that mixes them.
func (s *Stop) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		s.Strings = []string{one}
		return nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(b, &list); err != nil {
		return fmt.Errorf("stop must be a string, a list of strings or a list of token ids")
	}
	if len(list) > MaxStops {
		return fmt.Errorf("stop has %d entries; at most %d may be (MaxStops)", len(list), MaxStops)
	}
	for _, raw := range list {
		var token int32
		var text string
		switch {
		case json.Unmarshal(raw, &text) == nil:
			s.Strings = append(s.Strings, text)
		case json.Unmarshal(raw, &token) == nil:
			s.Tokens = append(s.Tokens, token)
		default:
			return fmt.Errorf("stop has %s, which is neither a string nor a token id", raw)
		}
	}
	return nil
}

// MarshalJSON writes a list.
func (s Stop) MarshalJSON() ([]byte, error) {
	if len(s.Strings) > 0 {
		return json.Marshal(s.Strings)
	}
	return json.Marshal(append([]int32{}, s.Tokens...)) // an empty list, not null
}

// RetrieveRequest is the body of retrieve_future.
type RetrieveRequest struct {
	RequestID         string `json:"request_id"`
	AllowMetadataOnly bool   `json:"allow_metadata_only"`
}

// The states of a queue.
const (
	QueueActive         = "active"
	QueuePausedCapacity = "paused_capacity"
	QueuePausedRate     = "paused_rate_limit"
)

// TryAgain is the answer of retrieve_future while the result is not there.
type TryAgain struct {
	Type             string `json:"type"` // try_again
	RequestID        string `json:"request_id"`
	QueueState       string `json:"queue_state"`
	QueueStateReason string `json:"queue_state_reason,omitempty"`
}

// Failed is the answer of retrieve_future when the request has failed.
type Failed struct {
	Error    string          `json:"error"`
	Category tinker.Category `json:"category"`
}

// Detail is the body of an HTTP error.
type Detail struct {
	Detail string `json:"detail"`
}

// Decode reads a JSON body into v. Unknown keys are ignored; anything but white space after the value is an error. A
// value of the wrong type, and null where a number is required, is a User error that names the field; the rest of v is
// filled in.
func Decode(b []byte, v any) error {
	err := json.Unmarshal(b, v) // a json.Decoder lets a closing brace pass
	var typed *json.UnmarshalTypeError
	switch {
	case errors.As(err, &typed) && typed.Field != "":
		return tinker.Userf("%s is %s, which is no %v that can be meant", typed.Field, typed.Value, typed.Type)
	case err != nil:
		return malformed("request body", err)
	}
	return refuseNulls(b, v)
}
