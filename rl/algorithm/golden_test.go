package algorithm

import (
	"math"
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// The values of this file are those of Trinity-RFT 0.6.0's own functions, and of its later branches where noted.

// visits is one task of three runs, whose steps have a reward of their own and are in the states A to D.
func visits(stepRewards bool) []*experience.Experience {
	var list []*experience.Experience
	for run, r := range []struct {
		rewards []float64
		states  string
	}{{[]float64{0, 0, 1}, "ABC"}, {[]float64{0, 1}, "AD"}, {[]float64{0, 0}, "AB"}} {
		steps := episode("0", run, len(r.rewards), 0)
		for i, e := range steps {
			e.SetReward(r.rewards[len(r.rewards)-1])
			e.Metrics = map[string]float64{"env_state_hash": float64(r.states[i])}
			if stepRewards {
				e.Metrics["step_reward"] = r.rewards[i]
			}
		}
		list = append(list, steps...)
	}
	return list
}

func TestGiGPOGolden(t *testing.T) {
	for _, tt := range []struct {
		args   Args
		sparse bool
		want   []float64
	}{
		{nil, false, []float64{.666665971, .833332509, .333332986, .666665971, .333332986, -1.33333206, -1.16666555}},
		{Args{"gamma": .9, "omega": .5}, false,
			[]float64{.453332879, .558332771, .333332986, .498332813, .333332986, -.951665759, -.891665816}},
		{Args{"fnorm": "std"}, false,
			[]float64{1.15469849, 1.284455, .577349246, 1.15469849, .577349246, -2.30939722, -1.86180437}},
		{Args{"fnorm": "std", "gamma": .9, "omega": 2.}, false,
			[]float64{1.54571134, 1.99156052, .577349246, 1.90884703, .577349246, -3.45455861, -2.56890988}},
		{Args{"gamma": .9}, true,
			[]float64{.573332772, .783332556, .333332986, .663332641, .333332986, -1.23666549, -1.1166656}},
	} {
		kept, m := assign(t, "gigpo", tt.args, visits(!tt.sparse))
		if got := scoresOf(kept); !alike(got, tt.want) {
			t.Errorf("%v: %v, want %v", tt.args, got, tt.want)
		}
		if tt.args != nil {
			continue
		}
		for key, want := range map[string]float64{"gigpo/anchor_groups_total": 4, "gigpo/anchor_groups_size_gt1": 2,
			"gigpo/anchor_group_hit_ratio": .5, "gigpo/mean_abs_A_E": .428570999, "gigpo/mean_abs_A_S": .333333007,
			"gigpo/episode_reward_mean/mean": .666666687, "gigpo/episode_reward_std/mean": 1, "experience_count": 7} {
			if math.Abs(m[key]-want) > 1e-6 {
				t.Errorf("%s = %v, want %v", key, m[key], want)
			}
		}
	}
}

func TestStepWiseGolden(t *testing.T) {
	repeated := func(runs ...float64) []float64 { // for 3, 2 and 2 steps, then what is left
		out := slices.Concat(slices.Repeat(runs[:1], 3), slices.Repeat(runs[1:2], 2), slices.Repeat(runs[2:3], 2))
		return append(out, runs[3:]...)
	}
	for _, tt := range []struct {
		args Args
		want []float64
	}{
		{nil, repeated(.577349246, .577349246, -1.15469861, 0, 0)},
		{Args{"enable_step_norm": true}, repeated(.192449749, .288674623, -.577349305, 0, 0)},
		{Args{"std_cal_level": "batch"}, repeated(.608579457, .608579457, -1.21715903, 0, 0)},
		{Args{"std_threshold": 0.0}, repeated(.577349246, .577349246, -1.15469861)},
		{Args{"std_cal_level": "none"}, repeated(1./3, 1./3, -2./3, 0, 0)}, // of the main branch: the formula
		{Args{"std_cal_level": "none", "enable_step_norm": true}, repeated(1./9, 1./6, -1./3, 0, 0)},
	} {
		list := slices.Concat(visits(true), episode("1", 0, 1, 0), episode("1", 1, 1, 0))
		kept, m := assign(t, "step_wise_grpo", tt.args, list)
		if got := scoresOf(kept); !alike(got, tt.want) {
			t.Errorf("%v: %v, want %v", tt.args, got, tt.want)
		}
		if want := float64(9-len(tt.want)) / 4; m["skipped_group_ratio"] != want {
			t.Errorf("%v: skipped_group_ratio %v, want %v", tt.args, m["skipped_group_ratio"], want)
		}
	}
}

// twoRows is a batch on which upstream's m2po and the additions to rec were computed.
func twoRows() []Sequence {
	return []Sequence{
		{Logprobs: []float32{-.1, -.5, -1.2, -.3}, Old: []float32{-.4, -.45, -1, -.3},
			Advantages: []float32{1, 1, -1, 1}, Mask: []bool{true, true, true, false}},
		{Logprobs: []float32{-2, -.05, -.7, -.9}, Old: []float32{-1.5, -.35, -.8, -.2},
			Advantages: []float32{-1, 2, .5, -.5}, Mask: []bool{true, true, true, true}},
	}
}

// The loss of the branch of pull request 616.
func TestM2POGolden(t *testing.T) {
	for _, tt := range []struct {
		threshold, loss, after, masked float64
		kept                           []bool
	}{
		{.04, -.0978692, .025, 4. / 7, []bool{false, true, true, false, false, false, true, false}},
		{.1, -.5897329, .096, 1. / 7, []bool{true, true, true, false, true, true, true, false}},
		{.2, -.5542624, .1616667, 0, []bool{true, true, true, false, true, true, true, true}},
		{1, -.5542624, .1616667, 0, []bool{true, true, true, false, true, true, true, true}},
	} {
		got := mustPolicy(t, "m2po", Args{"m2_threshold": tt.threshold}).Loss(twoRows(), TokenMean)
		for key, want := range map[string]float64{"pg_loss": tt.loss, "m2_before": .1616667, "m2_after": tt.after,
			"masked_fraction": tt.masked, "trust_region_fraction": 6. / 7, "ppo_kl": .1071429, "ratio/mean": .9539949} {
			if math.Abs(got.Metrics[key]-want) > 1e-7 {
				t.Errorf("threshold %v: %s = %.8f, want %.8f", tt.threshold, key, got.Metrics[key], want)
			}
		}
		for k, g := range slices.Concat(got.Gradient...) {
			if (g != 0) != tt.kept[k] {
				t.Errorf("threshold %v: token %d has slope %v, kept should be %v", tt.threshold, k, g, tt.kept[k])
			}
		}
	}
}

// Upstream's own test vectors: log-ratios, advantages, the tokens that stay.
func TestM2POVectors(t *testing.T) {
	root := func(x float64) float32 { return float32(math.Sqrt(x)) }
	for _, tt := range []struct {
		ratios, advantages []float32
		threshold          float64
		kept               []bool
	}{
		{[]float32{.1, .2, .3}, []float32{1, 1, 1}, .04, []bool{true, true, false}},
		{[]float32{1, -1, 1, -1}, []float32{-1, 1, 1, -1}, .1, []bool{true, true, false, false}},
		{[]float32{root(.01), root(.09), root(.05)}, []float32{1, 1, 1}, .04, []bool{true, false, true}},
		{[]float32{25}, []float32{-1}, .04, []bool{true}},
	} {
		n := len(tt.ratios)
		s := Sequence{Logprobs: tt.ratios, Old: make([]float32, n), Advantages: tt.advantages,
			Mask: slices.Repeat([]bool{true}, n)}
		got := mustPolicy(t, "m2po", Args{"m2_threshold": tt.threshold}).Loss([]Sequence{s}, TokenMean)
		for k, g := range got.Gradient[0] {
			if (g != 0) != tt.kept[k] {
				t.Errorf("%v: slopes %v, want tokens %v to stay", tt.ratios, got.Gradient[0], tt.kept)
			}
		}
		if n == 1 && (!near(got.Value, math.Exp(20)) || !near(got.Gradient[0][0], math.Exp(20))) {
			t.Errorf("a log-ratio of 25 with advantage -1: loss %v, slope %v, want e^20", got.Value, got.Gradient[0])
		}
	}
}

// What the main branch adds to rec.
func TestRECGolden(t *testing.T) {
	const truncated = "truncated_importance_sampling"
	for _, tt := range []struct {
		args Args
		agg  Aggregation
		want float64
	}{
		{Args{"clip_mode": "none", "weight": truncated}, TokenMean, -.1838007},
		{Args{"clip_mode": "none", "weight": truncated, "epsilon_low_prime": .1, "epsilon_high_prime": .1}, TokenMean,
			-.3149122},
		{Args{"clip_mode": "none", "weight": "none"}, TokenMean, -.3714286},
		{Args{"clip_mode": "none", "weight": "none"}, SeqMeanTokenSum, -1.3},
		{Args{"clip_mode": "none", "weight": "none"}, SeqMeanTokenMean, -.35},
		{Args{"clip_mode": "none", "weight": "none", "fix_opd_advantage": true}, TokenMean, -.1171429},
		{Args{"clip_mode": "one-side", "weight": "none", "fix_opd_advantage": true}, TokenMean, -.0221429},
	} {
		got := mustPolicy(t, "rec", tt.args).Loss(twoRows(), tt.agg).Value
		if math.Abs(got-tt.want) > 1e-7 {
			t.Errorf("%v, %s: loss %.8f, want %.8f", tt.args, tt.agg, got, tt.want)
		}
	}
}
