package config

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/recipe"
)

func TestDefaults(t *testing.T) {
	c := Default()
	for _, tt := range []struct {
		key       string
		got, want any
	}{
		{"mode", c.Mode, Both},
		{"continue_from_checkpoint", c.Continue, true},
		{"seed", c.Seed, (*int64)(nil)},
		{"algorithm.optimizer.lr", c.Algorithm.Optimizer.LR, 1e-6},
		{"algorithm.optimizer.betas", c.Algorithm.Optimizer.Betas, []float64{0.9, 0.999}},
		{"model.tinker.rank", c.Model.Tinker.Rank, 32},
		{"model.tinker.base_model", c.Model.Tinker.BaseModel, ""},
		{"model.random_init", c.Model.RandomInit, false},
		{"model.top_k", c.Model.TopK, -1},
		{"explorer.rollout_model.seed", c.Explorer.RolloutModel.Seed, int64(42)},
		{"explorer.eval_interval", c.Explorer.EvalInterval, 100},
		{"synchronizer.sync_timeout", c.Synchronizer.SyncTimeout, 3600.0},
		{"trainer.grad_clip", c.Trainer.GradClip, 1.0},
	} {
		if !reflect.DeepEqual(tt.got, tt.want) {
			t.Errorf("%s = %#v, want %#v", tt.key, tt.got, tt.want)
		}
	}
}

func TestSeedTinkerFile(t *testing.T) {
	c, err := Load("testdata/seed-tinker.good.yml", nil, env("TRINITY_CHECKPOINT_ROOT_DIR=/ckpt"))
	if err != nil {
		t.Fatal(err)
	}
	task, buf := c.Buffer.ExplorerInput.Training()[0], c.Buffer.TrainerInput.ExperienceBuffer
	for _, tt := range []struct {
		what      string
		got, want any
	}{
		{"job dir", c.JobDir(), "/ckpt/Trinity-RFT-gsm8k/alignment-tinker/tinker-llama3.2-3B-off1"},
		{"train batch size", c.Buffer.TrainBatchSize, 768},
		{"model length", *c.Model.MaxModelLen, 3072},
		{"trainer type", c.Trainer.TrainerType, "tinker"},
		{"advantage", c.Algorithm.AdvantageFn, "grpo"},
		{"kl_coef", c.Algorithm.KLLossFnArgs["kl_coef"], 0.0},
		{"workflow", task.DefaultWorkflowType, "math_workflow"},
		{"repeat times", task.RepeatTimes, 8},
		{"temperature", *task.RolloutArgs.Temperature, 1.0},
		{"max tokens", *task.RolloutArgs.MaxTokens, 2048},
		{"buffer path", buf.Path,
			"/ckpt/Trinity-RFT-gsm8k/alignment-tinker/tinker-llama3.2-3B-off1/buffer/experience_buffer.jsonl"},
		{"schema", buf.SchemaType, "experience"},
		{"notes", c.Notes(), []string{"not applying here (no GPUs, Ray, vLLM or verl; docs/guide/trinity-rft.md has " +
			"the others): cluster.node_num, cluster.gpu_per_node, explorer.rollout_model.seed"}},
		{"LoRA", c.LoRA().Rank, 32},
	} {
		if !reflect.DeepEqual(tt.got, tt.want) {
			t.Errorf("%s = %#v, want %#v", tt.what, tt.got, tt.want)
		}
	}
	if tmpl := c.Model.CustomChatTemplate; !strings.HasPrefix(
		tmpl, "{{- bos_token }}\n{%- if custom_tools is defined %}\n") || !strings.HasSuffix(tmpl, "{%- endif %}\n") {
		t.Errorf("chat template = %q", tmpl)
	}
}

func TestLengths(t *testing.T) {
	for _, tt := range []struct{ given, want string }{
		{"max_prompt_tokens: 10, max_response_tokens: 20", "30 10 20"},
		{"max_model_len: 101", "101 50 51"},
		{"max_model_len: 100, max_response_tokens: 30", "100 70 30"},
		{"max_model_len: 100, max_response_tokens: 100", "100 1 99"},
		{"max_model_len: 100, max_prompt_tokens: 40", "100 40 60"},
		{"max_model_len: 100, max_prompt_tokens: 400", "100 99 1"},
		{"max_model_len: 100, max_prompt_tokens: 10, max_response_tokens: 20", "100 10 20"},
	} {
		m := load(t, base, "model={max_model_len: null}", "model={"+tt.given+"}").Model
		if got := fmt.Sprint(*m.MaxModelLen, *m.MaxPromptTokens, *m.MaxResponseTokens); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.given, got, tt.want)
		}
	}
	if m := load(t, base, "model.max_response_tokens=5",
		"model.min_response_tokens=9").Model; m.MinResponseTokens != 4 {
		t.Errorf("min_response_tokens = %d, want 4", m.MinResponseTokens)
	}
}

