package buffer

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// Rollout is one sample as rollouts/ keeps it, for people and scripts to read.
type Rollout struct {
	ID           string   `json:"id"`
	ModelVersion int      `json:"model_version"`
	TaskIndex    int      `json:"task_index"`
	TasksetID    int      `json:"taskset_id,omitempty"`
	Prompt       string   `json:"prompt"`
	Response     string   `json:"response"`
	Reward       *float64 `json:"reward"`
	Advantage    *float32 `json:"advantage"`
	StopReason   string   `json:"stop_reason"`
	Metrics      any      `json:"metrics"`
	PromptTokens []int32  `json:"prompt_tokens"`
	Tokens       []int32  `json:"tokens"`
	// nats, of each token in Tokens; 0 for what the model read
	Logprobs []float32 `json:"logprobs"`
	Starts   []int     `json:"sequence_starts,omitempty"` // where in Tokens further sequences begin
}

// Rollouts is the folder rollouts/ of a job, with a JSON line for each sample.
type Rollouts struct {
	FS  disk.FS
	Dir string
}

// Write writes the samples of an explore step to step_<n>.jsonl.
func (r Rollouts) Write(step int, list []*experience.Experience) error {
	return r.write(fmt.Sprintf("step_%06d.jsonl", step), list)
}

// Evaluated writes the samples of an evaluation to eval_<taskset>_step_<n>.jsonl; prefix is eval/, or another in its
// place.
func (r Rollouts) Evaluated(step int, prefix, set string, list []*experience.Experience) error {
	return r.write(strings.TrimSuffix(prefix, "/")+"_"+disk.Name(set)+fmt.Sprintf("_step_%06d.jsonl", step), list)
}

// write writes a file, whole or not at all.
func (r Rollouts) write(name string, list []*experience.Experience) error {
	if err := r.FS.MkdirAll(r.Dir); err != nil {
		return fmt.Errorf("buffer: %w", err)
	}
	return disk.Replace(r.FS, filepath.Join(r.Dir, name), func(w io.Writer) error {
		var buf []byte
		for _, e := range list {
			line, err := json.Marshal(rolloutOf(e))
			if err != nil {
				return fmt.Errorf("sample %s: %w", e.EID, err)
			}
			buf = append(append(buf, line...), '\n')
		}
		_, err := w.Write(buf)
		return err
	})
}

func rolloutOf(e *experience.Experience) Rollout {
	r := Rollout{
		ID: e.EID.String(), ModelVersion: e.Info.ModelVersion, TaskIndex: e.Info.TaskIndex, TasksetID: e.Info.TasksetID,
		Prompt: e.PromptText, Response: e.ResponseText, Reward: finite(e.Reward), StopReason: string(e.StopReason),
		Metrics: finiteOnly(e.Metrics), PromptTokens: e.Tokens[:e.PromptLength],
		Tokens: e.Response(), Logprobs: e.Logprobs,
	}
	for _, at := range e.Starts {
		r.Starts = append(r.Starts, at-e.PromptLength)
	}
	if len(e.Advantages) > 0 {
		r.Advantage = &e.Advantages[0]
	}
	return r
}

// finite is a number that JSON has, or nil.
func finite(v *float64) *float64 {
	if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) {
		return nil
	}
	return v
}

// finiteOnly leaves out the metrics that JSON has no number for.
func finiteOnly(m map[string]float64) map[string]float64 {
	odd := func(_ string, v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }
	for key, v := range m {
		if odd(key, v) {
			m = maps.Clone(m)
			maps.DeleteFunc(m, odd)
			return m
		}
	}
	return m
}
