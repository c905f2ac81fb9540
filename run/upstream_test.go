package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// asUpstream leaves of a job directory what Trinity-RFT with its Tinker backend would have written, and the service's checkpoints.
func asUpstream(t *testing.T, job string) {
	t.Helper()
	for _, name := range []string{"metrics.jsonl", "run.json", "buffer", "monitor", "rollouts", "log"} {
		if err := os.RemoveAll(filepath.Join(job, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"trainer_meta.json":  `{"latest_iteration": 2, "sample_strategy_state": {"current_index": 0}}`,
		"explorer_meta.json": `{"latest_iteration": 3, "taskset_states": [{"current_index": 6}]}`,
	} {
		if err := os.WriteFile(filepath.Join(job, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A job that Trinity-RFT began on a Tinker service goes on behind its last saved state, and the steps that its queue had are explored again.
func TestContinuesUpstreamsJob(t *testing.T) {
	dir := t.TempDir()
	job := filepath.Join(dir, "trinity-tiny", "gsm8k")
	o := options()
	o.fleeting = forgets
	runs(t, load(t, dir, and(tiny, "trainer.total_steps=2")...), o)
	asUpstream(t, job)
	lines := runs(t, load(t, dir, tiny...), o)
	if len(lines) != 1 || lines[0].Step != 3 || lines[0].Metrics["sample/model_version/mean"] != 2 || lines[0].Metrics["train/kl_sample_train_v1"] != 0 {
		t.Errorf("it goes on with %+v, want step 3 on samples of version 2", lines)
	}

	asUpstream(t, job)
	_, err := Run(context.Background(), load(t, dir, tiny...), options())
	if err == nil || !strings.Contains(err.Error(), "was begun by Trinity-RFT on a Tinker service") {
		t.Errorf("on the local engine: %v", err)
	}
	if err := os.Remove(filepath.Join(job, "latest_checkpointed_iteration.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(job, "global_step_2", "actor"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), load(t, dir, tiny...), o); err == nil || !strings.Contains(err.Error(), "verl backend") {
		t.Errorf("a job of the verl backend: %v", err)
	}
}

// Of the saved states the newest stay.
func TestKeepsTheNewestCheckpoints(t *testing.T) {
	dir := t.TempDir()
	runs(t, load(t, dir, and(tiny, "trainer.max_checkpoints_to_keep=2")...), options())
	for step, want := range map[int]bool{1: false, 2: true, 3: true} {
		_, err := os.Stat(filepath.Join(dir, "trinity-tiny", "gsm8k", fmt.Sprintf("global_step_%d", step), "remote_checkpoint_path.txt"))
		if (err == nil) != want {
			t.Errorf("the state of step %d: %v, want it %v", step, err, want)
		}
	}
	states, err := filepath.Glob(filepath.Join(dir, "trinity-tiny", "gsm8k", "tinker", "checkpoints", "*", "weights", "*"))
	if err != nil || len(states) != 2 {
		t.Errorf("states %v, want two", states)
	}
}

// A replay buffer trains on samples again; a job with one is continued.
func TestReplay(t *testing.T) {
	dir := t.TempDir()
	cfg := and(tiny, "synchronizer.sync_style=explorer_driven", "trainer.total_steps=6", "trainer.save_interval=0",
		"buffer.trainer_input.experience_buffer={replay_buffer: {enable: true, reuse_cooldown_time: 0.05, priority_fn: decay_limit_randomization, priority_fn_args: {decay: 0.5}}}")
	var lines []monitor.Line
	for _, steps := range []string{"2", "3"} {
		lines = runs(t, load(t, dir, and(cfg, "trainer.total_steps="+steps)...), options())
	}
	if len(lines) != 3 {
		t.Errorf("%d lines, want 3", len(lines))
	}
	_, err := Run(context.Background(), load(t, t.TempDir(), and(tiny, "buffer.trainer_input.experience_buffer={replay_buffer: {enable: true, priority_fn_args: {sigma: 1}}}")...), options())
	if err == nil || !strings.Contains(err.Error(), "priority_fn linear_decay has no argument sigma") {
		t.Errorf("error %v", err)
	}
}

func TestRefusesTheTaskPipeline(t *testing.T) {
	_, err := Run(context.Background(), load(t, t.TempDir(), and(tiny, "data_processor.task_pipeline={operators: [{name: llm_difficulty_score_filter}]}")...), options())
	if err == nil || !strings.Contains(err.Error(), "Data-Juicer") {
		t.Errorf("error %v", err)
	}
}
