package algorithm

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// equalGroup is a task of n runs of one trained token, each with the same reward in all places where one is read.
func equalGroup(n int, reward float64) ([]*experience.Experience, []Fetched) {
	var list []*experience.Experience
	fetched := make([]Fetched, n)
	for i := range n {
		e := &experience.Experience{EID: experience.EID{Batch: "1", Task: "a", Run: i}, PromptLength: 1,
			Tokens: make([]int32, 4), Logprobs: []float32{-0.1, -0.3, -0.7}, ActionMask: []bool{true, true, true},
			TokenRewards: []float32{float32(reward), 0.3, 0.7},
			Metrics:      map[string]float64{"step_reward": reward, "env_state_hash": 1}}
		e.SetReward(reward)
		list = append(list, e)
		fetched[i] = Fetched{Entropy: []float32{0.1, 0.2, 0.3}, Centre: []float32{0.1, 0.1, 0.1}}
	}
	return list, fetched
}

// In a group of equal rewards every advantage that compares them is exactly 0, and so is every deviation.
func TestEqualRewards(t *testing.T) {
	for _, c := range []Choice{
		{Type: "grpo"}, {Type: "grpo", AdvantageArgs: Args{"std_cal_level": "batch"}}, {Type: "multi_step_grpo"},
		{Type: "gigpo"}, {Type: "gigpo", AdvantageArgs: Args{"fnorm": "std"}}, {Type: "opmd"},
		{Type: "opmd", AdvantageArgs: Args{"opmd_baseline": "logavgexp", "tau": 0.3}},
		{Type: "rec"}, {Type: "rec", AdvantageArgs: Args{"std_normalize": true, "drop": "balance"}},
		{Type: "rloo"}, {Type: "grpo_verl"}, {Type: "rloo", Advantage: "opmd_verl"},
		{Type: "grpo_verl", Advantage: "clipb"}, {Type: "grpo_verl", Advantage: "clipv"},
	} {
		for _, reward := range []float64{-0.1, 0.1, 0.7, 1.0 / 3} {
			for _, n := range []int{2, 3, 7, 8, 49} {
				checkEqual(t, mustNew(t, c), n, reward)
			}
		}
	}
}

func checkEqual(t *testing.T, m *Method, n int, reward float64) {
	t.Helper()
	list, fetched := equalGroup(n, reward)
	kept, metrics, err := m.Advantage.Assign(list, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	late, err := m.Score(list, fetched)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range kept {
		for k, a := range e.Advantages {
			if a != 0 {
				t.Fatalf("%s, %d × %v: advantage %d is %v, want 0", m.Name, n, reward, k, a)
			}
		}
	}
	for _, group := range []map[string]float64{metrics, late} {
		for k, v := range group {
			if strings.Contains(k, "reward_std") && m.Name != "gigpo" && v != 0 {
				t.Errorf("%s, %d × %v: %s is %v, want 0", m.Name, n, reward, k, v)
			}
		}
	}
}

// Values of one token each that are equal everywhere whiten to 0, and a critic of equal returns explains nothing.
func TestEqualReturns(t *testing.T) {
	m := mustNew(t, Choice{Type: "reinforceplusplus"})
	list, fetched := equalGroup(7, 0.1)
	for _, e := range list {
		e.TokenRewards = []float32{0, 0, 0.1}
	}
	if _, err := m.Score(list, fetched); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(list[3].Advantages); got != "[0 0 0]" {
		t.Errorf("advantages %s, want zeros", got)
	}
	ret, val := [][]float32{{0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1}}, [][]float32{{0.3, 0.2, 0.1, 0.4, 0.5, 0.6, 0.7}}
	mask := [][]bool{{true, true, true, true, true, true, true}}
	if got := CriticMetrics(ret, val, mask)["critic/vf_explained_var"]; got != 0 {
		t.Errorf("explained variance of equal returns %v, want 0", got)
	}
}
