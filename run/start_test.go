package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine"
)

// lora is small with the veRL backend's section of LoRA.
func lora(section string, more ...string) []string {
	return slices.Concat(small, []string{"model.tinker.enable=false", "model.tinker.seed=null",
		"model.lora_configs=[{" + section + "}]", "synchronizer.sync_method=checkpoint"}, more)
}

// trainedAdapter is the PEFT folder that a run of two steps saves.
func trainedAdapter(t *testing.T) string {
	t.Helper()
	cfg := load(t, t.TempDir(), lora("lora_rank: 4, lora_alpha: 8", "trainer.total_steps=2",
		"algorithm.optimizer.lr=1e-2")...)
	runs(t, cfg, onEngine())
	return savedAdapter(t, cfg.JobDir(), 2)
}

// savedAdapter is the folder of the state that a job saved after step.
func savedAdapter(t *testing.T, job string, step int) string {
	t.Helper()
	path, err := os.ReadFile(filepath.Join(job, fmt.Sprintf("global_step_%d", step), "remote_checkpoint_path.txt"))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := engine.CheckpointFolder(filepath.Join(job, "tinker", "checkpoints"), string(path))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// A run begins with the adapter that lora_configs[0].path names: its first rollouts are sampled with it and not with
// the base model (the trainer compares every logprob, so both sides have it), and a run that learns nothing saves the
// same bits.
func TestStartFromAdapter(t *testing.T) {
	t.Parallel()
	unraced(t, "TestResumeFromAdapter")
	from := trainedAdapter(t)
	section := "lora_rank: 4, lora_alpha: 8, path: " + from
	cfg := load(t, t.TempDir(), lora(section, "trainer.total_steps=1", "algorithm.optimizer.lr=0",
		"algorithm.optimizer.weight_decay=0")...)
	began := runs(t, cfg, onEngine())
	got, want := adapterBytes(t, savedAdapter(t, cfg.JobDir(), 1)), adapterBytes(t, from)
	if !bytes.Equal(got, want) {
		t.Error("a run with learning rate 0 saved another adapter than it began with")
	}
	fresh := runs(t, load(t, t.TempDir(), lora("lora_rank: 4, lora_alpha: 8", "trainer.total_steps=1")...), onEngine())
	if a, b := began[1].Metrics["sampler/token_entropy"], fresh[1].Metrics["sampler/token_entropy"]; a == b {
		t.Errorf("step 1 samples with entropy %v with and without the adapter", a)
	}
	bench := runs(t, load(t, t.TempDir(), lora(section, "mode=bench")...), onEngine())
	if len(bench) != 1 {
		t.Errorf("mode bench: %d lines", len(bench))
	}
}

func adapterBytes(t *testing.T, dir string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, engine.AdapterWeightsFile))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Stopped after any step the job continues to the metrics of an unbroken run, even when the adapter's folder is gone.
func TestResumeFromAdapter(t *testing.T) {
	t.Parallel()
	from := trainedAdapter(t)
	section := "lora_rank: 4, lora_alpha: 8, path: " + from
	want := runs(t, load(t, t.TempDir(), lora(section)...), onEngine())
	dir := t.TempDir()
	stop := make(chan struct{})
	o := onEngine()
	o.Stop, o.Out = stop, &stopAt{stop: stop, text: "step 2/4"}
	if _, err := Run(context.Background(), load(t, dir, lora(section)...), o); !errors.Is(err, ErrInterrupted) {
		t.Fatalf("the run was not interrupted: %v", err)
	}
	if err := os.RemoveAll(from); err != nil {
		t.Fatal(err)
	}
	same(t, "interrupted", runs(t, load(t, dir, lora(section)...), onEngine()), want)
	o = onEngine()
	o.Out = io.Discard
	_, err := Run(context.Background(), load(t, dir, lora("lora_rank: 4, lora_alpha: 8")...), o)
	if err == nil || !strings.Contains(err.Error(), "was begun with model.lora_configs[0].path") {
		t.Errorf("another adapter for the same job: %v", err)
	}
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	unraced(t, "TestResumeFromAdapter")
	from := trainedAdapter(t)
	foreign := filepath.Join(t.TempDir(), "foreign")
	if err := os.CopyFS(foreign, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	rebase(t, foreign, "meta-llama/Llama-3.2-3B")
	other, err := filepath.Abs(filepath.Join("..", "engine", "internal", "model", "testdata", "peft", "llama32-qv"))
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := engine.ReadAdapter(other)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ section, want string }{
		{"lora_rank: 8, lora_alpha: 8, path: " + from, "the adapter has rank 4 and lora_rank is 8"},
		{"lora_rank: 4, lora_alpha: 4, path: " + from, "the adapter has alpha 8 and lora_alpha is 4"},
		{"lora_rank: 4, lora_alpha: 8, target_modules: [q_proj], path: " + from, "target_modules"},
		{"lora_rank: 4, lora_alpha: 8, path: " + foreign, "the adapter was made for meta-llama/Llama-3.2-3B"},
		{"lora_rank: 4, lora_alpha: 8, base_model_name: other, path: " + foreign, "base_model_name is other"},
		{"path: " + filepath.Join(from, "nowhere"), engine.AdapterConfigFile},
		{fmt.Sprintf("lora_rank: %d, lora_alpha: %g, target_modules: [q_proj, v_proj], base_model_name: %q, path: %s",
			theirs.Rank, theirs.Alpha, theirs.Base, other), "has shape"},
	} {
		_, err := Run(context.Background(), load(t, t.TempDir(), lora(tt.section)...), onEngine())
		if err == nil || !strings.Contains(err.Error(), tt.want) ||
			!strings.Contains(err.Error(), "model.lora_configs[0].path") {
			t.Errorf("%s: %v, want %q", tt.section, err, tt.want)
		}
	}
	named := "lora_rank: 4, lora_alpha: 8, base_model_name: meta-llama/Llama-3.2-3B, path: " + foreign
	runs(t, load(t, t.TempDir(), lora(named, "trainer.total_steps=1")...), onEngine())
}

// A linear layer that the model lacks is refused before anything is written.
func TestModulesOfTheModel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := Run(t.Context(), load(t, dir, lora("target_modules: [q_proj, in_proj_z]")...), options())
	if err == nil || !strings.Contains(err.Error(), `model.lora_configs[0].target_modules: LoRA on "in_proj_z", which `+
		"Qwen3ForCausalLM does not have; its modules are q_proj, ") {
		t.Errorf("a layer of another family: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("the folder of jobs has %v (%v)", entries, err)
	}
}

// rebase lets an adapter say that it was made for another model.
func rebase(t *testing.T, dir, name string) {
	t.Helper()
	path := filepath.Join(dir, engine.AdapterConfigFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var c map[string]any
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	c["base_model_name_or_path"] = name
	if data, err = json.Marshal(c); err == nil {
		err = os.WriteFile(path, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
