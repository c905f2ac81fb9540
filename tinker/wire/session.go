package wire

// ClientConfigRequest is the body of client/config and client/dynamic_config.
type ClientConfigRequest struct {
	SDKVersion string `json:"sdk_version"`
}

// ClientConfig is the answer of client/config: flags that a client reads once. Pointers distinguish absent from zero,
// since an absent flag has the client's default.
type ClientConfig struct {
	PJWTAuthEnabled              bool   `json:"pjwt_auth_enabled"`
	CredentialDefaultSource      string `json:"credential_default_source,omitempty"`
	ParallelFwdBwdChunks         *bool  `json:"parallel_fwdbwd_chunks,omitempty"`         // default true
	ProtoCompressFwdBwd          bool   `json:"proto_compress_fwdbwd"`                    // zstd bodies are accepted
	FwdBwdMaxChunkLen            int    `json:"fwdbwd_max_chunk_len,omitempty"`           // datums; default 1024
	FwdBwdMaxChunkBytesCount     int    `json:"fwdbwd_max_chunk_bytes_count,omitempty"`   // default 5,000,000
	SampleMaxConcurrentRequests  int    `json:"sample_max_concurrent_requests,omitempty"` // default 2000
	UsePyqwestTransport          *bool  `json:"use_pyqwest_transport,omitempty"`          // default true
	CreateModelViaLoadWeights    bool   `json:"create_model_via_load_weights"`
	SampleUseRetrieveFutures     bool   `json:"sample_use_retrieve_futures"`
	SampleJoinSamplingSession    bool   `json:"sample_join_sampling_session"`
	CustomLossServerSide         bool   `json:"custom_loss_server_side"`
	SampleEnableStuckDetection   *bool  `json:"sample_enable_stuck_detection,omitempty"`            // default true
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
