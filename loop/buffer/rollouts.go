package buffer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// Rollouts is the folder rollouts/ of a job, with a JSON line for each sample.
type Rollouts struct {
	FS     disk.FS
	Dir    string
	Writer string // of this process's part of the index; "" is run
	// Tokenizer knows the texts of tokens, which are kept beside the records; nil: none are kept.
	Tokenizer rollout.Tokenizer
}

// Write writes the samples of an explore step to step_<n>.jsonl: those that are trained on, and then those dropped.
func (r Rollouts) Write(step int, list []*experience.Experience, dropped ...*experience.Experience) error {
	return r.write(filepath.Base(r.Path(step)), list, dropped)
}

// Path is the file of an explore step.
func (r Rollouts) Path(step int) string {
	return filepath.Join(r.Dir, fmt.Sprintf("step_%06d.jsonl", step))
}

// Evaluated writes the samples of an evaluation to eval_<taskset>_step_<n>.jsonl; prefix is eval/, or another in its
// place.
func (r Rollouts) Evaluated(step int, prefix, set string, list []*experience.Experience) error {
	return r.write(strings.TrimSuffix(prefix, "/")+"_"+disk.Name(set)+fmt.Sprintf("_step_%06d.jsonl", step), list, nil)
}

// write writes a file, whole or not at all, and then what an index holds of it.
func (r Rollouts) write(name string, list, dropped []*experience.Experience) error {
	if err := disk.MkdirAll(r.FS, r.Dir); err != nil {
		return fmt.Errorf("buffer: %w", err)
	}
	path := filepath.Join(r.Dir, name)
	seg := &rollout.Segment{File: name}
	err := disk.Replace(r.FS, path, func(w io.Writer) error {
		buf, err := encode(list, dropped, seg)
		if err != nil {
			return err
		}
		_, err = w.Write(buf)
		return err
	})
	if err != nil {
		return err
	}
	r.note(path, seg)
	r.texts(name, slices.Concat(list, dropped))
	return nil
}

// texts keeps the texts of the tokens of a file. Nobody but a reader of records needs them, so a failure does not
// matter.
func (r Rollouts) texts(name string, list []*experience.Experience) {
	if r.Tokenizer == nil {
		return
	}
	samples := make([][]int32, len(list))
	for i, e := range list {
		samples[i] = e.Tokens
	}
	_ = rollout.WriteTexts(r.Dir, name, r.Tokenizer, samples...)
}

// note adds the file to the index of the job. A reader indexes files that are missing in it, so a
// failure does not matter.
func (r Rollouts) note(path string, seg *rollout.Segment) {
	st, err := os.Stat(path)
	if err != nil || st.Size() != seg.Size {
		return
	}
	seg.Time = st.ModTime().UnixNano()
	rollout.Note(filepath.Join(filepath.Dir(r.Dir), rollout.Notes), cmp.Or(r.Writer, "run"), seg)
}

// encode is the lines of a file; seg gets their rows.
func encode(list, dropped []*experience.Experience, seg *rollout.Segment) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	for i, e := range slices.Concat(list, dropped) {
		from := buf.Len()
		rec := recordOf(e)
		rec.Dropped = i >= len(list)
		if err := enc.Encode(rec); err != nil {
			return nil, fmt.Errorf("sample %s: %w", e.EID, err)
		}
		line := buf.Bytes()[from : buf.Len()-1]
		row, parts, err := rollout.Describe(line)
		if err != nil {
			return nil, fmt.Errorf("sample %s: %w", e.EID, err)
		}
		row.Offset, row.Length, row.Line = int64(from), int32(len(line)), int32(i)
		seg.Add(row, parts)
	}
	seg.Size = int64(buf.Len())
	return buf.Bytes(), nil
}

// recordOf is an experience as rollouts/ keeps it.
func recordOf(e *experience.Experience) *rollout.Record {
	r := &rollout.Record{Version: rollout.Version,
		ID: e.EID.String(), Task: strings.ReplaceAll(e.EID.Task, "/", "."), ModelVersion: e.Info.ModelVersion,
		TaskIndex: e.Info.TaskIndex, TasksetID: e.Info.TasksetID,
		Prompt: e.PromptText, Response: e.ResponseText, Reward: finite(e.Reward), StopReason: string(e.StopReason),
		Truncated: string(e.TruncateStatus), Metrics: finiteOnly(e.Metrics), PromptTokens: e.Tokens[:e.PromptLength],
		Tokens: e.Response(), Logprobs: e.Logprobs, Mask: rollout.MaskOf(e.ActionMask),
	}
	for _, at := range e.Starts {
		r.Starts = append(r.Starts, at-e.PromptLength)
	}
	if len(e.Advantages) > 0 {
		r.Advantage = &e.Advantages[0]
		if slices.ContainsFunc(e.Advantages, func(a float32) bool { return a != e.Advantages[0] }) && len(r.Mask) == 0 {
			r.Advantages = e.Advantages
		}
	}
	annotate(r, e)
	return r
}

// annotate adds what the workflow noted.
func annotate(r *rollout.Record, e *experience.Experience) {
	messages := e.MessagesJSON
	if n := e.Note; n != nil {
		r.Turns, r.ToolCalls, r.Board = n.Turns, n.ToolCalls, n.Board
		if n.Graded {
			r.Grade = &rollout.Grade{Extracted: n.Extracted, Expected: n.Expected, Truth: n.Truth}
		} else if n.Truth != "" {
			r.Grade = &rollout.Grade{Truth: n.Truth}
		}
		for _, p := range n.Parts {
			if r.Parts == nil {
				r.Parts = map[string]float64{}
			}
			if finite(&p.Value) != nil {
				r.Parts[p.Name] = p.Value
			}
		}
		messages = cmp.Or(messages, n.Messages)
	}
	if messages == "" || json.Unmarshal([]byte(messages), &r.Messages) != nil {
		return
	}
	answered := slices.ContainsFunc(r.Messages, func(m rollout.Message) bool { return m.Role == "assistant" })
	if !answered {
		r.Messages = append(r.Messages, rollout.Message{Role: "assistant", Content: e.ResponseText})
	}
	for _, m := range r.Messages {
		if e.Note == nil || e.Note.ToolCalls == 0 {
			r.ToolCalls += len(m.ToolCalls)
		}
	}
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
