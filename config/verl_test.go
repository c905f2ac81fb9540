package config

import (
	"fmt"
	"strings"
	"testing"
)

// What 0.6.0 took out of verl's tree into keys of its own means the same in both places, and the own keys win.
func TestVerlKeys(t *testing.T) {
	const tree = "trainer.trainer_config="
	for _, tt := range []struct{ overrides, want string }{ // whether logprobs are recomputed, warm-up, checkpoints
		{"", "false - all"},
		{"algorithm.bypass_old_logprobs=false", "true - all"},
		{"algorithm.rollout_correction={bypass_mode: false}", "true - all"},
		{tree + "{algorithm: {rollout_correction: {bypass_mode: false}}}", "true - all"},
		{tree + "{algorithm: {rollout_correction: {bypass_mode: false}}} algorithm.bypass_old_logprobs=true",
			"false - all"},
		{"algorithm.rollout_correction={bypass_mode: true} algorithm.bypass_old_logprobs=false", "true - all"},
		{tree + "{algorithm: {rollout_correction: {bypass_mode: false}}} algorithm.rollout_correction={bypass_mode: " +
			"true}", "false - all"},
		{"trainer.critic_warmup=5", "false 4 all"},
		{"trainer.critic_warmup=1", "false 0 all"},
		{"trainer.critic_warmup=0 " + tree + "{trainer: {critic_warmup: 9}}", "false 0 all"},
		{tree + "{trainer: {critic_warmup: 9}}", "false 8 all"},
		{"trainer.max_checkpoints_to_keep=0", "false - all"},
		{"trainer.max_checkpoints_to_keep=null", "false - all"},
		{"trainer.max_checkpoints_to_keep=3", "false - 3"},
		{"trainer.max_checkpoints_to_keep=3 " + tree + "{trainer: {max_actor_ckpt_to_keep: 2}}", "false - 3"},
		{"trainer.max_checkpoints_to_keep=0 " + tree + "{trainer: {max_actor_ckpt_to_keep: 2}}", "false - all"},
		{"model.tinker.enable=true algorithm.bypass_old_logprobs=false trainer.critic_warmup=5 " +
			"trainer.max_checkpoints_to_keep=0", "false - all"},
	} {
		c := load(t, base, append([]string{"algorithm.algorithm_type=ppo"}, overrides(tt.overrides)...)...)
		c.Derive() // as after a new name
		v, warmup, keep := c.Verl(), "-", "all"
		if v.CriticWarmup != nil {
			warmup = fmt.Sprint(*v.CriticWarmup)
		}
		if n := c.Trainer.MaxCheckpoints; n != nil {
			keep = fmt.Sprint(*n)
		}
		if got := fmt.Sprint(v.Recompute, " ", warmup, " ", keep); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.overrides, got, tt.want)
		}
		if applies := !strings.Contains(tt.overrides, "tinker"); applies {
			for _, note := range c.Notes() {
				if strings.HasPrefix(note, "not applying") {
					t.Errorf("%s: %s", tt.overrides, note)
				}
			}
		}
	}
}
