package source

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// cookbook is a log folder of tinker-cookbook: metrics.jsonl, config.json, checkpoints.jsonl and, for each iteration, a
// folder with summaries of its rollouts (tinker_cookbook/utils/ml_log.py and rl/rollout_logging.py).
type cookbook struct{ path string }

func (c *cookbook) Path() string { return c.path }
func (c *cookbook) Kind() Kind   { return Cookbook }
func (c *cookbook) Metrics() (path, key string) {
	return filepath.Join(c.path, "metrics.jsonl"), "step"
}
func (c *cookbook) Rollouts() rollout.Folder { return summaries(c.path) }
func (c *cookbook) Settings() []Setting      { return flatJSON(filepath.Join(c.path, "config.json")) }

// Look implements Run.
func (c *cookbook) Look() Look {
	l := Look{Name: filepath.Base(c.path), Project: filepath.Base(filepath.Dir(c.path)), Step: -1, Mode: "cookbook"}
	for _, s := range c.Settings() {
		text := fmt.Sprint(s.Value)
		switch key := s.Key[strings.LastIndexByte(s.Key, '.')+1:]; {
		case key == "model_name" && l.Model == "":
			l.Model = text
		case key == "loss_fn":
			l.Algorithm = text
		case s.Key == "max_steps":
			l.Steps, _ = strconv.Atoi(text)
		}
	}
	metrics, _ := c.Metrics()
	log := filepath.Join(c.path, "checkpoints.jsonl")
	l.Created = oldest(filepath.Join(c.path, "config.json"), metrics)
	l.Updated = newest(metrics, log, filepath.Join(c.path, "logs.log"))
	final := slices.ContainsFunc(c.Checkpoints(), func(p Checkpoint) bool { return p.Name == "final" })
	l.State, l.Why = aged(l.Updated, final)
	return l
}

// quiet is how long a run without locks may write nothing until it counts as stopped.
const quiet = 10 * time.Minute

// aged tells the state of a run that has no locks.
func aged(updated time.Time, final bool) (State, string) {
	since := time.Since(updated).Round(time.Second)
	switch {
	case final:
		return Finished, "its last checkpoint is saved"
	case updated.IsZero():
		return Unknown, "it has written nothing"
	case since < quiet:
		return Running, fmt.Sprintf("it wrote something %s ago", since)
	}
	return Stopped, fmt.Sprintf("it has written nothing for %s", since)
}

// Checkpoints implements Run.
func (c *cookbook) Checkpoints() []Checkpoint {
	return checkpointLog(filepath.Join(c.path, "checkpoints.jsonl"), "batch")
}

// Clock implements Run: timing_spans.jsonl has when each part of a step ended.
func (c *cookbook) Clock() map[int]time.Time {
	f, err := os.Open(filepath.Join(c.path, "timing_spans.jsonl"))
	if err != nil {
		return nil
	}
	defer f.Close()
	at := map[int]time.Time{}
	err = rollout.Lines(context.Background(), f, func(line []byte, _, _ int64) {
		var step struct {
			Step  int `json:"step"`
			Spans []struct {
				End float64 `json:"wall_end"`
			} `json:"spans"`
		}
		if json.Unmarshal(line, &step) != nil {
			return
		}
		for _, s := range step.Spans {
			if end := time.UnixMilli(int64(1000 * s.End)); s.End > 1e9 && end.After(at[step.Step]) {
				at[step.Step] = end
			}
		}
	})
	if err != nil {
		return nil
	}
	return at
}

// summaries are the iteration_<n>/<split>_rollout_summaries.jsonl of a log folder. They have neither tokens nor
// logprobs, and no text but what an environment logged; conversations are in log trees, for the first groups.
type summaries string

var summaryName = regexp.MustCompile(`^(train|eval(?:_(.*))?)_rollout_summaries\.jsonl$`)

// Files implements rollout.Folder.
func (s summaries) Files() ([]rollout.File, error) {
	var list []rollout.File
	for _, path := range glob(string(s), "iteration_*", "*_rollout_summaries.jsonl") {
		m := summaryName.FindStringSubmatch(filepath.Base(path))
		dir := filepath.Base(filepath.Dir(path))
		step, err := strconv.Atoi(strings.TrimPrefix(dir, "iteration_"))
		st, serr := os.Stat(path)
		if m == nil || err != nil || serr != nil {
			continue
		}
		f := rollout.File{Name: dir + "/" + filepath.Base(path), Step: step, Size: st.Size(),
			Time: st.ModTime().UnixNano()}
		if tree, err := os.Stat(treePath(path)); err == nil { // its texts are part of the records
			f.Size, f.Time = f.Size+tree.Size(), max(f.Time, tree.ModTime().UnixNano())
		}
		if m[1] != "train" {
			f.Set = "eval"
			if m[2] != "" {
				f.Set = m[2]
			}
		}
		list = append(list, f)
	}
	return list, nil
}

// Scan implements rollout.Folder.
func (s summaries) Scan(ctx context.Context, f rollout.File) (*rollout.Segment, error) {
	path := filepath.Join(string(s), f.Name)
	seg, err := rollout.ScanAs(ctx, path, f.Name, fromSummary(path))
	if err != nil {
		return nil, err
	}
	seg.Size, seg.Time = f.Size, f.Time // of the log tree too
	return seg, nil
}

