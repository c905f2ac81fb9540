package run

import (
	"math"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config"
)

// tinyRun is two steps of one task with two responses of up to six tokens.
var tinyRun = []string{"seed=5", "buffer.batch_size=1", "algorithm.repeat_times=2", "buffer.total_steps=2", "trainer.total_steps=2",
	"buffer.train_batch_size=2", "model.max_response_tokens=6", "explorer.eval_interval=9", "trainer.save_interval=9", "buffer.explorer_input.eval_tasksets=[]"}

// Every algorithm type runs, or is refused before anything starts because of what it needs.
func TestEveryAlgorithm(t *testing.T) {
	refused := map[string]string{
		"ppo": "the values of a critic", "remax": "a greedy response", "on_policy_distill": "a teacher's logprobs", "jsd": "a teacher's logprobs",
		"mix": "experts' responses", "mix_chord": "experts' responses", "sft": "", "dpo": "", // data sets: see mode train
	}
	for name := range config.Algorithms() {
		want, not := refused[name]
		if not && want == "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			cfg := load(t, t.TempDir(), append(tinyRun, "algorithm.algorithm_type="+name, "algorithm.policy_loss_fn_args=null", "algorithm.advantage_fn_args=null")...)
			if not {
				_, err := Run(t.Context(), cfg, options())
				if err == nil || !strings.Contains(err.Error(), "algorithm "+name+" needs "+want) {
					t.Errorf("error = %v, want that it needs %q", err, want)
				}
				return
			}
			lines := runs(t, cfg, options())
			last := lines[len(lines)-1].Metrics
			if _, ok := last["actor/final_loss"]; !ok || last["train/kl_sample_train_v1"] != 0 {
				t.Errorf("step 2 has metrics %v, want a loss and exactly no distance from the sampler", last)
			}
		})
	}
}

// With a KL penalty on the rewards rloo trains on advantages that the trainer computed, and repeats them to the bit.
func TestLateAdvantageWithPenalty(t *testing.T) {
	args := append(small, "algorithm.algorithm_type=rloo", "algorithm.kl_penalty_fn=k2", "algorithm.kl_penalty_fn_args={kl_coef: 0.5, adaptive: true, target_kl: 100, horizon: 80}", "algorithm.kl_loss_fn=none", "algorithm.kl_loss_fn_args=null")
	want := runs(t, load(t, t.TempDir(), args...), options())
	last := want[len(want)-1].Metrics
	if last["critic/kl"] <= 0 {
		t.Errorf("after three updates critic/kl = %v, want a distance from the base model", last["critic/kl"])
	}
	coef := 0.5 * 0.98 * 0.98 * 0.98 // far below the target: less by 0.2*8/80 after each of three steps
	if got := last["critic/kl_coef"]; math.Abs(got-coef) > 1e-9 {
		t.Errorf("critic/kl_coef = %v, want %v", got, coef)
	}
	if last["critic/advantages/max"] == 0 && last["critic/advantages/min"] == 0 {
		t.Error("no advantage reached the loss")
	}
	same(t, "again", runs(t, load(t, t.TempDir(), args...), options()), want)
}
