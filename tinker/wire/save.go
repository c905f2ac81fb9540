package wire

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
