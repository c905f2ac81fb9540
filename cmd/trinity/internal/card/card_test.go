package card

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/studio/source"
)

// A card says what a job's notes and metrics say, and neither where things are on this machine nor what is secret.
func TestCard(t *testing.T) {
	job := t.TempDir()
	const file = "/home/ann/configs/math.yaml:7"
	err := source.NoteSettings(job, []source.Setting{
		{Key: "algorithm.algorithm_type", Value: "grpo", Origin: file},
		{Key: "algorithm.repeat_times", Value: 8, Origin: "override algorithm.repeat_times=8"},
		{Key: "algorithm.optimizer.lr", Value: 0.0005, Origin: file},
		{Key: "buffer.batch_size", Value: 16, Origin: file},
		{Key: "seed", Value: 3, Origin: "override seed=3"},
		{Key: "buffer.explorer_input.taskset.path", Value: "/home/ann/rows.jsonl", Origin: file},
		{Key: "buffer.explorer_input.eval_tasksets[0].path", Value: "openai/gsm8k", Origin: file},
		{Key: "buffer.trainer_input.experience_buffer.path", Value: "buffer/x", Origin: "derived: of the job"},
		{Key: "explorer.api_key", Value: "hf_1", Origin: "override explorer.api_key=hf_1"},
		{Key: "checkpoint_root_dir", Value: "/home/ann", Origin: "override checkpoint_root_dir=/home/ann"}})
	if err != nil {
		t.Fatal(err)
	}
	metrics := `{"step":0,"eval/held out/accuracy/mean@4":0.25,"eval/held out/accuracy/std@4":9}
{"step":1,"reward":1,"eval/held out/accuracy/mean@4":0.5}
{"step":2,"reward":2,"eval/held out/accuracy/mean@4":0.75,"eval/other/accuracy/mean@4":1}
`
	if err := os.WriteFile(filepath.Join(job, "metrics.jsonl"), []byte(metrics), 0o600); err != nil {
		t.Fatal(err)
	}
	c := Card{Name: "mine", Base: "Qwen/Qwen3-0.6B", Adapter: "LoRA of rank 4"}
	if err := c.Read(job, 2); err != nil {
		t.Fatal(err)
	}
	want := `---
library_name: transformers
tags: [trinity]
base_model: Qwen/Qwen3-0.6B
---

# mine

Trained with trinity.

| | |
|---|---|
| base | Qwen/Qwen3-0.6B |
| trained | LoRA of rank 4 |
| data | openai/gsm8k, rows.jsonl |
| algorithm | grpo (samples per task 8, tasks per step 16, learning rate 0.0005, seed 3) |
| steps | 2 |

## Evaluation

| | before | after |
|---|---|---|
| held out/accuracy/mean@4 | 0.250 | 0.750 |

## Command

` + "```\ntrinity run --config math.yaml algorithm.repeat_times=8 seed=3\n```\n"
	if got := c.Text(); got != want {
		t.Errorf("the card is:\n%s\nwant:\n%s", got, want)
	}
}

// A card of a model without a job, in a folder of this machine, has what is known.
func TestCardWithoutJob(t *testing.T) {
	c := Card{Name: "mine", Base: "/home/ann/models/a|b", Local: true}
	if err := c.Read(t.TempDir(), 0); err != nil {
		t.Fatal(err)
	}
	want := "---\nlibrary_name: transformers\ntags: [trinity]\n---\n\n# mine\n\nTrained with trinity.\n\n| | |\n" +
		"|---|---|\n| base | a\\|b |\n"
	if got := c.Text(); got != want {
		t.Errorf("the card is:\n%s\nwant:\n%s", got, want)
	}
}

// Data is named whatever the configuration's file is called; what a default or a derivation says is not.
func TestDataOfFiles(t *testing.T) {
	job, c := t.TempDir(), Card{}
	err := source.NoteSettings(job, []source.Setting{
		{Key: "buffer.explorer_input.taskset.path", Value: "a", Origin: "demo.yaml:3"},
		{Key: "buffer.explorer_input.eval_tasksets[0].path", Value: "b", Origin: "environment DATA"},
		{Key: "buffer.explorer_input.eval_tasksets[1].path", Value: "c", Origin: "default"},
		{Key: "buffer.trainer_input.experience_buffer.path", Value: "d", Origin: "derived: of the job"}})
	if err == nil {
		err = c.Read(job, 0)
	}
	if want := []string{"a", "b"}; err != nil || !slices.Equal(c.Data, want) {
		t.Errorf("data %q, error %v; want %q", c.Data, err, want)
	}
}
