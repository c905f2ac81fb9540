package algorithm

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// group makes a group of one-token experiences with the given rewards; the logprob of run i is -i.
func group(task string, rewards ...float64) []*experience.Experience {
	var list []*experience.Experience
	for i, r := range rewards {
		e := &experience.Experience{EID: experience.EID{Batch: "1", Task: task, Run: i}, Tokens: []int32{1, 2, 3},
			PromptLength: 1,
			Logprobs:     []float32{float32(-i), float32(-i)}, ActionMask: []bool{true, false}}
		e.SetReward(r)
		list = append(list, e)
	}
	return list
}

func assign(t *testing.T, name string, args Args,
	list []*experience.Experience) ([]*experience.Experience, map[string]float64) {
	t.Helper()
	a, err := build("advantage_fn", name, args, Advantages())
	if err != nil {
		t.Fatal(err)
	}
	kept, m, err := a.Assign(list, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	return kept, m
}

func TestAdvantages(t *testing.T) {
	sqrt2 := math.Sqrt(2)
	tests := []struct {
		name, fn string
		args     Args
		rewards  [][]float64
		want     [][]float64
	}{
		{"mean 1, deviation sqrt 2", "grpo", Args{"epsilon": 1e-12}, [][]float64{{0, 2}},
			[][]float64{{-1 / sqrt2, 1 / sqrt2}}},
		{"epsilon is added to the deviation", "grpo", Args{"epsilon": 1.0}, [][]float64{{0, 2}},
			[][]float64{{-1 / (1 + sqrt2), 1 / (1 + sqrt2)}}},
		{"equal rewards score exactly 0", "grpo", nil, [][]float64{{0.9, 0.9, 0.9}}, [][]float64{{0, 0, 0}}},
		{"a group of one has mean 0 and deviation 1", "grpo", nil, [][]float64{{3}}, [][]float64{{3 / (1 + 1e-6)}}},
		{"groups do not see each other", "grpo", Args{"epsilon": 1e-12}, [][]float64{{0, 2}, {10, 10, 10}},
			[][]float64{{-1 / sqrt2, 1 / sqrt2}, {0, 0, 0}}},
		{"deviation of the batch", "grpo", Args{"epsilon": 1e-12, "std_cal_level": "batch"},
			[][]float64{{0, 2}, {4, 6}},
			[][]float64{{-1 / math.Sqrt(20.0/3), 1 / math.Sqrt(20.0/3)},
				{-1 / math.Sqrt(20.0/3), 1 / math.Sqrt(20.0/3)}}},
		// run 1 is the less likely (rank 0), run 0 has rank 1 of 2: penalised rewards are 2*(1-0.5*0.5) = 1.5 and 4.
		{"rank penalty moves mean and deviation only", "grpo", Args{"epsilon": 1e-12, "rank_penalty": 0.5},
			[][]float64{{2, 4}},
			[][]float64{{(2 - 2.75) / (2.5 / sqrt2), (4 - 2.75) / (2.5 / sqrt2)}}},
		{"reinforce is the reward", "reinforce", nil, [][]float64{{0, 2}, {5}}, [][]float64{{0, 2}, {5}}},
		{"opmd takes the mean off", "opmd", nil, [][]float64{{0, 2}, {5}}, [][]float64{{-1, 1}, {5}}},
		{"opmd with the soft maximum", "opmd", Args{"opmd_baseline": "logavgexp", "tau": 2.0}, [][]float64{{0, 2}},
			[][]float64{{-2 * math.Log((1+math.E)/2), 2 - 2*math.Log((1+math.E)/2)}}},
		{"asymre shifts the mean", "asymre", nil, [][]float64{{0, 2}, {5}}, [][]float64{{-0.9, 1.1}, {5}}},
		{"asymre with another shift", "asymre", Args{"baseline_shift": 0.5}, [][]float64{{0, 2}},
			[][]float64{{-1.5, 0.5}}},
		{"rec takes the mean off", "rec", nil, [][]float64{{0, 2}}, [][]float64{{-1, 1}}},
		{"rec of one alone is the reward", "rec", Args{"std_normalize": true, "epsilon": 1e-12}, [][]float64{{5}},
			[][]float64{{5}}},
		{"rec by the deviation over n", "rec", Args{"std_normalize": true, "epsilon": 1e-12}, [][]float64{{0, 4}},
			[][]float64{{-1, 1}}},
		{"rec, balanced already", "rec", Args{"drop": "balance"}, [][]float64{{0, 4, 4}},
			[][]float64{{-8.0 / 3, 4.0 / 3, 4.0 / 3}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var list []*experience.Experience
			for i, r := range tt.rewards {
				list = append(list, group(strconv.Itoa(i), r...)...)
			}
			kept, _ := assign(t, tt.fn, tt.args, list)
			want := slices.Concat(tt.want...)
			if len(kept) != len(want) {
				t.Fatalf("%d experiences left, want %d", len(kept), len(want))
			}
			for i, e := range kept {
				if math.Abs(float64(e.Advantages[0])-want[i]) > 1e-6 || want[i] == 0 && e.Advantages[0] != 0 {
					t.Errorf("advantage of %s = %v, want %v", e.EID, e.Advantages[0], want[i])
				}
				if e.Advantages[1] != 0 || !slices.Equal(e.Returns, e.Advantages) {
					t.Errorf("%s: a masked token has advantage %v, returns are %v", e.EID, e.Advantages[1], e.Returns)
				}
			}
		})
	}
}

func TestGRPOThreshold(t *testing.T) {
	list := slices.Concat(group("a", 1, 1), group("b", 0, 1), group("c", 5), group("d", 0, 0, 0))
	kept, m := assign(t, "grpo", Args{"std_threshold": 0.0001}, list)
	if len(kept) != 2 || kept[0].EID.Task != "b" || m["filtered_count"] != 6 {
		t.Errorf("kept %d of 8, filtered_count %v; want only group b", len(kept), m["filtered_count"])
	}
	want := map[string]float64{"group_advantages/reward_mean/mean": 6.5 / 4, "group_advantages/reward_mean/max": 5,
		"group_advantages/reward_std/min": 0}
	for k, v := range want {
		if m[k] != v {
			t.Errorf("%s = %v, want %v", k, m[k], v)
		}
	}

	kept, _ = assign(t, "grpo", Args{"std_threshold": 0.0001, "duplicate_experiences": true}, list)
	if len(kept) != 8 {
		t.Fatalf("%d experiences with duplicates, want 4 groups of two", len(kept))
	}
	kept[2].Advantages[0] = 99
	if kept[2].EID != kept[0].EID || kept[0].Advantages[0] == 99 {
		t.Error("a duplicate must have the same id and share nothing with its original")
	}

	kept, _ = assign(t, "grpo", Args{"std_threshold": 10.0, "duplicate_experiences": true}, list)
	if len(kept) != 0 {
		t.Errorf("%d experiences left although every group was dropped", len(kept))
	}
}

func TestAdvantagesRefuse(t *testing.T) {
	a, err := newGRPO(nil)
	if err != nil {
		t.Fatal(err)
	}
	list := group("a", 1, 2)
	list[1].Reward = nil
	if _, _, err := a.Assign(list, nil); err == nil || !strings.Contains(err.Error(), "1/a/1/0/ has no reward") {
		t.Errorf("error of an ungraded experience = %v", err)
	}
	for want, args := range map[string]Args{
		"std_cal_level is \"task\"":                                    {"std_cal_level": "task"},
		"duplicate_experiences is true but":                            {"duplicate_experiences": true},
		"std_treshold is not an argument; did you mean std_threshold?": {"std_treshold": 0.1},
	} {
		if _, err := newGRPO(args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error of %v = %v, want %q", args, err, want)
		}
	}
}
