package algorithm

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/rng/python"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// lateFixture is 6 experiences of two tasks with up to 8 response tokens, and what a trainer fetched for them, from the
// generator that testdata/late.py uses.
func lateFixture() ([]*experience.Experience, []Fetched) {
	m := torch{python.Legacy(7)}
	column := func() [][]float32 { return m.symmetric(6, 8) }
	old, ref, teacher, values, entropy, centre := column(), column(), column(), column(), column(), column()
	mask := m.mask(6, 8)
	var list []*experience.Experience
	var fetched []Fetched
	for i := range 6 {
		n := 8 - i%3
		e := &experience.Experience{EID: experience.EID{Batch: "1", Task: []string{"a", "b"}[i%2], Run: i / 2},
			PromptLength: 1,
			Tokens:       make([]int32, 1+n), Logprobs: old[i][:n], ActionMask: mask[i][:n]}
		for t := range e.Logprobs {
			e.Logprobs[t] -= 1
		}
		e.SetReward(float64(m.uniform()))
		list = append(list, e)
		base := float64(m.uniform())
		fetched = append(fetched, Fetched{ref[i][:n], teacher[i][:n], values[i][:n], entropy[i][:n], centre[i][:n],
			&base})
	}
	return list, fetched
}

func mustNew(t *testing.T, c Choice) *Method {
	t.Helper()
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Advantages, returns and masks against the padded formulas of testdata/late.py in PyTorch.
func TestLateAdvantagesAgainstTorch(t *testing.T) {
	data, err := os.ReadFile("testdata/late.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name, Advantage, Penalty string
		Args, PenaltyArgs        Args
		Advantages, Returns      [][]float64
		Mask                     [][]bool
		KL                       float64
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range cases {
		seen[c.Advantage] = true
		t.Run(c.Name, func(t *testing.T) {
			m := mustNew(t, Choice{Type: "rloo", Advantage: c.Advantage, AdvantageArgs: c.Args, KLPenalty: c.Penalty,
				KLPenaltyArgs: c.PenaltyArgs})
			list, fetched := lateFixture()
			before, _ := lateFixture()
			metrics, err := m.Score(list, fetched)
			if err != nil {
				t.Fatal(err)
			}
			for i, e := range list {
				compare(t, e.EID.String()+" advantages", e.Advantages, c.Advantages[i])
				compare(t, e.EID.String()+" returns", e.Returns, c.Returns[i])
				want := before[i].ActionMask
				if c.Mask != nil {
					want = c.Mask[i]
				}
				if !slices.Equal(e.ActionMask, want) {
					t.Errorf("%s mask = %v, want %v", e.EID, e.ActionMask, want)
				}
			}
			if c.Penalty != "" && !near(metrics["advantage/kl"], c.KL) {
				t.Errorf("advantage/kl = %v, want %v", metrics["advantage/kl"], c.KL)
			}
		})
	}
	for name := range LateAdvantages() {
		if !seen[name] {
			t.Errorf("%s has no case in testdata/late.json", name)
		}
	}
}

func compare(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d values, want %d", what, len(got), len(want))
		return
	}
	for k := range want {
		if math.Abs(float64(got[k])-want[k]) > 1e-6+1e-5*math.Abs(want[k]) {
			t.Errorf("%s[%d] = %v, want %v", what, k, got[k], want[k])
		}
	}
}

// Two responses of two tokens, worked by hand with gamma 0.5, lambda 0.5.
func TestGAEByHand(t *testing.T) {
	a, err := newGAE(Args{"gamma": 0.5, "lam": 0.5})
	if err != nil {
		t.Fatal(err)
	}
	one := func(reward float64, values ...float32) Graded {
		e := &experience.Experience{Tokens: make([]int32, 3), PromptLength: 1, ActionMask: []bool{true, true}}
		e.SetReward(reward)
		g := Graded{Experience: e, Fetched: Fetched{Values: values}}
		g.grade()
		return g
	}
	batch := []Graded{one(1, 0.5, 0.25), one(0, 0, 0)}
	if _, err := a.Assign(batch); err != nil {
		t.Fatal(err)
	}
	// delta = [0.5*0.25-0.5, 1-0.25] = [-0.375, 0.75]; A = [-0.375+0.25*0.75, 0.75] = [-0.1875, 0.75]; returns A+V.
	compare(t, "returns", batch[0].Returns, []float64{0.3125, 1})
	m := (-0.1875 + 0.75) / 4
	v := (math.Pow(-0.1875-m, 2) + math.Pow(0.75-m, 2) + 2*m*m) / 3
	compare(t, "advantages", batch[0].Advantages, []float64{(-0.1875 - m) / math.Sqrt(v+1e-8),
		(0.75 - m) / math.Sqrt(v+1e-8)})
	compare(t, "returns of nothing", batch[1].Returns, []float64{0, 0})
}

// Observations between trained tokens change neither advantages nor returns of those: not by their values, not by their
// number; and a reward at one belongs to the token before it.
func TestObservationsAreCarriedOver(t *testing.T) {
	score := func(advantage string, mask []bool, rewards, values []float32) (advantages, returns []float32) {
		e := &experience.Experience{Tokens: make([]int32, 1+len(mask)), PromptLength: 1, ActionMask: mask,
			TokenRewards: rewards}
		args := Args{"gamma": 0.9}
		if advantage == "ppo" {
			args["lam"] = 0.8
		}
		m := mustNew(t, Choice{Type: "rloo", Advantage: advantage, AdvantageArgs: args})
		if _, err := m.Score([]*experience.Experience{e}, []Fetched{{Values: values}}); err != nil {
			t.Fatal(err)
		}
		for k, keep := range mask {
			if keep {
				advantages, returns = append(advantages, e.Advantages[k]), append(returns, e.Returns[k])
			}
		}
		return advantages, returns
	}
	for _, advantage := range []string{"ppo", "reinforceplusplus"} {
		wantA, wantR := score(advantage, []bool{true, true, true}, []float32{0.5, 0.25, 1}, []float32{0.1, 0.2, 0.3})
		for _, tt := range []struct {
			mask            []bool
			rewards, values []float32
		}{
			{[]bool{true, false, true, true}, []float32{0.5, 0, 0.25, 1}, []float32{0.1, 9, 0.2, 0.3}},
			{[]bool{true, false, false, true, false, true}, []float32{0, 0.5, 0, 0.25, 0, 1},
				[]float32{0.1, -7, 8, 0.2, 9, 0.3}},
			{[]bool{false, true, true, true, false}, []float32{0, 0.5, 0.25, 0, 1}, []float32{5, 0.1, 0.2, 0.3, 6}},
		} {
			a, r := score(advantage, tt.mask, tt.rewards, tt.values)
			if !slices.Equal(a, wantA) || !slices.Equal(r, wantR) {
				t.Errorf("%s, mask %v: advantages %v, returns %v; without observations %v, %v", advantage, tt.mask, a,
					r, wantA, wantR)
			}
		}
	}
}

func TestScoreTokenRewards(t *testing.T) {
	list, fetched := lateFixture()
	for _, e := range list {
		e.TokenRewards = make([]float32, len(e.ActionMask))
		e.TokenRewards[0] = float32(*e.Reward)
		e.Reward = nil
	}
	want, _ := lateFixture()
	m := mustNew(t, Choice{Type: "rloo"})
	if _, err := m.Score(list, fetched); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Score(want, fetched); err != nil {
		t.Fatal(err)
	}
	for i := range list {
		if !slices.Equal(list[i].Advantages, want[i].Advantages) {
			t.Errorf("%s: the score is the sum of token rewards, wherever they stand", list[i].EID)
		}
	}
}

func TestClippedShares(t *testing.T) {
	list, fetched := lateFixture()
	m, err := mustNew(t, Choice{Type: "grpo_verl", Advantage: "clipb", AdvantageArgs: Args{"mu": 0.5}}).Score(
		list, fetched)
	if err != nil {
		t.Fatal(err)
	}
	before, _ := lateFixture()
	all, negative, gone := 0.0, 0.0, 0.0
	for i, e := range list {
		for k, keep := range before[i].ActionMask {
			all += indicator(keep)
			negative += indicator(keep && e.Advantages[k] < 0)
			gone += indicator(keep && !e.ActionMask[k])
		}
	}
	if gone == 0 || m["advantage/frac_clipped"] != gone/all || m["advantage/frac_clipped_neg"] != gone/negative ||
		m["advantage/frac_clipped_pos"] != 0 {
		t.Errorf("%v of %v tokens are gone, %v have negative advantages; metrics %v", gone, all, negative, m)
	}
}

// Token rewards stay at their tokens.
func TestTokenRewardsStayInPlace(t *testing.T) {
	list, fetched := lateFixture()
	rewards := []float32{1, 0, 4, 0, 0, 0, 0, 2}
	list[0].TokenRewards, list[0].Reward = rewards, nil
	list[0].ActionMask = slices.Repeat([]bool{true}, 8)
	if _, err := mustNew(t, Choice{Type: "reinforceplusplus", AdvantageArgs: Args{"gamma": 0.5}}).Score(
		list, fetched); err != nil {
		t.Fatal(err)
	}
	compare(t, "returns", list[0].Returns, []float64{1 + 1 + 2.0/128, 2 + 2.0/64, 4 + 2.0/32, 2.0 / 16, 2.0 / 8,
		2.0 / 4, 1, 2})
}

// A response without tokens still counts for its group.
func TestScoreOfEmptyResponse(t *testing.T) {
	list := group("a", 1, 4)
	list[0].Tokens, list[0].ActionMask, list[0].Logprobs = list[0].Tokens[:1], []bool{}, []float32{}
	if _, err := mustNew(t, Choice{Type: "rloo"}).Score(list, make([]Fetched, 2)); err != nil ||
		list[1].Advantages[0] != 3 {
		t.Errorf("advantage %v, %v; want 4-1", list[1].Advantages, err)
	}
}

func TestScoreIsForLateMethods(t *testing.T) {
	list := group("a", 1, 2)
	if m, err := mustNew(t, Choice{Type: "grpo"}).Score(list, nil); m != nil || err != nil ||
		list[0].Advantages != nil {
		t.Errorf("grpo is scored before the trainer: %v, %v, %v", m, err, list[0].Advantages)
	}
	m := mustNew(t, Choice{Type: "rloo"})
	kept, metrics, err := m.Advantage.Assign(list, nil)
	if len(kept) != 2 || len(metrics) != 0 || err != nil || kept[0].Advantages != nil {
		t.Errorf("the explorer's part of rloo = %v, %v, %v; it should do nothing", kept, metrics, err)
	}
}

func TestScoreRefuses(t *testing.T) {
	for want, c := range map[string]struct {
		Choice
		spoil func([]*experience.Experience, []Fetched) []Fetched
	}{
		"came with what was fetched for 2": {Choice{Type: "rloo"},
			func(_ []*experience.Experience, f []Fetched) []Fetched { return f[:2] }},
		"has no reward": {Choice{Type: "rloo"},
			func(l []*experience.Experience, f []Fetched) []Fetched { l[3].Reward = nil; return f }},
		"1/b/1/0/ has 0 values": {Choice{Type: "ppo"},
			func(_ []*experience.Experience, f []Fetched) []Fetched { f[3].Values = nil; return f }},
		"has 0 teacher logprobs for 8": {Choice{Type: "jsd"},
			func(_ []*experience.Experience, f []Fetched) []Fetched { f[3].Teacher = nil; return f }},
		"has 2 teacher logprobs for 8": {Choice{Type: "rloo"},
			func(_ []*experience.Experience, f []Fetched) []Fetched { f[3].Teacher = make([]float32, 2); return f }},
		"has no baseline; remax needs": {Choice{Type: "remax"},
			func(_ []*experience.Experience, f []Fetched) []Fetched { f[3].Baseline = nil; return f }},
		"has 0 reference logprobs for 8": {Choice{Type: "rloo", KLPenalty: "k1"},
			func(_ []*experience.Experience, f []Fetched) []Fetched { f[3].Ref = nil; return f }},
		"has 0 sampling logprobs for 8": {Choice{Type: "on_policy_distill"},
			func(l []*experience.Experience, f []Fetched) []Fetched { l[3].Logprobs = nil; return f }},
		"has 0 entropy centres for 8 response toke": {Choice{Type: "grpo_verl", Advantage: "clipv"},
			func(_ []*experience.Experience, f []Fetched) []Fetched { f[3].Centre = nil; return f }},
	} {
		list, fetched := lateFixture()
		fetched = c.spoil(list, fetched)
		if _, err := mustNew(t, c.Choice).Score(list, fetched); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error = %v, want %q", c.Type, err, want)
		}
	}
}