// Open implements rollout.Folder.
func (s summaries) Open(f rollout.File) (rollout.Opened, error) {
	open, err := rollout.Dir(s).Open(f)
	if err != nil {
		return nil, err
	}
	return converted{open, fromSummary(filepath.Join(string(s), f.Name))}, nil
}

// converted reads lines of another format as records.
type converted struct {
	rollout.Opened
	convert func(line []byte) ([]byte, error)
}

// Read implements rollout.Opened.
func (c converted) Read(row *rollout.Row, part rollout.Span, buf []byte) ([]byte, error) {
	line, err := c.Opened.Read(row, row.Whole(), buf)
	if err == nil {
		line, err = c.convert(line)
	}
	if err != nil || part == row.Whole() {
		return line, err
	}
	if part.At < 0 || part.Len < 0 || int(part.At)+int(part.Len) > len(line) {
		return nil, fmt.Errorf("source: a summary was changed while it was read")
	}
	return line[part.At : part.At+part.Len], nil
}

// summary is a line of summaries (serialize_rollout_summaries).
type summary struct {
	Iteration int                `json:"iteration"`
	Group     int                `json:"group_idx"`
	Index     int                `json:"traj_idx"`
	Version   *int               `json:"sampling_client_step"`
	Tags      []string           `json:"tags"`
	Total     *float64           `json:"total_reward"`
	Final     *float64           `json:"final_reward"`
	Metrics   map[string]float64 `json:"trajectory_metrics"`
	Steps     []struct {
		Observed int            `json:"ob_len"`
		Acted    int            `json:"ac_len"`
		Reward   float64        `json:"reward"`
		Metrics  map[string]any `json:"metrics"`
		Logs     map[string]any `json:"logs"`
	} `json:"steps"`
}

// sum is the rewards of the steps.
func (s *summary) sum() (sum float64) {
	for _, step := range s.Steps {
		sum += step.Reward
	}
	return sum
}

// acted is how many tokens the model wrote.
func (s *summary) acted() (n int) {
	for _, step := range s.Steps {
		n += step.Acted
	}
	return n
}

// fromSummary makes lines of a file of summaries records, with the conversations of the log tree beside it.
func fromSummary(path string) func(line []byte) ([]byte, error) {
	talks := talksOf(path)
	return func(line []byte) ([]byte, error) {
		var s summary
		if err := json.Unmarshal(line, &s); err != nil {
			return nil, fmt.Errorf("source: a line is no summary of a rollout: %w", err)
		}
		r := s.record()
		if t := talks[[2]int{s.Group, s.Index}]; t != nil {
			t.into(r)
		}
		return json.Marshal(r)
	}
}

func (s *summary) record() *rollout.Record {
	r := &rollout.Record{ID: fmt.Sprintf("%d/%d/%d/0/", s.Iteration, s.Group, s.Index), TaskIndex: s.Group,
		Reward: s.Total, Metrics: s.Metrics, Turns: max(1, len(s.Steps)), Parts: map[string]float64{}}
	if s.Version != nil {
		r.ModelVersion = *s.Version
	}
	if s.Final != nil {
		r.Parts["final_reward"] = *s.Final
	}
	for i, step := range s.Steps {
		for name, v := range step.Metrics {
			if n, ok := v.(float64); ok {
				r.Parts[name] = n
			}
		}
		r.ResponseCount += step.Acted
		if i == 0 {
			r.PromptCount = step.Observed
		}
		if len(step.Logs) > 0 {
			r.Messages = append(r.Messages, logs(step.Logs, i+1, step.Reward))
		}
	}
	if len(s.Tags) > 0 {
		r.Prompt = "[" + strings.Join(s.Tags, ", ") + "] "
	}
	for _, m := range r.Messages {
		r.Response += m.Content
	}
	return r
}

// unsure is said before a conversation that may be another sample's.
const unsure = "The log does not say which of its group's samples with this reward a conversation belongs to. " +
	"This one was chosen by its length."

// into adds the talk to a record, before what the environment logged.
func (t *talk) into(r *rollout.Record) {
	list := slices.Clone(t.messages)
	last := len(list) - 1
	for i, m := range list {
		if m.Role == "assistant" && i == last {
			r.Response = m.Content + "\n" + r.Response
		} else if m.Role == "user" {
			r.Prompt += m.Content + "\n"
		}
	}
	if !t.sure {
		list = append([]rollout.Message{{Role: "note", Content: unsure}}, list...)
	}
	if truth := t.table["reference_answer"]; truth != "" {
		r.Grade = &rollout.Grade{Truth: truth}
	}
	r.Messages = append(list, r.Messages...)
}

// logs is an environment's log of a step, as a message.
func logs(logs map[string]any, turn int, reward float64) rollout.Message {
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(logs)) {
		fmt.Fprintf(&text, "%s: %v\n", key, logs[key])
	}
	return rollout.Message{Role: "environment", Content: text.String(), Turn: turn, Reward: &reward}
}
