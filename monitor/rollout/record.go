// Package rollout is the record of samples: a JSON line for each in a job's folder rollouts/, and an index of these
// lines. Both can be read while a run writes them, after a kill, and in the form of older versions.
//
// docs/reference/rollouts.md describes the format.
package rollout

import (
	"encoding/json"
	"fmt"
	"math"
)

// Version is the version of new records. Version 1, which is read too, had no number, ended at Starts, and had neither
// messages nor verdicts.
const Version = 2

// Record is one sample.
type Record struct {
	Version      int                `json:"v,omitempty"`
	ID           string             `json:"id"`             // <step>/<task>/<repeat>/<turn>/<suffix>
	Task         string             `json:"task,omitempty"` // of ID: samples of one task in one step form a group
	ModelVersion int                `json:"model_version"`
	TaskIndex    int                `json:"task_index"`
	TasksetID    int                `json:"taskset_id,omitempty"`
	Prompt       string             `json:"prompt"`
	Response     string             `json:"response"`
	Reward       *float64           `json:"reward"`
	Advantage    *float32           `json:"advantage"` // of the first token, or of all
	StopReason   string             `json:"stop_reason"`
	Truncated    string             `json:"truncate_status,omitempty"`
	Dropped      bool               `json:"dropped,omitempty"` // it is not trained on
	Turns        int                `json:"turns,omitempty"`
	ToolCalls    int                `json:"tool_calls,omitempty"`
	Parts        map[string]float64 `json:"reward_parts,omitempty"`
	Grade        *Grade             `json:"grade,omitempty"`
	Entropy      *float64           `json:"entropy,omitempty"` // nats, mean over the trained tokens; nil: not known
	Metrics      map[string]float64 `json:"metrics"`
	Messages     []Message          `json:"messages,omitempty"` // prompt and answer as a conversation
	Board        string             `json:"board,omitempty"`    // the last state of a game, as text
	PromptTokens []int32            `json:"prompt_tokens"`
	Tokens       []int32            `json:"tokens"`   // of the response
	Logprobs     []float32          `json:"logprobs"` // nats, of each of Tokens; 0 for what the model read
	// if the tokens themselves are not recorded
	PromptCount   int       `json:"prompt_count,omitempty"`
	ResponseCount int       `json:"response_count,omitempty"`
	Starts        []int     `json:"sequence_starts,omitempty"` // where in Tokens further sequences begin
	Mask          []int     `json:"mask,omitempty"`            // lengths of runs, see MaskOf; none: all is trained
	Advantages    []float32 `json:"advantages,omitempty"`      // of each of Tokens, if they differ
}

// Grade is the grader's view of an answer, as text.
type Grade struct {
	Extracted string `json:"extracted"`       // from the answer; "" if it found nothing
	Expected  string `json:"expected"`        // from the truth
	Truth     string `json:"truth,omitempty"` // the reference answer as the data has it
}

// Message is one of a conversation.
type Message struct {
	Role      string     `json:"role"`
	Content   string     `json:"content"`
	Thinking  string     `json:"thinking,omitempty"`
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	Turn      int        `json:"turn,omitempty"`
	Reward    *float64   `json:"reward,omitempty"` // what an environment gave for it
}

// ToolCall is a call that a model made.
type ToolCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// UnmarshalJSON reads messages of other programs too: content in parts, and calls as OpenAI nests them.
func (m *Message) UnmarshalJSON(data []byte) error {
	var raw struct {
		Role      string          `json:"role"`
		Content   json.RawMessage `json:"content"`
		Thinking  string          `json:"thinking"`
		Reasoning string          `json:"reasoning_content"`
		Calls     []ToolCall      `json:"tool_calls"`
		Turn      int             `json:"turn"`
		Reward    *float64        `json:"reward"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	text, thinking := textOf(raw.Content)
	*m = Message{Role: raw.Role, Content: text, Thinking: raw.Thinking + raw.Reasoning + thinking,
		ToolCalls: raw.Calls, Turn: raw.Turn, Reward: raw.Reward}
	return nil
}

// textOf is content as text: a string, or the texts and the thinking of parts; anything else as it stands.
func textOf(raw json.RawMessage) (text, thinking string) {
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		return text, ""
	}
	var parts []struct {
		Text     string `json:"text"`
		Thinking string `json:"thinking"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return string(raw), ""
	}
	for _, p := range parts {
		text, thinking = text+p.Text, thinking+p.Thinking
	}
	return text, thinking
}

// UnmarshalJSON reads {"name", "arguments"}, and the same below "function".
func (c *ToolCall) UnmarshalJSON(data []byte) error {
	type plain ToolCall
	var raw struct {
		plain
		Function *plain `json:"function"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	*c = ToolCall(raw.plain)
	if raw.Function != nil {
		*c = ToolCall(*raw.Function)
	}
	return nil
}

// Decode reads a line.
func Decode(line []byte) (*Record, error) {
	r := new(Record)
	if err := json.Unmarshal(line, r); err != nil {
		return nil, fmt.Errorf("rollout: a line is no record: %w", err)
	}
	if r.Version > Version {
		return nil, fmt.Errorf("rollout: a record has version %d, this program reads 1 to %d; use the program that "+
			"wrote it", r.Version, Version)
	}
	return r, nil
}

// MaskOf writes a mask as the lengths of its runs, the first of trained tokens (0 if there is none at the front);
// nil if all are trained.
func MaskOf(mask []bool) []int {
	var runs []int
	on, n := true, 0
	for _, m := range mask {
		if m != on {
			runs, on, n = append(runs, n), m, 0
		}
		n++
	}
	if len(runs) == 0 && on {
		return nil
	}
	return append(runs, n)
}

// Trained is the mask of n response tokens.
func (r *Record) Trained(n int) []bool {
	mask := make([]bool, n)
	if len(r.Mask) == 0 {
		for i := range mask {
			mask[i] = true
		}
		return mask
	}
	at, on := 0, true
	for _, run := range r.Mask {
		for end := at + min(max(run, 0), n-at); at < end; at++ {
			mask[at] = on
		}
		on = !on
	}
	return mask
}

// About returns a record's fields except its texts and tokens, without nulls, for services that show samples.
func (r *Record) About() map[string]any {
	about := map[string]any{"id": r.ID, "task_index": r.TaskIndex, "model_version": r.ModelVersion,
		"stop_reason": r.StopReason, "response_tokens": max(len(r.Tokens), r.ResponseCount)}
	if r.Reward != nil {
		about["reward"] = *r.Reward
	}
	if r.Advantage != nil {
		about["advantage"] = *r.Advantage
	}
	if r.Grade != nil {
		about["extracted"], about["expected"] = r.Grade.Extracted, r.Grade.Expected
	}
	for name, v := range r.Parts {
		about["reward_parts/"+name] = v
	}
	return about
}

// Finite is a number that JSON has, or nil.
func Finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
