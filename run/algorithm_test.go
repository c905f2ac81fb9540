package run

import (
	"math"
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/internal/recipe"
)

// tinyRun is two steps of one task with two responses of up to six tokens.
var tinyRun = []string{"seed=5", "buffer.batch_size=1", "algorithm.repeat_times=2", "buffer.total_steps=2",
	"trainer.total_steps=2",
	"buffer.train_batch_size=2", "model.max_response_tokens=6", "explorer.eval_interval=9", "trainer.save_interval=9",
	"buffer.explorer_input.eval_tasksets=[]"}

// ofAlgorithm loads the example that has what the algorithm needs, with an algorithm's own functions.
func ofAlgorithm(t testing.TB, dir, name string, overrides ...string) *config.Config {
	t.Helper()
	file := map[string]string{"mix": "mix", "mix_chord": "mix", "on_policy_distill": "on_policy_distill",
		"jsd": "on_policy_distill", "sft": "sft", "cpt": "sft", "dpo": "dpo", "ppo": "ppo"}[name]
	overrides = append([]string{"algorithm.algorithm_type=" + name, "algorithm.policy_loss_fn_args=null",
		"algorithm.advantage_fn_args=null"}, overrides...)
	if file == "" {
		return load(t, dir, overrides...)
	}
	return example(t, dir, file, overrides...)
}

// texts has cpt read the expert's answers as texts.
const texts = "buffer.trainer_input.experience_buffer.format={prompt_type: plaintext, prompt_key: response}"

// Every algorithm type runs, and gives the same bits through client, server, journal and engine as in one process.
func TestEveryAlgorithm(t *testing.T) {
	t.Parallel()
	url := serve(t)
	remote := options()
	remote.LookupEnv = withKey
	few := []string{"grpo", "ppo", "mix", "dpo", "remax", "on_policy_distill"} // of each kind one
	for name := range recipe.All() {
		if testing.Short() && !slices.Contains(few, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			args := tinyRun
			switch name {
			case "mix", "mix_chord":
				args = append(args, "buffer.train_batch_size=3") // one of them from the expert
			case "sft", "dpo", "cpt":
				args = []string{"seed=5", "buffer.total_steps=2", "trainer.total_steps=2", "buffer.train_batch_size=2"}
				if name == "cpt" {
					args = append(args, texts)
				}
			}
			lines := runs(t, ofAlgorithm(t, t.TempDir(), name, args...), options())
			last := lines[len(lines)-1].Metrics
			if _, ok := last["actor/final_loss"]; !ok || last["train/kl_sample_train_v1"] != 0 {
				t.Errorf("step 2 has metrics %v, want a loss and exactly no distance from the sampler", last)
			}
			same(t, "on a server", runs(
				t, ofAlgorithm(t, t.TempDir(), name, append(args, "model.tinker.base_url="+url)...), remote), lines)
		})
	}
}

// With a KL penalty on the rewards rloo trains on advantages that the trainer computed, and repeats them to the bit.
func TestLateAdvantageWithPenalty(t *testing.T) {
	t.Parallel()
	unraced(t, "TestEveryAlgorithm")
	args := append(small, "algorithm.algorithm_type=rloo", "algorithm.kl_penalty_fn=k2",
		"algorithm.kl_penalty_fn_args={kl_coef: 0.5, adaptive: true, target_kl: 100, horizon: 80}",
		"algorithm.kl_loss_fn=none", "algorithm.kl_loss_fn_args=null")
	want := runs(t, load(t, t.TempDir(), args...), options())
	last := want[len(want)-1].Metrics
	if last["advantage/kl"] <= 0 {
		t.Errorf("after three updates advantage/kl = %v, want a distance from the base model", last["advantage/kl"])
	}
	coef := 0.5 * 0.98 * 0.98 * 0.98 // far below the target: less by 0.2*8/80 after each of three steps
	if got := last["advantage/kl_coef"]; math.Abs(got-coef) > 1e-9 {
		t.Errorf("advantage/kl_coef = %v, want %v", got, coef)
	}
	if last["critic/advantages/max"] == 0 && last["critic/advantages/min"] == 0 {
		t.Error("no advantage reached the loss")
	}
	same(t, "again", runs(t, load(t, t.TempDir(), args...), options()), want)
}

// PPO trains a critic beside the policy; the run repeats itself to the bit.
func TestPPOWithCritic(t *testing.T) {
	t.Parallel()
	unraced(t, "TestPPOSurvivesKills")
	args := append(small, "algorithm.algorithm_type=ppo", "algorithm.advantage_fn_args={lam: 0.9, critic_low: 0, "+
		"critic_high: 1, critic_bins: 11, critic_first_token: 200, critic_lr_scale: 2}")
	want := runs(t, load(t, t.TempDir(), args...), options())
	last := want[len(want)-1].Metrics
	if lr := last["critic/lr"]; lr != 2*last["actor/lr"] {
		t.Errorf("critic/lr = %v, actor/lr = %v, want twice as much", lr, last["actor/lr"])
	}
	// of 11 equally likely values it is 2.4, of the targets about 1.1
	if h := last["critic/cross_entropy"]; !(h > 1 && h < 8) {
		t.Errorf("critic/cross_entropy = %v, want that of a critic that has just begun", h)
	}
	if v := last["critic/vpred_mean"]; v < 0 || v > 1 {
		t.Errorf("critic/vpred_mean = %v, want within the critic's range", v)
	}
	same(t, "again", runs(t, load(t, t.TempDir(), args...), options()), want)
}

// Killed in the midst of its requests to either model, the job ends with the metrics of an unbroken run.
func TestPPOSurvivesKills(t *testing.T) {
	t.Parallel()
	args := append(tinyRun, "algorithm.algorithm_type=ppo", "trainer.save_interval=1", "explorer.eval_on_startup=false",
		"model.tinker.rank=4",
		"algorithm.advantage_fn_args={critic_bins: 5}",
		"algorithm.kl_loss_fn_args={adaptive: true, target_kl: 1, horizon: 10, kl_coef: 0.1}")
	survivesKills(t, options(), 6, jobWith(args...))
}
