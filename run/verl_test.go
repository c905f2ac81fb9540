package run

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// verl are overrides for the verl path with an adapter, and what verl's own tree says.
func verl(tree string) []string {
	return []string{"model.tinker.enable=false", "trainer.trainer_type=verl",
		"model.lora_configs=[{lora_rank: 4, lora_alpha: 4}]", "algorithm.optimizer.lr=1e-3",
		"algorithm.optimizer.lr_warmup_steps=0", "trainer.trainer_config=" + tree}
}

// Two epochs over each batch are what two steps on the same batch would be, to the bit.
func TestEpochsOverABatch(t *testing.T) {
	t.Parallel()
	unraced(t, "TestEpochsOfPPO")
	rows := []string{"buffer.train_batch_size=16",
		"buffer.trainer_input.experience_buffer={storage_type: sql, name: solutions}", "trainer.save_interval=1"}
	url, _ := tables(t, "solutions", "sft") // eight rows
	rows = append(rows, "buffer.train_batch_size=8", "buffer.trainer_input.experience_buffer.path=\""+url+"\"")
	args := func(tree string, steps int) []string {
		return and(and(verl(tree), rows...), fmt.Sprintf("buffer.total_steps=%d", steps),
			fmt.Sprintf("trainer.total_steps=%d", steps))
	}
	one := runs(t, example(t, t.TempDir(), "sft", args("{}", 4)...), options())
	two := runs(t, example(t, t.TempDir(), "sft", args("{actor_rollout_ref: {actor: {ppo_epochs: 2}}}", 2)...),
		options())
	if len(one) != 4 || len(two) != 2 {
		t.Fatalf("%d and %d steps", len(one), len(two))
	}
	for i, l := range two {
		want := (one[2*i].Metrics["actor/sft_loss"] + one[2*i+1].Metrics["actor/sft_loss"]) / 2
		if got := l.Metrics["actor/sft_loss"]; got != want {
			t.Errorf("step %d has loss %v, want %v, the mean of steps %d and %d on the batch", i+1, got, want, 2*i+1,
				2*i+2)
		}
	}
	if one[3].Metrics["actor/sft_loss"] >= one[0].Metrics["actor/sft_loss"] {
		t.Errorf("nothing was learned: %v", one)
	}
}

// In the second epoch the weights are others than those that sampled: the ratio is not 1 any more. The critic has
// epochs of its own. Kills do not show.
func TestEpochsOfPPO(t *testing.T) {
	t.Parallel()
	args := func(epochs int) []string {
		return and(verl(fmt.Sprintf("{actor_rollout_ref: {actor: {ppo_epochs: %d}}, critic: {ppo_epochs: %d, optim: "+
			"{lr: 3e-3}}}", epochs, epochs)),
			append(tinyRun, "algorithm.algorithm_type=ppo", "algorithm.repeat_times=8", "buffer.train_batch_size=8",
				"algorithm.advantage_fn_args={critic_bins: 5}", "algorithm.kl_loss_fn=none")...)
	}
	one := runs(t, load(t, t.TempDir(), args(1)...), options())
	if m := one[1].Metrics; m["actor/ppo_kl"] != 0 || math.Abs(m["critic/lr"]-3e-3) > 1e-12 {
		t.Errorf("one epoch on policy has ppo_kl %v, and the critic's rate is %v", m["actor/ppo_kl"], m["critic/lr"])
	}
	want := survivesKills(t, options(), 3, jobWith(args(3)...))
	for _, l := range want {
		if l.Metrics["actor/ppo_kl"] == 0 || l.Metrics["train/kl_sample_train_v1"] != 0 {
			t.Errorf("step %d of three epochs: ppo_kl %v, want some; distance from the sampler %v, want none", l.Step,
				l.Metrics["actor/ppo_kl"], l.Metrics["train/kl_sample_train_v1"])
		}
	}
	if a, b := one[0].Metrics["critic/cross_entropy"], want[0].Metrics["critic/cross_entropy"]; !(b < a) {
		t.Errorf("the critic's loss over three epochs is %v on average, over one %v; want it to fall", b, a)
	}
}

// With bypass_mode false the loss compares with the weights that the step begins with: off policy too the ratio is 1.
func TestOldLogprobsAreRecomputed(t *testing.T) {
	t.Parallel()
	unraced(t, "TestEpochsOfPPO")
	run := func(tree string, more ...string) map[string]float64 {
		lines := runs(t, load(t, t.TempDir(), and(and(tiny, verl(tree)...), append(more, "synchronizer.sync_offset=1",
			"algorithm.kl_loss_fn=none", "trainer.total_steps=3")...)...), options())
		return lines[len(lines)-1].Metrics
	}
	bypass, own := run("{}"), run("{algorithm: {rollout_correction: {bypass_mode: false}}}")
	if bypass["actor/ppo_kl"] == 0 || bypass["train/kl_sample_train_v1"] == 0 {
		t.Errorf("off policy: ppo_kl %v, distance %v; want some of both", bypass["actor/ppo_kl"],
			bypass["train/kl_sample_train_v1"])
	}
	if own["actor/ppo_kl"] != 0 || own["train/kl_sample_train_v1"] == 0 {
		t.Errorf("recomputed: ppo_kl %v, want 0; distance %v, want some", own["actor/ppo_kl"],
			own["train/kl_sample_train_v1"])
	}
	if key := run("{}", "algorithm.bypass_old_logprobs=false"); !maps.Equal(key, own) {
		t.Errorf("bypass_old_logprobs false gives %v, and bypass_mode false %v", key, own)
	}
}

// What a step computes does not depend on the micro-batches that verl would cut it into, and the keys are named as not
// applying.
func TestMicroBatches(t *testing.T) {
	t.Parallel()
	unraced(t, "TestEpochsOfPPO")
	run := func(size string, more ...string) []monitor.Line {
		cfg := load(t, t.TempDir(), and(and(tiny, verl("{actor_rollout_ref: {actor: {ppo_micro_batch_size_per_gpu: "+
			size+"}}}")...), append(more, "trainer.total_steps=2")...)...)
		if notes := strings.Join(cfg.Notes(), "\n"); !strings.Contains(notes, "ppo_micro_batch_size_per_gpu") {
			t.Errorf("the notes do not name the micro-batches: %s", notes)
		}
		return runs(t, cfg, options())
	}
	whole := run("2")
	for _, size := range []string{"1", "3"} {
		same(t, "micro-batches of "+size, run(size, "trainer.use_dynamic_bsz=false"), whole)
	}
}

func TestVerlTreeIsChecked(t *testing.T) {
	t.Parallel()
	cfg := load(t, t.TempDir(), verl("{actor_rollout_ref: {actor: {ppo_mini_batch_size: 7, ppo_epochs: 2, strategy: "+
		"fsdp}}, trainer: {max_actor_ckpt_to_keep: 3}}")...)
	notes := strings.Join(cfg.Notes(), "\n")
	for _, want := range []string{"ppo_mini_batch_size 7 is not used",
		"trainer_config.actor_rollout_ref.actor.strategy"} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes are %s\nwant %q in them", notes, want)
		}
	}
	if strings.Contains(notes, "ppo_epochs") || *cfg.Trainer.MaxCheckpoints != 3 || cfg.Verl().Epochs != 2 {
		t.Errorf("notes %s, %d kept, %d epochs", notes, *cfg.Trainer.MaxCheckpoints, cfg.Verl().Epochs)
	}
}
