package endpoint

import (
	"encoding/json"
	"time"
)

// Trace is a recorded call in the form of rLLM's model gateway.
type Trace struct {
	ID        string          `json:"trace_id"`
	Session   string          `json:"session_id"`
	Model     string          `json:"model"`
	Messages  json.RawMessage `json:"messages"` // of a completion none
	PromptIDs []int32         `json:"prompt_token_ids"`
	Message   json.RawMessage `json:"response_message"`
	IDs       []int32         `json:"completion_token_ids"`
	Logprobs  []float32       `json:"logprobs"`
	Finish    string          `json:"finish_reason"`
	Version   int             `json:"weight_version"`
	Latency   float64         `json:"latency_ms"`
	Counts    map[string]int  `json:"token_counts"`
	Time      float64         `json:"timestamp"` // seconds since 1970
}

// Finished returns the trace with its messages, times and counts filled in.
func (t Trace) Finished(begun time.Time, took time.Duration) Trace {
	if t.Messages == nil {
		t.Messages = json.RawMessage("[]")
	}
	t.Latency = float64(took.Microseconds()) / 1e3
	t.Counts = map[string]int{"prompt": len(t.PromptIDs), "completion": len(t.IDs)}
	t.Time = float64(begun.UnixMicro()) / 1e6
	return t
}
