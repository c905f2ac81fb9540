package loss

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

type golden struct {
	Name       string             `json:"name"`
	Config     map[string]float64 `json:"config"`
	Logp       []float32          `json:"logp"`
	Q          []float32          `json:"q"`
	Advantages []float32          `json:"advantages"`
	Mask       []float32          `json:"mask"`
	Reference  []float32          `json:"ref"`
	Loss       float64            `json:"loss"`
	Grad       []float64          `json:"grad"`
}

// The losses over a whole datum are those of testdata/losses.py, an independent implementation of the papers.
func TestGoldens(t *testing.T) {
	raw, err := os.ReadFile("testdata/losses.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []golden
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		l := mustNew(t, c.Name, c.Config)
		d := Datum{N: len(c.Logp), K: 1, Logprobs: c.Q, Advantages: c.Advantages, RatioMask: c.Mask, Sampled: c.Mask,
			Weights: c.Mask, Reference: c.Reference}
		for _, m := range c.Mask {
			d.tokens += int(m)
		}
		l.Prepare(&d, c.Logp)
		sum, g := 0.0, make([]float32, 1)
		for pos, p := range c.Logp {
			sum += l.Row(d, pos, []float32{p}, g)
			if diff := math.Abs(float64(g[0]) - c.Grad[pos]); diff > 1e-6*(1+math.Abs(c.Grad[pos])) {
				t.Errorf("case %d, %s: gradient %d is %v, want %v", i, c.Name, pos, g[0], c.Grad[pos])
			}
		}
		if math.Abs(sum-c.Loss) > 1e-9*(1+math.Abs(c.Loss)) {
			t.Errorf("case %d, %s: loss %v, want %v", i, c.Name, sum, c.Loss)
		}
	}
	if len(cases) < 10 {
		t.Errorf("%d cases", len(cases))
	}
}

// No token of stable_reinforce has a gradient above the documented bound, however far the policies are apart.
func TestStableIsBounded(t *testing.T) {
	l := mustNew(t, tinker.StableReinforce, map[string]float64{"kl_coeff": 0.5})
	for _, gap := range []float32{-1e4, -50, -1, 0, 1, 50, 1e4} {
		for _, a := range []float32{-3, 0, 3} {
			g := []float32{0}
			v := l.Row(Datum{N: 1, K: 1, Logprobs: []float32{-gap}, Advantages: []float32{a}, Sampled: []float32{1}},
				0, []float32{0}, g)
			if bound := MaxRatio*math.Abs(float64(a)) + 0.5*(MaxRatio-1); math.Abs(float64(g[0])) > bound ||
				math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("gap %v, advantage %v: loss %v, gradient %v, bound %v", gap, a, v, g[0], bound)
			}
		}
	}
}

// The errors of a datum's masks.
func TestMasks(t *testing.T) {
	in := tinker.Text([]int32{1, 2})
	base := map[string]tinker.Tensor{tinker.TargetTokens: tinker.Ints([]int64{3, 4}),
		tinker.Logprobs: tinker.Floats([]float32{0, -1}), tinker.Advantages: tinker.Floats([]float32{0, 2})}
	for _, c := range []struct {
		loss, key string
		mask      []float32
		want      string
	}{
		{tinker.GSPO, tinker.SequenceRatioMask, []float32{0, 1}, ""},
		{tinker.GSPO, tinker.SequenceRatioMask, []float32{0, 0}, "sequence_ratio_mask marks no position"},
		{tinker.GSPO, tinker.SequenceRatioMask, []float32{1}, "sequence_ratio_mask has shape [1]"},
		{tinker.GSPO, "", nil, "lacks sequence_ratio_mask, which gspo needs"},
		{tinker.StableReinforce, tinker.SampledMask, []float32{0, 1}, ""},
		{tinker.StableReinforce, tinker.SampledMask, []float32{1, 0},
			"advantages[1] is 2, but target 1 was not sampled"},
		{tinker.StableReinforce, "", nil, "lacks sampled_mask, which stable_reinforce needs"},
		{tinker.PPO, tinker.SequenceRatioMask, []float32{0, 0}, ""},
	} {
		inputs := map[string]tinker.Tensor{}
		for k, v := range base {
			inputs[k] = v
		}
		if c.key != "" {
			inputs[c.key] = tinker.Floats(c.mask)
		}
		_, err := mustNew(t, c.loss, nil).Check(0, tinker.Datum{ModelInput: in, LossFnInputs: inputs}, 10)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) ||
			tinker.CategoryOf(err) != tinker.User) {
			t.Errorf("%s with %v: %v, want %q", c.loss, c.mask, err, c.want)
		}
	}
	if _, err := New(tinker.StableReinforce, map[string]float64{"kl_coeff": math.NaN()}); err == nil ||
		!strings.Contains(err.Error(), "kl_coeff of stable_reinforce is NaN") {
		t.Error(err)
	}
}