func TestDerived(t *testing.T) {
	for _, tt := range []struct {
		overrides string // separated by blanks
		get       func(*Config) any
		want      any
	}{
		{"", func(c *Config) any { return c.Algorithm.RepeatTimes }, 2},
		{"algorithm.repeat_times=1", func(c *Config) any { return c.Algorithm.RepeatTimes }, 1},
		{"algorithm.algorithm_type=gspo", func(c *Config) any { return c.Algorithm.LossAggMode },
			"seq-mean-token-mean"},
		{"", func(c *Config) any { return c.Algorithm.LossAggMode }, "token-mean"},
		{"algorithm.policy_loss_fn_args.loss_agg_mode=seq-mean-token-sum",
			func(c *Config) any { return c.Algorithm.LossAggMode }, "seq-mean-token-sum"},
		{"algorithm.advantage_fn=rec", func(c *Config) any { return c.Algorithm.AdvantageFn }, "rec"},
		{"algorithm.algorithm_type=raft", func(c *Config) any { return c.Algorithm.AdvantageFn }, ""},
		{"algorithm.optimizer.warmup_style=cosine",
			func(c *Config) any { return c.Algorithm.Optimizer.LRSchedulerType }, "cosine"},
		{"model.top_k=7", func(c *Config) any { return *c.Buffer.ExplorerInput.Taskset.RolloutArgs.TopK }, 7},
		{"model.temperature=0", func(c *Config) any { return *c.Explorer.RolloutModel.Temperature }, 0.0},
		{"model.temperature=0.5 buffer.explorer_input.eval_tasksets[0].rollout_args.temperature=0",
			func(c *Config) any { return *c.Buffer.ExplorerInput.EvalTasksets[0].RolloutArgs.Temperature }, 0.0},
		{"synchronizer.sync_interval=30", func(c *Config) any { return c.Explorer.EvalInterval }, 90},
		{"synchronizer.sync_interval=300", func(c *Config) any { return c.Explorer.EvalInterval }, 300},
		{"synchronizer.sync_method=nccl", func(c *Config) any { return c.Synchronizer.SyncMethod }, Checkpoint},
		{"synchronizer.sync_method=memory model.tinker.enable=true",
			func(c *Config) any { return c.Synchronizer.SyncMethod }, Memory},
		{"mode=colocate", func(c *Config) any { return c.Mode }, Both},
		{"buffer.explorer_input.default_workflow_type=w buffer.explorer_input.default_eval_workflow_type=e",
			func(c *Config) any { return c.Buffer.ExplorerInput.EvalTasksets[0].DefaultWorkflowType }, "e"},
		{"buffer.explorer_input.default_workflow_type=w",
			func(c *Config) any { return c.Buffer.ExplorerInput.EvalTasksets[0].DefaultWorkflowType }, "w"},
		{"", func(c *Config) any { return c.Buffer.ExplorerInput.EvalTasksets[0].Name }, "eval_taskset_0"},
		{"", func(c *Config) any { return c.Buffer.TrainerInput.ExperienceBuffer.StorageType }, "queue"},
		{"buffer.trainer_input.experience_buffer={storage_type: file, path: mine.jsonl}",
			func(c *Config) any { return filepath.Base(c.Buffer.TrainerInput.ExperienceBuffer.Path) }, "mine.jsonl"},
		{"buffer.trainer_input.experience_buffer={storage_type: sql, name: b}",
			func(c *Config) any { return filepath.Base(c.Buffer.TrainerInput.ExperienceBuffer.Path) }, "b.db"},
		{"explorer.concurrent_mode=asynchronous buffer.batch_size=4",
			func(c *Config) any { return c.Explorer.RunnerPerModel }, 4},
		{"model.tinker={enable: true, base_model: x}", func(c *Config) any { return c.Model.BaseModel() }, "x"},
		{"model.tinker={enable: true, full_param: true}", func(c *Config) any { return c.LoRA().Rank }, 0},
		{"model.tinker.base_model=x", func(c *Config) any { return c.Model.BaseModel() }, "m"},
	} {
		c := load(t, base, overrides(tt.overrides)...)
		if got := tt.get(c); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%q: got %#v, want %#v", tt.overrides, got, tt.want)
		}
	}
}

