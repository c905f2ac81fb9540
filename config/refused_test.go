package config

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config/internal/document"
)

// What is given and does nothing is never passed over: it is on the line of what does not apply, noted with the reason,
// or refused with the remedy. Each key here is given a value of its own.
func TestNothingIsPassedOver(t *testing.T) {
	const idle, noted, refused = "does not apply", "is noted", "is refused"
	for _, tt := range []struct{ override, fate, says string }{
		{"model.rope_theta=10000", refused, "write it into its config.json"},
		{"model.rope_scaling={factor: 2}", refused, "write it into its config.json"},
		{"model.repetition_penalty=1.1", refused, "the model's own distribution"},
		{"model.min_response_tokens=5", refused, "the model's own distribution"},
		{"model.tinker.enable=true model.repetition_penalty=1.1", noted, "on Tinker as in upstream"},
		{"explorer.rollout_model.ignore_eos=true", refused, "leave it out"},
		{"explorer.rollout_model.repetition_penalty=2", refused, "the model's own distribution"},
		{"explorer.auxiliary_models=[{model_path: x, ignore_eos: true}]", refused, "leave it out"},
		{"data_processor.experience_pipeline.inputs={a: {path: b}}", refused, "leave it out"},
		{"data_processor.experience_pipeline.output={path: b}", refused, "experience_buffer"},
		{"monitor.monitor_type=swanlab", refused, "choose tensorboard, wandb, mlflow or trackio"},
		{"trainer.trainer_config_path=a.yaml", refused, "put the keys into the configuration"},
		{"algorithm.optimizer.optimizer_type=sgd", refused, "adam or adamw"},
		{"explorer.db_url=mysql://u@h/d", refused, "use sqlite:///"},
		{"algorithm.algorithm_type=ppo model.critic_model_path=other", noted, "a second adapter"},
		{"synchronizer.sync_method=nccl", noted, "checkpoint is used"},
		{"explorer.runner_num=4", noted, "deprecated"},
		{"buffer.explorer_input.taskset.repeat_times=9", noted, "algorithm.repeat_times counts"},
		{"buffer.trainer_input.experience_buffer.batch_size=9", noted, "set by the program"},
		{"trainer.trainer_config={actor_rollout_ref: {actor: {ppo_mini_batch_size: 7}}}", noted,
			"is buffer.train_batch_size"},
		{"trainer.enable_preview=true", idle, "trainer.enable_preview"},
		{"explorer.rollout_model.enable_multimodal=true", refused, "read text only"},
		{"explorer.auxiliary_models=[{model_path: x, enable_multimodal: true}]", refused, "read text only"},
		{"explorer.runner_prepare_concurrency=null", idle, "explorer.runner_prepare_concurrency"},
		{"explorer.rollout_model.data_parallel_size=2", idle, "explorer.rollout_model.data_parallel_size"},
		{"explorer.mode=both", noted, "set by the program"},
		{"algorithm.enable_router_replay=true", idle, "algorithm.enable_router_replay"},
		{"algorithm.rollout_correction={rollout_rs: token}", refused, "agree to the bit"},
		{"algorithm.rollout_correction={bypass_mod: false}", refused, "did you mean bypass_mode?"},
		{"algorithm.rollout_correction={bypass_mode: 7}", refused, "true or false"},
		{"algorithm.rollout_correction={rollout_is: token}", idle, "algorithm.rollout_correction.rollout_is"},
		{"model.tinker.enable=true algorithm.bypass_old_logprobs=false", idle, "algorithm.bypass_old_logprobs"},
		{"model.tinker.enable=true algorithm.rollout_correction={rollout_rs: token}", idle, "rollout_rs"},
		{"algorithm.optimizer={fused: true, foreach: true}", idle, "algorithm.optimizer.fused"},
		{"trainer.critic_warmup=2", idle, "trainer.critic_warmup"},
		{"algorithm.algorithm_type=ppo trainer.critic_warmup=-1", refused, "at least 0"},
		{"trainer.max_checkpoints_to_keep=-1", refused, "at least 0"},
		{"trainer.megatron={tensor_model_parallel_size: 2}", idle, "trainer.megatron.tensor_model_parallel_size"},
		{"trainer.megatron={tensor_parallel_size: 2}", refused, "unknown key; did you mean"},
		{"trainer.megatron={sequence_parallel: 2}", refused, "needs true or false"},
		{"trainer.trainer_config={algorithm: {rollout_correction: {bypass_mode: true}}}", noted,
			"write algorithm.bypass_old_logprobs"},
		{"trainer.max_checkpoints_to_keep=0 trainer.trainer_config={trainer: {max_actor_ckpt_to_keep: 2}}", noted,
			"max_actor_ckpt_to_keep is not used"},
		{"trainer.trainer_config={trainer: {max_actor_ckpt_to_keep: 2}}", noted,
			"write trainer.max_checkpoints_to_keep"},
		{"synchronizer.group_name=g", idle, "synchronizer.group_name"},
		{"monitor.run_id=r", noted, "set by the program"},
		{"buffer.explorer_output={path: x}", noted, "set by the program"},
		{"buffer.explorer_output={pth: x}", refused, "did you mean path?"},
		{"buffer.explorer_output={format: {promptkey: x}}", refused, "did you mean prompt_key?"},
		{"cod.task_pack_size=4", refused, "a Python research package"},
		{"algorithm.sample_strategy=staleness_control", noted, "as in Trinity-RFT 0.6.0; in 0.5.2 that was 1"},
		{"buffer.explorer_input.default_reward_fn_type=math_dapo_reward", noted, "0.5.2 gave 1 and 0"},
		{"buffer.explorer_input.taskset.data_selector={selector_type: shuffle}", noted, "0.5.2 repeated one order"},
		{"monitor.detailed_stats=true", noted, "0.5.2 divided by n − 1"},
		{"explorer.runner_state_report_interval=3", idle, "explorer.runner_state_report_interval"},
		{"explorer.rollout_model.temperature=0.3", idle, "explorer.rollout_model.temperature"},
		{"explorer.rollout_model.enable_history=true", idle, "explorer.rollout_model.enable_history"},
		{"service.data_juicer={auto_start: true}", idle, "service.data_juicer.auto_start"},
		{"synchronizer.wait_for_checkpoint=true", idle, "synchronizer.wait_for_checkpoint"},
		{"model.logprobs=5", idle, "model.logprobs"},
		{"model.tinker={enable: true, forward_backward_chunk_bytes: 4500000, server_loss_fn: trinity_ppo}", idle,
			"model.tinker.server_loss_fn"},
		{"model.tinker.server_loss_fn=foo", refused, `is "foo"; choose trinity_ppo`},
		{"model.tinker={enable: true, server_loss_fn: trinity_pp0}", refused, "did you mean trinity_ppo?"},
		{"explorer.rollout_model.tensor_parallel_size=0", refused, "must be at least 1"},
		{"explorer.rollout_model.data_parallel_size=0", refused, "must be at least 1"},
		{"explorer.rollout_model.pipeline_parallel_size=-1", refused, "must be at least 1"},
		{"explorer.auxiliary_models=[{model_path: m, data_parallel_size: 0}]", refused, "must be at least 1"},
		{"explorer.rollout_model={engine_type: tinker, data_parallel_size: 0}", idle,
			"explorer.rollout_model.data_parallel_size"},
		{"explorer.rollout_model={extra_engine_args: {a: 1}, base_port: 2}", idle, "explorer.rollout_model.base_port"},
		{"synchronizer.sync_method=hccl", noted, "checkpoint is used"},
		{"trainer.trainer_config={actor_rollout_ref: {hybrid_engine: true}}", idle,
			"trainer.trainer_config.actor_rollout_ref.hybrid_engine"},
	} {
		t.Run(tt.override, func(t *testing.T) {
			c, err := Parse("minimal.yml", []byte(base), overrides(tt.override), env())
			if tt.fate == refused {
				if err == nil || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("error %v, want one with %q", err, tt.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			found := slices.ContainsFunc(c.Notes(), func(n string) bool {
				return strings.Contains(n, tt.says) && (tt.fate == idle) == strings.HasPrefix(n, "not applying here")
			})
			if !found {
				t.Errorf("the notes are %q, want %q, which %s", c.Notes(), tt.says, tt.fate)
			}
		})
	}
}

// Of every key in upstream's examples (Appendix A of the reference, testdata/every-key.good.yml), and of every key that
// 0.6.0 added (testdata/new-keys.good.yml), it is known what becomes of it.
func TestFateOfEveryKey(t *testing.T) {
	known, used := applied(t), map[string]bool{}
	for _, file := range []string{"every-key", "new-keys"} {
		fates(t, "testdata/"+file+".good.yml", known, used)
	}
	for _, k := range known {
		if !used[k] {
			t.Errorf("testdata/applied.txt names %s, which no example has", k)
		}
	}
}

func fates(t *testing.T, file string, known []string, used map[string]bool) {
	t.Helper()
	c, err := Load(file, nil, env("TRINITY_TASKSET_PATH", "d"))
	if err != nil {
		t.Fatal(err)
	}
	said := strings.FieldsFunc(strings.Join(c.Notes(), " "),
		func(r rune) bool { return strings.ContainsRune(" ,:", r) })
	for key := range c.trace.origins {
		if !c.given(key) || c.isSection(key) || slices.Contains(said, key) ||
			slices.Contains(said, strings.TrimSuffix(key, "[0]")) {
			continue
		}
		at := slices.IndexFunc(known, func(k string) bool {
			section, star := strings.CutSuffix(k, "*")
			return pattern(key) == k || star && strings.HasPrefix(pattern(key), section)
		})
		if at < 0 {
			t.Errorf("%s: %s is given, and nothing says what becomes of it", file, key)
			continue
		}
		used[known[at]] = true
	}
}

// isSection reports whether other keys that are given lie inside this one.
func (c *Config) isSection(key string) bool {
	for other := range c.trace.origins {
		if rest, inside := strings.CutPrefix(other, key); inside && rest != "" &&
			(rest[0] == '.' || rest[0] == '[' || key == "") {
			return true
		}
	}
	return false
}

// pattern is a key with its places in lists left open.
func pattern(key string) string {
	var b strings.Builder
	for i := 0; i < len(key); i++ {
		b.WriteByte(key[i])
		if key[i] == '[' {
			for i+1 < len(key) && key[i+1] != ']' {
				i++
			}
		}
	}
	return b.String()
}

// applied reads testdata/applied.txt.
func applied(t *testing.T) (keys []string) {
	t.Helper()
	text, err := os.ReadFile("testdata/applied.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		section, names, ok := strings.Cut(line, ":")
		if !ok || line[0] == '#' {
			continue
		}
		for name := range strings.FieldsSeq(names) {
			keys = append(keys, document.Join(section, name))
		}
	}
	return keys
}
