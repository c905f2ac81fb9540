package pipeline

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// group makes one task's experiences with these rewards; NaN stands for no reward.
func group(task string, rewards ...float64) []*experience.Experience {
	var list []*experience.Experience
	for i, r := range rewards {
		e := &experience.Experience{EID: experience.EID{Batch: "1", Task: task, Run: i},
			Metrics: map[string]float64{"quality": 2, "difficulty": 3, "zero": 0, "info/difficulty": 6}}
		if !math.IsNaN(r) {
			e.SetReward(r)
		}
		list = append(list, e)
	}
	return list
}

// dapo is the batch of the golden values of upstream's own operators: right or wrong answers of four tasks, one of
// which was cut off.
func dapo() []*experience.Experience {
	list := slices.Concat(group("a", 1, 0, 1, 0), group("b", 1, 1, 1, 1), group("c", 0, 0, 0, 0), group("d", 1))
	for i, e := range list {
		e.Metrics["accuracy"] = float64(2**e.Reward) - 1
		e.ActionMask = []bool{true, true}
		if i == 1 {
			e.TruncateStatus = experience.ResponseTruncated
		}
	}
	return list
}

func rewards(list []*experience.Experience) []float64 {
	var v []float64
	for _, e := range list {
		v = append(v, e.RewardOr(-9))
	}
	return v
}

func TestOperators(t *testing.T) {
	shaping := func(rules ...map[string]any) map[string]any {
		var list []any
		for _, r := range rules {
			list = append(list, r)
		}
		return map[string]any{"reward_shaping_configs": list}
	}
	for _, tt := range []struct {
		name, op string
		args     map[string]any
		in       []*experience.Experience
		want     []float64
		metrics  map[string]float64
	}{
		{"at least the threshold", "reward_filter", map[string]any{"threshold": 0.5},
			group("a", 0.4, 0.5, math.NaN(), 1), []float64{0.5, 1}, map[string]float64{"filtered_count": 2}},
		{"the default keeps 0", "reward_filter", nil, group("a", -0.1, 0), []float64{0},
			map[string]float64{"filtered_count": 1}},
		{"no reward", "invalid_reward_filter", nil, group("a", 1, math.NaN()), []float64{1},
			map[string]float64{"filtered_count": 1}},
		{"groups that differ", "reward_std_filter", nil, slices.Concat(group("a", 1, 1), group("b", 0, 1),
			group("c", 5)), []float64{0, 1}, original(3, 0.75, 1, 0.5, 0.25, 0.5, 0)},
		{"Trinity-RFT's own values", "reward_std_filter", nil, dapo(), []float64{1, 0, 1, 0},
			original(9, 0.5, 1, 0, 0.5/3, 0.5, 0)},
		{"no groups", "reward_std_filter", nil, nil, nil, map[string]float64{"operator_filtered_count": 0}},
		{"some right and some wrong", "dapo_dynamic_sampling", nil, dapo(), []float64{1, 0, 1, 0},
			map[string]float64{"filtered_count": 9, "dropped_all_correct": 4, "dropped_all_wrong": 4}},
		{"by the reward, above a threshold", "dapo_dynamic_sampling",
			map[string]any{"metric_key": "none", "correct_threshold": 0.5}, group("a", 0.5, 0.6, 0),
			[]float64{0.5, 0.6, 0},
			map[string]float64{"filtered_count": 0, "dropped_all_correct": 0, "dropped_all_wrong": 0}},
		{"masked ones stay", "mask_response_truncated", nil, dapo(), []float64{1, 0, 1, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1},
			map[string]float64{"masked_truncated_count": 1}},
		{"groups of equal rewards that no sum of theirs is exact for", "reward_std_filter", nil, slices.Concat(
			group("a", -0.1, -0.1, -0.1, -0.1, -0.1, -0.1, -0.1, -0.1), group("b", 0.7, 0.7, 0.7), group("c", 0.1, 0.2),
			group("d", 0.3, 0.30000000000000004)), []float64{0.1, 0.2}, nil},
		{"groups that differ enough", "reward_std_filter", map[string]any{"threshold": 0.5}, group("b", 0, 1), nil,
			original(2, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5)},
		{"(reward + quality) times a quarter of the difficulty, of the info", "reward_shaping_mapper",
			shaping(map[string]any{"stats_key": "quality"}, map[string]any{"stats_key": "difficulty", "op_type": "MUL",
				"weight": 0.25}),
			group("a", 1, 0, math.NaN()), []float64{4.5, 3, -9}, map[string]float64{"reward_diff/mean": 3.25,
				"reward_diff/max": 3.5, "reward_diff/min": 3}},
		{"what cannot be done is left out", "reward_shaping_mapper",
			shaping(map[string]any{"stats_key": "unmeasured"}, map[string]any{"stats_key": "zero", "op_type": "DIV"},
				map[string]any{"stats_key": "quality", "op_type": "SUB"}),
			group("a", 1), []float64{-1}, map[string]float64{"reward_diff/mean": -2, "reward_diff/max": -2,
				"reward_diff/min": -2}},
		{"pass rates", "pass_rate_calculator", nil, slices.Concat(group("a", 1, 1), group("b", 0, 1), group("c", 0, 0),
			group("d", 1, 0.92)), []float64{1, 1, 0, 1, 0, 0, 1, 0.92},
			map[string]float64{"selection/valid_ratio": 0.5, "selection/strict_valid_ratio": 0.25,
				"selection/<1_ratio": 0.75, "selection/>0_ratio": 0.75, "selection/<15_16_ratio": 0.5,
				"selection/>1_16_ratio": 0.75}},
	} {
		s, err := New(tt.op, tt.args, nil)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		list, metrics, _, err := Run(t.Context(), []Step{s}, tt.in)
		if err != nil || !slices.Equal(rewards(list), tt.want) ||
			tt.metrics != nil && !maps.EqualFunc(metrics, tt.metrics, near) {
			t.Errorf("%s: %v, %v, %v; want %v, %v", tt.name, rewards(list), metrics, err, tt.want, tt.metrics)
		}
	}
}

