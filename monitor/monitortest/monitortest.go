// Package monitortest records runs for the tests of the services that metrics go to.
package monitortest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// RecordMetrics commits steps of the trainer with the metrics loss, 1/step, and a/b, step.
func RecordMetrics(t testing.TB, c monitor.Config, from, to int, finish bool) {
	t.Helper()
	m, err := monitor.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	for step := from; step <= to; step++ {
		m.Add(step, "trainer", monitor.Metrics{"loss": 1 / float64(step), "a/b": float64(step)})
		if _, err := m.Commit(step); err != nil {
			t.Fatal(err)
		}
	}
	if finish {
		m.Finish()
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}

// RecordSteps commits steps with samples of the explorer, from a step on.
func RecordSteps(t testing.TB, c monitor.Config, from, to int) {
	t.Helper()
	m, err := monitor.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	for step := from; step <= to; step++ {
		m.Add(step, "explorer", monitor.Metrics{"rollout/reward/mean": float64(step)})
		m.Add(step, "trainer", monitor.Metrics{"grad_norm": float64(step)})
		m.Samples(step, "explorer", rolloutFile(t, c.Dir, step, 40))
		if _, err := m.Commit(step); err != nil {
			t.Fatal(err)
		}
	}
	m.Finish()
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}

// rolloutFile writes the records of a step: n samples, the first with tools and turns.
func rolloutFile(t testing.TB, dir string, step, n int) string {
	t.Helper()
	var text strings.Builder
	for i := range n {
		reward := float64(i) / 2
		r := rollout.Record{Version: rollout.Version, ID: fmt.Sprintf("%d/%d/0/0/x", step, i), Reward: &reward,
			Prompt: "<|im_start|>user\nhow many?<|im_end|>\n<|im_start|>assistant\n", Response: fmt.Sprint("<b>", i),
			Tokens: []int32{1, 2}, Grade: &rollout.Grade{Extracted: fmt.Sprint(i), Expected: "7"}}
		if i == 0 {
			r.Turns = 2
			r.Messages = []rollout.Message{{Role: "user", Content: "add"}, {Role: "assistant", Thinking: "hm",
				ToolCalls: []rollout.ToolCall{{Name: "sum", Arguments: json.RawMessage(`{"a":1}`)}}},
				{Role: "tool", Content: "7"}, {Role: "assistant", Content: "seven"}}
		}
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(append(line, '\n'))
	}
	path := filepath.Join(dir, fmt.Sprintf("step_%06d.jsonl", step))
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