func TestNeeds(t *testing.T) {
	for _, tt := range []struct {
		c    Choice
		want Needs
	}{
		{Choice{Type: "grpo"}, Needs{Old: true, Advantages: true, Logprobs: true, Ref: true}},
		{Choice{Type: "grpo", KLLossArgs: Args{"kl_coef": 0}}, Needs{Old: true, Advantages: true, Logprobs: true}},
		{Choice{Type: "sft"}, Needs{}},
		{Choice{Type: "sft", EntropyArgs: Args{"entropy_coef": 0.1}, Entropy: "default"}, Needs{Logprobs: true}},
		{Choice{Type: "dpo", KLLossArgs: Args{"kl_coef": 0}}, Needs{Ref: true, Logprobs: true, Pairs: true}},
		{Choice{Type: "asymre"}, Needs{Advantages: true}},
		{Choice{Type: "ppo", KLLoss: "none"}, Needs{Old: true, Advantages: true, Logprobs: true, Reward: true,
			Values: true}},
		{Choice{Type: "jsd"}, Needs{Old: true, Advantages: true, Logprobs: true, Teacher: true}},
		{Choice{Type: "rloo", KLLoss: "none", KLPenalty: "k2"}, Needs{Old: true, Advantages: true, Logprobs: true,
			Reward: true, Ref: true}},
		{Choice{Type: "rloo", KLLoss: "none", KLPenalty: "k2", KLPenaltyArgs: Args{"kl_coef": 0}},
			Needs{Old: true, Advantages: true, Logprobs: true, Reward: true}},
	} {
		if got := mustNew(t, tt.c).Needs(); got != tt.want {
			t.Errorf("%+v needs %+v, want %+v", tt.c, got, tt.want)
		}
	}
}

func TestAdaptiveKL(t *testing.T) {
	k := mustKL(t, "k2", Args{"adaptive": true, "kl_coef": 0.5, "target_kl": 0.1, "horizon": 100})
	for _, tt := range []struct {
		kl   float64
		n    int
		want float64
	}{
		{0.1, 10, 0.5},
		{0.11, 10, 0.5 * (1 + 0.1*0.1)},
		{5, 10, 0.5 * (1 + 0.2*0.1)},
		{0, 50, 0.5 * (1 - 0.2*0.5)},
	} {
		if got := k.Adapted(tt.kl, tt.n).Coef; math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("after a KL of %v over %d experiences the coefficient is %v, want %v", tt.kl, tt.n, got, tt.want)
		}
	}
	if fixed := mustKL(t, "k2", nil); fixed.Adapted(5, 10).Coef != fixed.Coef || fixed.Adaptive() || !k.Adaptive() {
		t.Error("a term that is not adaptive keeps its coefficient")
	}
}