// original are the metrics of reward_std_filter: how many it dropped, then mean, max and min over the groups before of
// their mean and of their deviation.
func original(dropped float64, v ...float64) map[string]float64 {
	m := map[string]float64{"operator_filtered_count": dropped}
	for i, name := range []string{"mean/mean", "mean/max", "mean/min", "std/mean", "std/max", "std/min"} {
		m["origin_group_advantages/reward_"+name] = v[i]
	}
	return m
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-15 }

// An answer that was cut off trains nothing, and its mask is a new one: others may hold the old.
func TestMaskTruncated(t *testing.T) {
	list := dapo()
	before := list[1].ActionMask
	got, _, err := maskTruncated{}.Process(t.Context(), list)
	if err != nil || !slices.Equal(got[1].ActionMask, []bool{false, false}) ||
		!slices.Equal(before, []bool{true, true}) || !slices.Equal(got[0].ActionMask, []bool{true, true}) {
		t.Errorf("masks %v and %v, the one before %v, %v", got[0].ActionMask, got[1].ActionMask, before, err)
	}
}

func TestDynamicSamplingNeedsAScore(t *testing.T) {
	s, err := New("dapo_dynamic_sampling", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := Run(t.Context(), []Step{s}, group("a", math.NaN(), 1)); err == nil ||
		!strings.Contains(err.Error(), `neither a metric "accuracy" nor a reward`) {
		t.Errorf("error %v", err)
	}
}

func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		op   string
		args map[string]any
		want string
	}{
		{"reward_fliter", nil, "reward_filter"},
		{"reward_filter", map[string]any{"treshold": 1}, "threshold"},
		{"reward_filter", map[string]any{"threshold": "high"}, "high"},
		{"reward_shaping_mapper", nil, "reward_shaping_configs"},
		{"reward_shaping_mapper",
			map[string]any{"reward_shaping_configs": []any{map[string]any{"stats_key": "a", "op_type": "add"}}},
			"ADD, SUB, MUL, DIV"},
		{"pass_rate_calculator", map[string]any{"x": 1}, "x is not an argument"},
		{"cod_advantage_fn", nil, "Python research package"},
		{"dapo_dynamic_sampling", map[string]any{"correct": 1}, "correct_threshold"},
	} {
		if _, err := New(tt.op, tt.args, nil); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("New(%s, %v): %v, want %q in it", tt.op, tt.args, err, tt.want)
		}
	}
}
