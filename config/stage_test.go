package config

import (
	"path/filepath"
	"strings"
	"testing"
)

const staged = `
checkpoint_root_dir: /jobs
name: run
model: {model_path: m, max_model_len: 64}
algorithm: {algorithm_type: grpo, repeat_times: 8}
buffer:
  batch_size: 2
  explorer_input: {taskset: {path: tasks.jsonl, default_workflow_type: math_workflow}}
stages:
  - stage_name: warmup
    mode: train
    algorithm: {algorithm_type: sft}
    buffer: {train_batch_size: 4, trainer_input: {experience_buffer: {path: data.jsonl}}}
  - stage_name: rft
    explorer: {eval_interval: 7}
`

// A stage replaces whole sections of the file, and its name is below the run's.
func TestStage(t *testing.T) {
	c, err := Parse("run.yaml", []byte(staged), nil, func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	first, err := c.Stage(0)
	if err != nil {
		t.Fatal(err)
	}
	if first.Mode != Train || first.Algorithm.Type != "sft" || first.Algorithm.RepeatTimes != 1 ||
		first.Buffer.ExplorerInput.Taskset != nil || first.Buffer.TrainerInput.ExperienceBuffer.StorageType != "file" {
		t.Errorf("the first stage is %+v", first)
	}
	if got, want := first.JobDir(), filepath.Join("/jobs", "Trinity-RFT", "run", "warmup"); got != want {
		t.Errorf("its job directory is %s, want %s", got, want)
	}
	second, err := c.Stage(1)
	if err != nil {
		t.Fatal(err)
	}
	if second.Mode != Both || second.Algorithm.RepeatTimes != 8 || second.Explorer.EvalInterval != 7 ||
		second.Buffer.TrainBatchSize != 16 || second.Trainer.SaveHFCheckpoint != "last" {
		t.Errorf("the second stage is %+v", second)
	}
}

// What is wrong in a stage is said with its place and the stage's name, and once.
func TestStageProblems(t *testing.T) {
	for old, want := range map[string][2]string{
		"path: data.jsonl": {"capacity: 4", "(in stage warmup)"},
		"eval_interval: 7": {"eval_interval: 0",
			"explorer.eval_interval: is 0; it must be at least 1 (in stage rft)"},
		"stage_name: rft":      {"stage_name: warmup", "as an earlier stage is"},
		"max_model_len: 64":    {"max_model_len: 0", "max_model_len"},
		"stage_name: warmup\n": {"stage_name: ../out\n", "use a plain name"},
	} {
		text := strings.Replace(staged, old, want[0], 1)
		_, err := Parse("run.yaml", []byte(text), nil, func(string) (string, bool) { return "", false })
		if err == nil || strings.Count(err.Error(), want[1]) < 1 {
			t.Errorf("%s: error %v, want one with %q", want[0], err, want[1])
		}
	}
}

// What a stage uses and a file cannot tell is noted once.
func TestStageNotes(t *testing.T) {
	text := strings.ReplaceAll(staged, "explorer: {eval_interval: 7}",
		"algorithm: {algorithm_type: grpo, sample_strategy: staleness_control}\n"+
			"  - stage_name: more\n    algorithm: {algorithm_type: grpo, sample_strategy: staleness_control}")
	c, err := Parse("run.yaml", []byte(text), nil, env())
	if err != nil {
		t.Fatal(err)
	}
	if notes := strings.Join(c.Notes(), "\n"); strings.Count(notes, "staleness_control") != 1 {
		t.Errorf("notes are\n%s\nwant one of staleness_control", notes)
	}
}
