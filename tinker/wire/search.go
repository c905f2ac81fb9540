package wire

import "time"

// SessionSearch is the body of sessions/search.
type SessionSearch struct {
	SessionID    string            `json:"session_id,omitempty"`
	ProjectIDs   []string          `json:"project_ids,omitempty"`
	UserMetadata map[string]string `json:"user_metadata,omitempty"`
	DisplayName  string            `json:"display_name,omitempty"`
	Owner        SearchOwner       `json:"owner"`
	Statuses     []StatusQuery     `json:"statuses,omitempty"`
	Limit        *int              `json:"limit,omitempty"`  // default 50, at most 200
	Cursor       *SearchCursor     `json:"cursor,omitempty"` // nil: the first page
}

// SearchOwner says whose sessions are searched: own (the default), accessible, or those of user OwnerURNs.
type SearchOwner struct {
	Type      string   `json:"type,omitempty"`
	OwnerURNs []string `json:"owner_urns,omitempty"`
}

// StatusQuery is a status to match: active, cancelled, failed, or client_finished with one of Reasons, if there are
// any.
type StatusQuery struct {
	Type    string   `json:"type"`
	Reasons []string `json:"reasons,omitempty"`
}

// SearchCursor is the last session of a page.
type SearchCursor struct {
	CreatedAt time.Time `json:"last_created_at"`
	SessionID string    `json:"last_session_id"`
}

// SessionPage is a page of found sessions, newest first. Without NextCursor it is the last.
type SessionPage struct {
	Sessions   []SessionSummary `json:"sessions"`
	NextCursor *SearchCursor    `json:"next_cursor,omitempty"`
}

// SessionSummary describes a found session.
type SessionSummary struct {
	SessionID   string            `json:"session_id"`
	CreatedAt   time.Time         `json:"created_at"`
	Owner       string            `json:"owner"`
	ProjectID   string            `json:"project_id"`
	Status      *SessionStatus    `json:"status"` // nil: neither finished nor known to run
	Checkpoints int               `json:"checkpoints_count"`
	DisplayName *string           `json:"display_name"`
	Metadata    map[string]string `json:"user_metadata"`
	Bytes       *int64            `json:"checkpoint_storage_bytes"`
}

// SessionStatus is active or client_finished. Reason is success, errored or interrupted.
type SessionStatus struct {
	Type   string        `json:"type"`
	Reason *FinishReason `json:"reason,omitempty"`
}

// FinishReason is why a client ended its session.
type FinishReason struct {
	Type string `json:"type"`
}

// AssignProject is the body of PUT sessions/{id}/project.
type AssignProject struct {
	ProjectID string `json:"project_id"`
}

// TraceExport is the answer of sessions/{id}/trace_export.
type TraceExport struct {
	Status string `json:"status"` // ready
	URL    string `json:"url"`
}

// CopyWeights is the body of copy_weights: the copy's session and number, or its project.
type CopyWeights struct {
	SessionID          string `json:"session_id,omitempty"`
	ModelSeqID         *int64 `json:"model_seq_id,omitempty" null:"ok"`
	ProjectID          string `json:"destination_project_id,omitempty"`
	SourcePath         string `json:"source_path"`
	TTLSeconds         *int64 `json:"ttl_seconds,omitempty" null:"ok"`
	WeightsAccessToken string `json:"weights_access_token,omitempty"`
}

// CopyResponse is the answer of copy_weights.
type CopyResponse struct {
	TinkerPath string `json:"tinker_path"`
}

// HeaderWeightsToken has the key of the account whose checkpoint copy_weights reads.
const HeaderWeightsToken = "X-Tinker-Weights-Access-Token"
