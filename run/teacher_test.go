package run

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/run/internal/service"
)

// taught is a short distillation.
var taught = []string{"seed=5", "buffer.batch_size=2", "algorithm.repeat_times=4", "buffer.total_steps=3",
	"trainer.total_steps=3",
	"model.max_response_tokens=16", "explorer.eval_interval=9", "trainer.save_interval=9",
	"buffer.explorer_input.eval_tasksets=[]"}

// Distilled from itself a model has nothing to learn at first: its teacher's logprobs are its own, bit for bit. From
// another it has.
func TestDistillation(t *testing.T) {
	t.Parallel()
	itself := runs(t, example(t, t.TempDir(), "on_policy_distill",
		append(taught, "explorer.auxiliary_models=[{model_path: examples/tiny/model}]")...), options())
	if kl := itself[0].Metrics["advantage/distill/reverse_kl"]; kl != 0 {
		t.Errorf("reverse KL to itself = %v, want exactly 0", kl)
	}
	for _, name := range []string{"on_policy_distill", "jsd"} {
		lines := runs(t, example(t, t.TempDir(), "on_policy_distill",
			append(taught, "algorithm.algorithm_type="+name)...), options())
		m := lines[0].Metrics
		if m["critic/advantages/max"] <= 0 || m["critic/advantages/min"] >= 0 {
			t.Errorf("%s: advantages from %v to %v, want some tokens praised and some blamed", name,
				m["critic/advantages/min"], m["critic/advantages/max"])
		}
	}
}

// A job's folder, one of its steps and the checkpoint's own folder name the same teacher.
func TestTeacherIsASavedState(t *testing.T) {
	t.Parallel()
	unraced(t, "TestDistillation")
	root := t.TempDir()
	runs(t, load(t, root, append(small, "name=master", "trainer.total_steps=2", "buffer.total_steps=2",
		"algorithm.optimizer.lr=1e-2")...), onEngine())
	job := filepath.Join(root, "trinity-tiny", "master")
	folder, err := service.SavedWeights(job)
	if err != nil {
		t.Fatal(err)
	}
	args := func(path string) []string {
		return append(taught, "explorer.auxiliary_models=[{model_path: "+path+"}]")
	}
	want := runs(t, example(t, t.TempDir(), "on_policy_distill", args(job)...), onEngine())
	if kl := want[0].Metrics["advantage/distill/reverse_kl"]; kl == 0 {
		t.Error("the trained teacher agrees with the base model to the bit")
	}
	for _, path := range []string{filepath.Join(job, "global_step_2"), folder} {
		same(t, path, runs(t, example(t, t.TempDir(), "on_policy_distill", args(path)...), onEngine()), want)
	}
}

func TestTeacherRefusals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ models, want string }{
		{"[]", "explorer.auxiliary_models is empty"},
		{"[{model_path: examples/tiny/guess/model}]", "must read the same tokens"},
		{"[{model_path: no/such/folder}]", "is not a folder or GGUF file here"},
		{"[{model_path: tinker://x/sampler_weights/y}]", "teacher model"},
	} {
		cfg := example(t, t.TempDir(), "on_policy_distill", append(taught, "explorer.auxiliary_models="+tt.models)...)
		if _, err := Run(t.Context(), cfg, options()); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.models, err, tt.want)
		}
	}
}

// Killed anywhere, a run that reads samples and an expert's data ends with the metrics of an unbroken one.
func TestMixSurvivesKills(t *testing.T) {
	t.Parallel()
	args := append(tinyRun, "buffer.train_batch_size=3", "trainer.save_interval=1", "explorer.eval_on_startup=false",
		"model.tinker.rank=4", "buffer.total_steps=3", "trainer.total_steps=3")
	want := survivesKills(t, options(), 6, jobOf(func(t testing.TB, dir string) *config.Config {
		return example(t, dir, "mix", args...)
	}))
	if n := want[2].Metrics["actor/expert/sft_loss"]; !(n > 0) {
		t.Fatalf("the expert's loss is %v", n)
	}
	if want[0].Metrics["actor/expert/sft_loss"] == want[1].Metrics["actor/expert/sft_loss"] {
		t.Error("two steps show the same expert's loss")
	}
}

func TestSampleStrategyRefusals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ override, want string }{
		{"algorithm.sample_strategy_args={sft_dataset_name: other}", "auxiliary_buffers.other, which is not given"},
		{"algorithm.sample_strategy_args={expert_data_ratio: 1, sft_dataset_name: solutions}",
			"leaves no place for samples"},
		{"buffer.trainer_input.auxiliary_buffers.solutions.path=examples/tiny/guess/seeds",
			"auxiliary_buffers.solutions"},
		{"trainer.total_steps=60", "raise its total_epochs"},
	} {
		args := []string{tt.override, "buffer.total_steps=60"}
		if _, err := Run(t.Context(), example(t, t.TempDir(), "mix", args...), options()); err == nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.override, err, tt.want)
		}
	}
	stale := append(small, "algorithm.sample_strategy=staleness_control")
	cfg := load(t, t.TempDir(), append(stale, "algorithm.sample_strategy_args={max_staleness: 0}",
		"synchronizer.sync_offset=1")...)
	if _, err := Run(t.Context(), cfg, options()); err == nil || !strings.Contains(err.Error(), "up to 1 steps old") {
		t.Errorf("max_staleness 0 with offset 1: %v", err)
	}
	lines := runs(t, load(t, t.TempDir(), append(stale, "algorithm.sample_strategy_args={max_staleness: 1}",
		"synchronizer.sync_offset=1")...), options())
	if len(lines) != 5 {
		t.Errorf("max_staleness 1 with offset 1: %d lines, want all 4 steps", len(lines))
	}
}
