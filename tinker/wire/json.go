package wire

import (
	"encoding/json"
	"errors"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Promise is the answer to a request whose result is retrieved later.
type Promise struct {
	RequestID         string   `json:"request_id"`
	ModelID           string   `json:"model_id,omitempty"`
	SampleSequenceIDs []string `json:"sample_sequence_ids,omitempty"` // of asample: one per sample
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
	queuePausedRate     = "paused_rate_limit"
)

// TryAgain is the answer of retrieve_future while there is no result.
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
		return tinker.Userf("%s is %s; it must be a %v", typed.Field, typed.Value, typed.Type)
	case err != nil:
		return malformed("request body", err)
	}
	return refuseNulls(b, v)
}