// overrides splits a line of overrides where a blank is followed by a new key.
func overrides(line string) []string {
	var out []string
	for word := range strings.FieldsSeq(line) {
		if key, _, ok := strings.Cut(word, "="); ok && !strings.Contains(key, "{") && strings.ContainsAny(key, ".m") {
			out = append(out, word)
			continue
		}
		out[len(out)-1] += " " + word
	}
	return out
}

func TestSFTWithoutSaving(t *testing.T) {
	c, err := Load("testdata/sft.good.yml", nil, env())
	if err != nil {
		t.Fatal(err)
	}
	b := c.Buffer.TrainerInput.ExperienceBuffer
	if c.Synchronizer.SyncInterval != 1 || c.Synchronizer.SyncMethod != Checkpoint || b.StorageType != "file" ||
		b.SchemaType != "sft" {
		t.Errorf("interval %d, method %s, storage %s, schema %s", c.Synchronizer.SyncInterval,
			c.Synchronizer.SyncMethod, b.StorageType, b.SchemaType)
	}
}

func TestNotes(t *testing.T) {
	for _, tt := range []struct{ overrides, want string }{
		{"model.lora_configs=[{}] model.tinker.enable=true", "model.lora_configs is ignored"},
		{"trainer.trainer_type=verl model.tinker.enable=true", "trainer.trainer_type verl was replaced by tinker"},
		{"synchronizer.sync_method=nccl", "needs GPUs; checkpoint is used"},
		{"synchronizer.sync_style=fully_async synchronizer.sync_offset=1", "sync_offset is ignored: in"},
		{"synchronizer.explorer_sync_interval=2 synchronizer.trainer_sync_interval=3", "every 2 steps and the trainer"},
		{"explorer.max_inflight_batches=3", "ignored: sync_style fixed explores one step at a time"},
		{"explorer.runner_num=3", "runner_num is deprecated"},
		{"buffer.cache_dir=x", "set by the program; the given values are not used: buffer.cache_dir"},
		{"explorer.rollout_model.dtype=float16 cluster.node_num=2", "explorer.rollout_model.dtype, cluster.node_num"},
	} {
		c := load(t, base, overrides(tt.overrides)...)
		if got := strings.Join(c.Notes(), "\n"); strings.Count(got, tt.want) != 1 {
			t.Errorf("%q: notes\n%s\nwant %q once", tt.overrides, got, tt.want)
		}
	}
	if notes := load(t, base).Notes(); len(notes) != 0 {
		t.Errorf("a plain configuration has notes %q", notes)
	}
}

func TestStartFresh(t *testing.T) {
	c := load(t, base, "checkpoint_root_dir=/ckpt", "synchronizer.sync_method=nccl")
	before := c.Notes()
	c.StartFresh(time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC))
	if got, want := c.JobDir(), "/ckpt/Trinity-RFT/rft_20260304050607"; got != want {
		t.Errorf("JobDir = %s, want %s", got, want)
	}
	if got := c.Buffer.TrainerInput.ExperienceBuffer.Path; !strings.HasPrefix(got, c.JobDir()) {
		t.Errorf("buffer path %s does not follow the job directory", got)
	}
	if !reflect.DeepEqual(c.Notes(), before) {
		t.Errorf("notes changed from %q to %q", before, c.Notes())
	}
}

func TestDerivingTwiceChangesNothing(t *testing.T) {
	c := load(t, base)
	before := c.Resolved()
	c.Derive()
	if after := c.Resolved(); after != before {
		t.Errorf("second Derive changed the configuration")
	}
}

func TestInCode(t *testing.T) {
	c := Default()
	c.Algorithm.Type = "grpo"
	c.Model.ModelPath = "m"
	c.Model.MaxModelLen = new(64)
	c.Buffer.ExplorerInput.Taskset = &Taskset{Path: "d", StorageType: "file"}
	c.Derive()
	if err := c.Validate(); err != nil {
		t.Errorf("Validate: %v", err)
	}
	c.Buffer.BatchSize = -1
	if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), "config: buffer.batch_size: is -1") {
		t.Errorf("Validate = %v", err)
	}
}

func TestEveryRecipe(t *testing.T) {
	for name, row := range recipe.All() {
		c := load(t, base, "algorithm.algorithm_type="+name, "mode=train", "buffer.train_batch_size=1",
			"buffer.trainer_input.experience_buffer.path=x")
		if c.Algorithm.RepeatTimes != row.RepeatTimes {
			t.Errorf("%s: repeat_times %d, want %d", name, c.Algorithm.RepeatTimes, row.RepeatTimes)
		}
	}
}
