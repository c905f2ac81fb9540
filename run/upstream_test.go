package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// asUpstream leaves of a job directory what Trinity-RFT with its Tinker backend would have written, and the service's
// checkpoints.
func asUpstream(t *testing.T, job string) {
	t.Helper()
	for _, name := range []string{"metrics.jsonl", "metrics.jsonl.sum", "run.json", "buffer", "monitor", "rollouts",
		"log"} {
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

// A job that Trinity-RFT began on a Tinker service continues after its last saved state, and the steps that its queue
// had are explored again.
func TestContinuesUpstreamsJob(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	job := filepath.Join(dir, "trinity-tiny", "gsm8k")
	o := options()
	o.Fleeting = forgets
	runs(t, load(t, dir, and(tiny, "trainer.total_steps=2")...), o)
	asUpstream(t, job)
	lines := runs(t, load(t, dir, tiny...), o)
	if len(lines) != 1 || lines[0].Step != 3 || lines[0].Metrics["sample/model_version/mean"] != 2 ||
		lines[0].Metrics["train/kl_sample_train_v1"] != 0 {
		t.Errorf("it continues with %+v, want step 3 on samples of version 2", lines)
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
	if _, err := Run(context.Background(), load(t, dir, tiny...), o); err == nil ||
		!strings.Contains(err.Error(), "verl backend") {
		t.Errorf("a job of the verl backend: %v", err)
	}
}

// Upstream keeps the weights alone that it published last. Stopped between two saves it leaves notes of others, which
// are gone or of steps that are trained again: the saved state's are published anew.
func TestContinuesUpstreamsJobBetweenSaves(t *testing.T) {
	t.Parallel()
	unraced(t, "TestContinuesUpstreamsJob")
	for _, more := range [][]string{nil, {"synchronizer.sync_interval=3", "trainer.total_steps=5",
		"buffer.total_steps=5"}} {
		dir := t.TempDir()
		job := filepath.Join(dir, "trinity-tiny", "gsm8k")
		o := options()
		o.Fleeting = forgets
		runs(t, load(t, dir, and(tiny, "trainer.total_steps=2")...), o)
		asUpstream(t, job)
		gone, err := filepath.Glob(filepath.Join(job, "tinker", "checkpoints", "*", "sampler_weights", "*"))
		if err != nil || len(gone) == 0 {
			t.Fatalf("sampler weights %v, %v", gone, err)
		}
		for _, path := range gone {
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
		}
		for step, name := range map[int]string{0: "0", 1: "1", 2: "2", 3: "3"} {
			folder := filepath.Join(job, fmt.Sprintf("global_step_%d", step))
			path :=
				"tinker://e6d5b01c-5b1c-4f3c-8e0a-4b8f3a2d1c00:train:0/sampler_weights/trinity-tiny-gsm8k-sampler-" +
					name
			if err := errors.Join(os.MkdirAll(folder, 0o755),
				os.WriteFile(filepath.Join(folder, "remote_sampler_path.txt"), []byte(path), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(job, "latest_state_dict_iteration.txt"), []byte("3"), 0o644); err != nil {
			t.Fatal(err)
		}
		lines := runs(t, load(t, dir, and(tiny, more...)...), o)
		if len(lines) == 0 || lines[0].Step != 3 {
			t.Fatalf("with %v it continues with %+v, want step 3", more, lines)
		}
		if m := lines[0].Metrics; more == nil &&
			(m["sample/model_version/mean"] != 2 || m["train/kl_sample_train_v1"] != 0) {
			t.Errorf("step 3 is trained on samples of version %v, %v away; want 2 and 0",
				m["sample/model_version/mean"], m["train/kl_sample_train_v1"])
		}
	}
}

// How far data sets were read is taken over from upstream's notes.
func TestContinuesUpstreamsDataSets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for text, want := range map[string]buffer.Position{
		`{"latest_iteration": 2, "sample_strategy_state": {"current_index": 8}}`: {Count: 8},
		`{"latest_iteration": 2, "sample_strategy_state": {"usual_buffer": {"current_index": 0}, "expert_buffer": ` +
			`{"current_index": 64}}}`: {Expert: 64},
		`{"latest_iteration": 2, "latest_exp_index": 6}`: {Count: 6},
	} {
		step := filepath.Join(dir, "global_step_2")
		err := errors.Join(os.MkdirAll(step, 0o755), os.WriteFile(filepath.Join(step, "remote_checkpoint_path.txt"),
			[]byte("tinker://a/weights/b"), 0o644),
			os.WriteFile(filepath.Join(dir, "latest_checkpointed_iteration.txt"), []byte("2"), 0o644),
			os.WriteFile(filepath.Join(dir, "trainer_meta.json"), []byte(text), 0o644))
		if err != nil {
			t.Fatal(err)
		}
		if s, err := trainer.ReadState(dir, "trainer"); err != nil || !s.Foreign || s.Position != want {
			t.Errorf("%s: %+v, %v, want %+v", text, s, err, want)
		}
	}
}

// Of the saved states the newest stay.
func TestKeepsTheNewestCheckpoints(t *testing.T) {
	t.Parallel()
	unraced(t, "TestTwoProcessesGiveTheSameBits")
	dir := t.TempDir()
	runs(t, load(t, dir, and(tiny, "trainer.max_checkpoints_to_keep=2")...), options())
	for step, want := range map[int]bool{1: false, 2: true, 3: true} {
		_, err := os.Stat(filepath.Join(dir, "trinity-tiny", "gsm8k", fmt.Sprintf("global_step_%d", step),
			"remote_checkpoint_path.txt"))
		if (err == nil) != want {
			t.Errorf("the state of step %d: %v, want it %v", step, err, want)
		}
	}
	states, err := filepath.Glob(filepath.Join(dir, "trinity-tiny", "gsm8k", "tinker", "checkpoints", "*", "weights",
		"*"))
	if err != nil || len(states) != 2 {
		t.Errorf("states %v, want two", states)
	}
}

// A replay buffer trains on samples again; a job with one is continued.
func TestReplay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := and(tiny, "synchronizer.sync_style=explorer_driven", "trainer.total_steps=6", "trainer.save_interval=0",
		"buffer.trainer_input.experience_buffer={replay_buffer: {enable: true, reuse_cooldown_time: 0.05, "+
			"priority_fn: decay_limit_randomization, priority_fn_args: {decay: 0.5}}}")
	var lines []monitor.Line
	for _, steps := range []string{"2", "3"} {
		lines = runs(t, load(t, dir, and(cfg, "trainer.total_steps="+steps)...), options())
	}
	if len(lines) != 3 {
		t.Errorf("%d lines, want 3", len(lines))
	}
	_, err := Run(context.Background(),
		load(t, t.TempDir(), and(tiny, "buffer.trainer_input.experience_buffer={replay_buffer: {enable: true, "+
			"priority_fn_args: {sigma: 1}}}")...), options())
	if err == nil || !strings.Contains(err.Error(), "priority_fn_args.sigma: is not an argument; there are decay") {
		t.Errorf("error %v", err)
	}
}
