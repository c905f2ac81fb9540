package algorithm

import (
	"math"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// taught is a sequence of a student's and a teacher's logprobs.
func taught(mask []bool, student, teacher []float32) Graded {
	e := &experience.Experience{Tokens: make([]int32, 1+len(mask)), PromptLength: 1, Logprobs: student,
		ActionMask: mask}
	return Graded{Experience: e, Fetched: Fetched{Teacher: teacher}}
}

// The metrics of distillation are upstream's: what the trained tokens of a sequence add up to, then mean and deviation
// over the sequences. The numbers are its formulas' (on_policy_distill_advantage.py and jsd_advantage.py of 0.5.2).
func TestSequenceMetrics(t *testing.T) {
	for name, c := range map[string]struct {
		make func(Args) (LateAdvantage, error)
		args Args
		want map[string]float64
	}{
		"distill": {newDistill, Args{"kl_coef": 0.5}, map[string]float64{
			"kl/mean": 1, "kl/std": math.Sqrt2, "advantages/mean": -0.5, "distill/reverse_kl": 2.0 / 3}},
		"jsd, one end": {newJSD, Args{"lambda_coef": 0, "estimate": "pointwise"}, map[string]float64{
			"jsd/mean": 1, "jsd/std": math.Sqrt2, "advantages/mean": -1}},
		"jsd": {newJSD, Args{"kl_coef": 2, "estimate": "pointwise"}, map[string]float64{
			"jsd/mean": -0.24782021886167505, "jsd/std": 0.2629880190221121, "advantages/mean": 0.4956404377233501}},
	} {
		a, err := c.make(c.args)
		if err != nil {
			t.Fatal(err)
		}
		got, err := a.Assign([]Graded{
			taught([]bool{true, false, true}, []float32{-1, -2, -3}, []float32{-1.5, -1, -2.5}),
			taught([]bool{true}, []float32{-1}, []float32{-3}),
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: metrics %v, want %v", name, got, c.want)
		}
		for key, want := range c.want {
			if math.Abs(got[key]-want) > 1e-6 {
				t.Errorf("%s: %s is %v, want %v", name, key, got[key], want)
			}
		}
		got, _ = a.Assign([]Graded{taught([]bool{true}, []float32{-1}, []float32{-3})})
		if got["kl/std"]+got["jsd/std"] != 0 {
			t.Errorf("%s: one sequence has a deviation: %v", name, got)
		}
	}
}

// clip_mode ring is an argument, and upstream takes its class's limits, 0.4, as soon as there is one.
func TestRingDefaults(t *testing.T) {
	l, err := newREC(Args{"clip_mode": "ring"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		advantage, ratio float64
		trained          bool
	}{{-1, 1.45, true}, {-1, 1.35, false}, {1, 0.55, true}, {1, 0.65, false}, {1, 1.1, true}, {1, 1.45, false}} {
		if got := l.(rec).inside(c.advantage, c.ratio, 1); got != c.trained {
			t.Errorf("advantage %v at ratio %v: trained %v, want %v", c.advantage, c.ratio, got, c.trained)
		}
	}
	if l, err = newREC(Args{"clip_mode": "ring", "epsilon_high_prime": 2.0}); err != nil ||
		l.(rec).inside(-1, 1.45, 1) {
		t.Errorf("an epsilon_high_prime of 2 does not count: %v", err)
	}
}
