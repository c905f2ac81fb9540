// Package perf makes the report of trinity perf, in the form of Trinity-RFT 0.6.0 (trinity/perf): times, what the
// process used meanwhile, and the metrics of each step.
package perf

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// Report is the content of a report's file.
type Report struct {
	Meta      Meta             `json:"run_meta"`
	Timing    Timing           `json:"timing"`
	Resources []Sample         `json:"resource_timeline"`
	Steps     []map[string]any `json:"step_metrics"`
	Artifacts Artifacts        `json:"artifacts"`
	Status    Status           `json:"status"`
}

// Meta says which run it was.
type Meta struct {
	Module    string  `json:"module"`
	Config    string  `json:"config_path"`
	Explorer  string  `json:"explorer_name"`
	Interval  float64 `json:"monitor_interval_sec"`
	Host      string  `json:"hostname"`
	PID       int     `json:"pid"`
	Generated float64 `json:"generated_at"`
}

// Timing has seconds and tokens per second. What the run did not reach is nil, and so is what only Trinity-RFT's
// inference servers measure.
type Timing struct {
	Startup   *float64 `json:"startup_time_sec"`
	Execution *float64 `json:"execution_time_sec"`
	Total     *float64 `json:"total_time_sec"`
	Prompt    *float64 `json:"prompt_tokens_per_second"`
	Response  *float64 `json:"response_tokens_per_second"`
	CallIn    *float64 `json:"api_call_prompt_tokens_per_second"`
	CallOut   *float64 `json:"api_call_response_tokens_per_second"`
}

// Artifacts are the files of the run.
type Artifacts struct {
	Job         string `json:"checkpoint_job_dir,omitempty"`
	TensorBoard string `json:"tensorboard_dir,omitempty"`
	Log         string `json:"log_dir,omitempty"`
	Output      string `json:"output_json,omitempty"`
}

// Status says how the run ended.
type Status struct {
	Success bool    `json:"success"`
	Error   *string `json:"error"`
	GPU     bool    `json:"gpu_metrics_available"`
	Metrics bool    `json:"tensorboard_metrics_available"`
}

// The metrics that the rates are computed from, by upstream's names.
const (
	finishedKey = "rollout/finished_task_count"
	countKey    = "experience_pipeline/experience_count"
	promptKey   = "rollout/prompt_length/mean"
	responseKey = "rollout/response_length/mean"
)

// Read adds what an explorer wrote into a job's folder: its metrics, and the lengths of its samples.
func (r *Report) Read(ctx context.Context, dir, log string) error {
	lines, err := monitor.ReadLog(filepath.Join(dir, log))
	if err != nil {
		return err
	}
	index := rollout.NewIndex(rollout.Dir(filepath.Join(dir, "rollouts")))
	if err := index.Refresh(ctx, nil); err != nil {
		return err
	}
	lengths := map[int][3]float64{}
	for _, f := range index.Table().Files {
		if f.Set != "" {
			continue // an evaluation
		}
		sum := lengths[f.Step]
		for i := range f.Rows {
			sum[0]++
			sum[1] += float64(f.Rows[i].Prompt)
			sum[2] += float64(f.Rows[i].Response)
		}
		lengths[f.Step] = sum
	}
	for _, l := range lines {
		if _, ok := l.Metrics[finishedKey]; !ok {
			continue
		}
		step := map[string]any{"step": l.Step}
		for name, v := range l.Metrics {
			step[name] = v
		}
		if sum := lengths[l.Step]; sum[0] > 0 {
			step[promptKey], step[responseKey] = sum[1]/sum[0], sum[2]/sum[0]
		}
		r.Steps = append(r.Steps, step)
	}
	r.Status.Metrics = len(r.Steps) > 0
	r.rates()
	return nil
}

// rates computes tokens per second (compute_global_token_throughput_metrics in trinity/perf/report_metrics.py).
func (r *Report) rates() {
	if r.Timing.Execution == nil || *r.Timing.Execution <= 0 {
		return
	}
	prompt, response := 0.0, 0.0
	for _, step := range r.Steps {
		number := func(key string) float64 { v, _ := step[key].(float64); return v }
		prompt += float64(number(countKey) * number(promptKey))
		response += float64(number(countKey) * number(responseKey))
	}
	prompt, response = prompt / *r.Timing.Execution, response / *r.Timing.Execution
	r.Timing.Prompt, r.Timing.Response = &prompt, &response
}

// Took notes when a run began, when its first step began (zero: never) and when it ended.
func (r *Report) Took(begun, started, ended time.Time) {
	seconds := func(from, to time.Time) *float64 { s := to.Sub(from).Seconds(); return &s }
	r.Timing.Total = seconds(begun, ended)
	if !started.IsZero() {
		r.Timing.Startup, r.Timing.Execution = seconds(begun, started), seconds(started, ended)
	}
}

// Write writes the report to a file, whose folder it makes.
func (r *Report) Write(path string) error { return write(path, r) }

// WriteFailure writes the report of a run that never was, as upstream does for a configuration that it refuses.
func WriteFailure(path string, why error) error {
	text := why.Error()
	return write(path, map[string]any{"status": map[string]any{"success": false, "error": text}, "data": nil})
}

func write(path string, v any) error {
	if err := disk.MkdirAll(disk.OS(), filepath.Dir(path)); err != nil {
		return err
	}
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return disk.WriteFile(disk.OS(), path, append(data, '\n'))
}

// Load reads a report.
func Load(path string) (*Report, error) {
	data, err := disk.ReadFile(path, disk.SmallFile)
	if err != nil {
		return nil, err
	}
	r := new(Report)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("%s is no report of trinity perf run: %w", path, err)
	}
	return r, nil
}
