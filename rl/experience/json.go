package experience

import (
	"encoding/json"
	"math"
)

// record is Trinity-RFT's dictionary form of an experience, the one it writes to JSON lines.
type record struct {
	EID struct {
		Batch  string `json:"batch"`
		Task   string `json:"task"`
		Run    int    `json:"run"`
		Step   int    `json:"step"`
		Suffix string `json:"suffix"`
	} `json:"eid"`
	Type           string             `json:"type"`
	PromptLength   int                `json:"prompt_length"`
	ResponseLength int                `json:"response_length"`
	Info           map[string]any     `json:"info"`
	Metrics        map[string]float64 `json:"metrics"`
	PromptText     string             `json:"prompt_text,omitempty"`
	ResponseText   string             `json:"response_text,omitempty"`
	Messages       json.RawMessage    `json:"messages,omitempty"`
	Reward         *float64           `json:"reward,omitempty"`
	TruncateStatus TruncateStatus     `json:"truncate_status,omitempty"`
	StopReason     StopReason         `json:"stop_reason,omitempty"`
}

// Record returns the form of e that is written to experience_buffer.jsonl: readable by people and by Trinity-RFT,
// without token ids, log-probabilities and advantages. encoding/json writes it with its keys always in one order.
// It is not the form experiences are stored in to be read back: that is Append and Decode.
func (e *Experience) Record() any {
	r := record{
		Type:           "single_turn",
		PromptLength:   e.PromptLength,
		ResponseLength: e.ResponseLength(),
		Info: map[string]any{
			"model_version": e.Info.ModelVersion,
			"use_count":     e.Info.UseCount,
			"task_index":    map[string]int{"index": e.Info.TaskIndex, "taskset_id": e.Info.TasksetID},
		},
		Metrics:        finite(e.Metrics),
		PromptText:     e.PromptText,
		ResponseText:   e.ResponseText,
		TruncateStatus: e.TruncateStatus,
		StopReason:     e.StopReason,
	}
	r.EID.Batch, r.EID.Task, r.EID.Run, r.EID.Step, r.EID.Suffix = e.EID.Batch, e.EID.Task, e.EID.Run, e.EID.Step,
		e.EID.Suffix
	if e.TrainableTokens() != e.ResponseLength() {
		r.Type = "multi_turn"
	}
	if e.Reward != nil && !math.IsNaN(*e.Reward) && !math.IsInf(*e.Reward, 0) {
		r.Reward = e.Reward
	}
	if e.Info.IsExpert {
		r.Info["is_expert"] = true
	}
	if e.MessagesJSON != "" {
		r.Messages = json.RawMessage(e.MessagesJSON)
	}
	return r
}

// finite leaves out what JSON has no number for.
func finite(m map[string]float64) map[string]float64 {
	out := make(map[string]float64, len(m))
	for k, v := range m {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			out[k] = v
		}
	}
	return out
}
