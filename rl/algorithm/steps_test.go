package algorithm

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// episode makes the steps of one run; only the last is graded.
func episode(task string, run int, steps int, reward float64) []*experience.Experience {
	var list []*experience.Experience
	for k := range steps {
		list = append(list, &experience.Experience{EID: experience.EID{Batch: "1", Task: task, Run: run, Step: k},
			Tokens: []int32{1, 2}, PromptLength: 1, ActionMask: []bool{true}})
	}
	list[steps-1].SetReward(reward)
	return list
}

func scoresOf(list []*experience.Experience) []float64 {
	var out []float64
	for _, e := range list {
		out = append(out, float64(e.Advantages[0]))
	}
	return out
}

func alike(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) < 1e-6 })
}

func TestStepWise(t *testing.T) {
	half := 1 / math.Sqrt2
	both := func() []*experience.Experience {
		return slices.Concat(episode("a", 0, 2, 0), episode("b", 0, 1, 3), episode("a", 1, 3, 2), episode("b", 1, 1, 3))
	}
	batch := math.Sqrt(2) // of 0, 2, 3, 3
	for _, tt := range []struct {
		name string
		args Args
		want []float64
	}{
		{"every step has its run's score", Args{"epsilon": 1e-12}, []float64{-half, -half, half, half, half, 0, 0}},
		{"over the number of steps", Args{"epsilon": 1e-12, "enable_step_norm": true},
			[]float64{-half / 2, -half / 2, half / 3, half / 3, half / 3, 0, 0}},
		{"over the batch's deviation", Args{"epsilon": 1e-12, "std_cal_level": "batch"},
			[]float64{-1 / batch, -1 / batch, 1 / batch, 1 / batch, 1 / batch, 0, 0}},
		{"groups that agree are dropped", Args{"epsilon": 1e-12, "std_threshold": 0.001},
			[]float64{-half, -half, half, half, half}},
	} {
		kept, m := assign(t, "step_wise_grpo", tt.args, both())
		if got := scoresOf(kept); !alike(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
		if m["experience_count"] != float64(len(tt.want)) || m["filtered_count"] != float64(7-len(tt.want)) {
			t.Errorf("%s: metrics %v", tt.name, m)
		}
	}
	_, m := assign(t, "step_wise_grpo", Args{"std_threshold": 0.001}, both())
	if m["skipped_group_ratio"] != 0.5 || m["group_advantages/reward_mean/max"] != 3 {
		t.Errorf("metrics = %v", m)
	}
	list := both()
	list[1].Reward = nil
	a, _ := newStepWise(nil)
	if _, _, err := a.Assign(list, nil); err == nil || !strings.Contains(err.Error(), "1/a/0/1/ has no reward") {
		t.Errorf("error of an ungraded run = %v", err)
	}
}

// Two runs of a task share their first state; the second steps stand alone.
func TestGiGPO(t *testing.T) {
	first, second := episode("a", 0, 2, 0), episode("a", 1, 2, 4)
	for _, e := range []*experience.Experience{first[0], second[0]} {
		e.Metrics = map[string]float64{"env_state_hash": 7}
	}
	first[1].Metrics = map[string]float64{experience.InfoPrefix + "env_state_hash": 8}
	list := slices.Concat(second, first)
	kept, m := assign(t, "gigpo", Args{"gamma": 0.5, "omega": 0.1}, list)
	// episodes: 4 and 0, mean 2; first steps: 0.5*4 and 0, mean 1.
	if got, want := scoresOf(kept), []float64{2 + 0.1, 2, -2 - 0.1, -2}; !alike(got, scaled(want, 1/(1+1e-6))) {
		t.Errorf("advantages = %v, want %v", got, want)
	}
	want := map[string]float64{"gigpo/anchor_groups_total": 2, "gigpo/anchor_groups_size_gt1": 1,
		"gigpo/anchor_group_hit_ratio":   0.5,
		"gigpo/episode_reward_mean/mean": 2, "experience_count": 4}
	for k, v := range want {
		if m[k] != v {
			t.Errorf("%s = %v, want %v", k, m[k], v)
		}
	}

	first[0].Metrics["step_reward"], first[1].Metrics["step_reward"] = 3, 1 // the run's own reward no longer counts
	kept, _ = assign(t, "gigpo", Args{"omega": 0.0, "epsilon": 1e-12, "fnorm": "std"},
		slices.Concat(second, first, episode("b", 0, 1, 9)))
	if got, want := scoresOf(kept), []float64{0, 0, 0, 0, 9}; !alike(got, want) {
		t.Errorf("episodes of 4 and 3+1, and one alone of 9: %v, want %v", got, want)
	}
	list[1].Reward = nil
	a, _ := newGiGPO(nil)
	if _, _, err := a.Assign(list, nil); err == nil || !strings.Contains(err.Error(), "has no reward") {
		t.Errorf("error of an ungraded run = %v", err)
	}
}

func scaled(x []float64, c float64) []float64 { return shifted(x, 0, c) }

// Of five bad and one good sample four bad ones are drawn; they get 0 and the rest is scored among itself.
func TestRECBalance(t *testing.T) {
	a, err := newRECAdvantage(Args{"drop": "balance"})
	if err != nil {
		t.Fatal(err)
	}
	times := make([]int, 6)
	for seed := range uint64(200) {
		list := group("a", 0, 0, 0, 6, 0, 0)
		_, m, err := a.Assign(list, rand.New(rand.NewPCG(seed, 1)))
		if err != nil || m["group_advantages/drop_balance/mean"] != 4.0/6 {
			t.Fatal(m, err)
		}
		for i, e := range list {
			switch want := map[bool]float32{true: 3, false: -3}[i == 3]; e.Advantages[0] {
			case 0:
				times[i]++
			case want:
			default:
				t.Fatalf("sample %d has advantage %v, want 0 or %v", i, e.Advantages[0], want)
			}
		}
	}
	for i, n := range times {
		if i == 3 && n != 0 || i != 3 && (n < 130 || n > 190) {
			t.Errorf("sample %d was dropped %d times of 200, want about 160 of each bad one: %v", i, n, times)
		}
	}
}

func TestSampleStrategies(t *testing.T) {
	strategy := func(name string, args Args) SampleStrategy {
		s, err := build("sample_strategy", name, args, SampleStrategies())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, tt := range []struct {
		s             SampleStrategy
		n             int
		usual, expert int
	}{
		{strategy("default", nil), 7, 7, 0},
		{strategy("warmup", nil), 7, 7, 0},
		{strategy("mix", nil), 7, 3, 4},
		{strategy("mix", Args{"expert_data_ratio": 0.2}), 10, 8, 2},
		{strategy("mix", Args{"expert_data_ratio": 0.11}), 10, 8, 2},
		{strategy("mix", Args{"expert_data_ratio": 0.07}), 100, 93, 7},
		{strategy("mix", Args{"expert_data_ratio": 1}), 4, 0, 4},
	} {
		if usual, expert := tt.s.Split(tt.n); usual != tt.usual || expert != tt.expert {
			t.Errorf("%+v of %d = %d and %d, want %d and %d", tt.s, tt.n, usual, expert, tt.usual, tt.expert)
		}
	}
	for _, tt := range []struct {
		args       Args
		step, want int
	}{{nil, 100, 0}, {Args{"max_staleness": 2}, 1, 0}, {Args{"max_staleness": 2}, 10, 7}, {
		Args{"max_staleness": 0}, 10, 9}, {Args{"max_staleness": 1.5}, 10, 8}, {Args{"max_staleness": "inf"}, 10, 0}} {
		if got := strategy("staleness_control", tt.args).MinVersion(tt.step); got != tt.want {
			t.Errorf("%v: oldest version of step %d = %d, want %d", tt.args, tt.step, got, tt.want)
		}
	}
	for want, args := range map[string]Args{"between 0 and 1": {"expert_data_ratio": 2},
		"it must be text": {"sft_dataset_name": 3}} {
		if _, err := build("sample_strategy", "mix", args, SampleStrategies()); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v: error = %v, want %q", args, err, want)
		}
	}
	e := &experience.Experience{Tokens: []int32{1, 2, 3}, PromptLength: 1, ActionMask: []bool{true, true}}
	Expert(e)
	if *e.Reward != 0 || len(e.Logprobs) != 2 || len(e.Advantages) != 2 || !e.Info.IsExpert || e.Validate() != nil {
		t.Errorf("an expert's experience = %+v", e)
	}
}
