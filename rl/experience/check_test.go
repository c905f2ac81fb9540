package experience

import (
	"math"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	good := func() *Experience {
		e := &Experience{Tokens: []int32{1, 2, 3}, PromptLength: 1, Logprobs: []float32{-1, float32(math.NaN())},
			ActionMask: []bool{true, false}, TokenRewards: []float32{3e38, 0}, Advantages: []float32{1e15, -1e15},
			Metrics: map[string]float64{"accuracy": 1e300}}
		e.SetReward(-math.MaxFloat32)
		return e
	}
	if err := good().Check(); err != nil {
		t.Error(err)
	}
	for want, spoil := range map[string]func(e *Experience){
		"its reward is NaN":                   func(e *Experience) { e.SetReward(nan) },
		"its reward is 3.5e+38":               func(e *Experience) { e.SetReward(3.5e38) },
		"its reward is -1e+300":               func(e *Experience) { e.SetReward(-1e300) },
		"its greedy rollout has reward +Inf":  func(e *Experience) { e.Info.Baseline = &inf },
		"its token reward 1 is 3e+38":         func(e *Experience) { e.TokenRewards[1] = 3e38 },
		"its token reward 0 is NaN":           func(e *Experience) { e.TokenRewards[0] = float32(nan) },
		`its metric "accuracy" is -Inf`:       func(e *Experience) { e.Metrics["accuracy"] = -inf },
		"the logprob of its response token 0": func(e *Experience) { e.Logprobs[0] = float32(-inf) },
		"the advantage of its response token": func(e *Experience) { e.Advantages[1] = 2e15 },
		"the return of its response token 0":  func(e *Experience) { e.Returns = []float32{float32(nan)} },
	} {
		e := good()
		spoil(e)
		if err := CheckAll([]*Experience{good(), e}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
