package loss

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

func mustNew(t *testing.T, name string, config map[string]float64) Loss {
	t.Helper()
	l, err := New(name, config)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Every row is computed by hand: for example ppo with r = 2, A = 1 is clipped at 1.2.
func TestElements(t *testing.T) {
	ln2 := float32(math.Ln2)
	for _, c := range []struct {
		loss       string
		config     map[string]float64
		logp, q, a float32
		want, grad float64
	}{
		{loss: tinker.CrossEntropy, logp: -2, a: 0.5, want: 1, grad: -0.5},
		{loss: tinker.CrossEntropy, logp: -2, a: -3, want: -6, grad: 3},
		{loss: tinker.ImportanceSampling, logp: -1, q: -1, a: 2, want: -2, grad: -2},
		{loss: tinker.ImportanceSampling, logp: ln2, q: 0, a: -3, want: 6, grad: 6},
		{loss: tinker.PPO, logp: -1, q: -1, a: 2, want: -2, grad: -2},
		{loss: tinker.PPO, logp: ln2, a: 1, want: -1.2, grad: 0},
		{loss: tinker.PPO, logp: ln2, a: -1, want: 2, grad: 2},
		{loss: tinker.PPO, logp: -ln2, a: 1, want: -0.5, grad: -0.5},
		{loss: tinker.PPO, logp: -ln2, a: -1, want: 0.8, grad: 0},
		{loss: tinker.PPO, config: map[string]float64{"clip_high_threshold": 3}, logp: ln2, a: 1, want: -2, grad: -2},
		{loss: tinker.CISPO, logp: ln2, a: 1, want: -2 * math.Ln2, grad: -2},
		{loss: tinker.CISPO, logp: 3 * ln2, a: 1, want: -4 * 3 * math.Ln2, grad: -4},
		{loss: tinker.CISPO, config: map[string]float64{"clip_low_threshold": 0.8, "clip_high_threshold": 1.2},
			logp: -ln2, a: 2, want: 0.8 * math.Ln2 * 2, grad: -1.6},
		{loss: tinker.DRO, logp: -1, q: -1, a: 2, want: 2, grad: -2},
		{loss: tinker.DRO, logp: -1, q: -3, a: 2, want: 2 + 0.5*0.05*4, grad: -(2 - 0.05*2)},
		{loss: tinker.DRO, config: map[string]float64{"beta": 1}, logp: -1, q: -3, a: 0, want: 2, grad: 2},
		{loss: tinker.ImportanceSampling, logp: 1e4, a: 0, want: 0, grad: 0},
	} {
		d := Datum{N: 1, K: 1, Weights: []float32{c.a}, Logprobs: []float32{c.q}, Advantages: []float32{c.a}}
		g := []float32{99}
		got := mustNew(t, c.loss, c.config).Row(d, 0, []float32{c.logp}, g)
		if math.Abs(got-c.want) > 1e-6 || math.Abs(float64(g[0])-c.grad) > 1e-6 {
			t.Errorf("%s %v logp %v q %v a %v: loss %v gradient %v, want %v, %v", c.loss, c.config, c.logp, c.q, c.a,
				got, g[0], c.want, c.grad)
		}
	}
}

func TestOnPolicyIsExact(t *testing.T) {
	l := mustNew(t, tinker.ImportanceSampling, nil)
	for _, lp := range []float32{0, -1e-7, -0.3, -17.25} {
		d, g := Datum{N: 1, K: 1, Logprobs: []float32{lp}, Advantages: []float32{0.7}}, []float32{0}
		if v := l.Row(d, 0, []float32{lp}, g); v != -float64(float32(0.7)) || g[0] != -0.7 {
			t.Errorf("logp = q = %v: loss %v, gradient %v, want -0.7", lp, v, g[0])
		}
	}
}

// The gradient is the difference quotient of the loss wherever the loss has no kink and no term is held constant.
func TestFiniteDifferences(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{tinker.CrossEntropy, tinker.ImportanceSampling, tinker.PPO, tinker.DRO} {
		l := mustNew(t, name, nil)
		for range 200 {
			d := Datum{N: 1, K: 1, Weights: []float32{r.Float32() - 0.5}, Logprobs: []float32{-2 * r.Float32()},
				Advantages: []float32{4*r.Float32() - 2}}
			x := -2 * r.Float64()
			if ratio := elementary.Exp(x - float64(d.Logprobs[0])); math.Abs(ratio-0.8) < 1e-3 ||
				math.Abs(ratio-1.2) < 1e-3 {
				continue
			}
			const h = 1e-5
			_, grad := l.element(d, 0, x)
			up, _ := l.element(d, 0, x+h)
			down, _ := l.element(d, 0, x-h)
			if num := (up - down) / (2 * h); math.Abs(num-grad) > 1e-6*(1+math.Abs(grad)) {
				t.Fatalf("%s at logp %v of %+v: gradient %v, difference quotient %v", name, x, d, grad, num)
			}
		}
	}
}

func TestRowsOfSeveralTargets(t *testing.T) {
	d := Datum{N: 2, K: 2, Weights: []float32{1, 2, 3, 4}}
	g := make([]float32, 2)
	got := mustNew(t, tinker.CrossEntropy, nil).Row(d, 1, []float32{-1, -10}, g)
	if got != 43 || !slices.Equal(g, []float32{-3, -4}) {
		t.Errorf("row 1 = %v, gradient %v, want 43, [-3 -4]", got, g)
	}
	if got := mustNew(t, tinker.CrossEntropy, nil).Row(Datum{N: 1, K: 2}, 0, []float32{-1, -10}, nil); got != 11 {
		t.Errorf("without weights = %v, want 11", got)
	}
}

func TestRefusedSettings(t *testing.T) {
	for _, c := range []struct {
		name   string
		config map[string]float64
		want   string
	}{
		{"mse", nil, `loss_fn "mse" is unknown; use cross_entropy`},
		{tinker.CrossEntropy, map[string]float64{"beta": 1},
			`cross_entropy has "beta"; it takes no settings but entropy_coef`},
		{tinker.PPO, map[string]float64{"clip_low": 1},
			`"clip_low"; it takes clip_high_threshold, clip_low_threshold, entropy_coef`},
		{tinker.PPO, map[string]float64{"clip_low_threshold": 2}, "is above clip_high_threshold 1.2"},
		{tinker.CISPO, map[string]float64{"entropy_coef": math.Inf(1)}, "entropy_coef of cispo is +Inf"},
		{tinker.DRO, map[string]float64{"beta": math.NaN()}, "beta of dro is NaN"},
	} {
		if _, err := New(c.name, c.config); err == nil || !strings.Contains(err.Error(), c.want) ||
			tinker.CategoryOf(err) != tinker.User {
			t.Errorf("New(%s, %v) = %v, want a user error with %q", c.name, c.config, err, c.want)
		}
	}
}

func TestCheck(t *testing.T) {
	in := tinker.Text([]int32{1, 2})
	tokens, two := tinker.Ints([]int64{3, 4}), tinker.Floats([]float32{1, 2})
	wide := tinker.Tensor{Shape: []int{2, 2}, Int: []int64{1, 2, 3, 4}}
	for _, c := range []struct {
		name, loss string
		inputs     map[string]tinker.Tensor
		want       string // "" means accepted
	}{
		{"ce", tinker.CrossEntropy, map[string]tinker.Tensor{"target_tokens": tokens, "weights": two}, ""},
		{"ce without weights", tinker.CrossEntropy, map[string]tinker.Tensor{"target_tokens": tokens}, ""},
		{"weights beside rl", tinker.PPO, map[string]tinker.Tensor{"target_tokens": tokens, "logprobs": two,
			"advantages": two, "weights": two}, ""},
		{"wide ce", tinker.CrossEntropy, map[string]tinker.Tensor{"target_tokens": wide,
			"weights": {Shape: []int{2, 2}, Float: make([]float32, 4)}}, ""},
		{"no targets", tinker.PPO, nil, "datum 5 lacks target_tokens"},
		{"no advantages", tinker.PPO, map[string]tinker.Tensor{"target_tokens": tokens, "logprobs": two},
			"datum 5 lacks advantages, which ppo needs"},
		{"short", tinker.PPO, map[string]tinker.Tensor{"target_tokens": tinker.Ints([]int64{1})},
			"shape [1] and 1 elements; model_input has 2 positions"},
		{"shape lies", tinker.CrossEntropy, map[string]tinker.Tensor{"target_tokens": {Shape: []int{2},
			Int: []int64{1}}}, "shape [2] and 1 elements"},
		{"wide ppo", tinker.PPO, map[string]tinker.Tensor{"target_tokens": wide}, "ppo takes one target per position"},
		{"narrow weights", tinker.CrossEntropy, map[string]tinker.Tensor{"target_tokens": wide, "weights": two},
			"weights has shape [2] and 2 elements; it must be [2 2]"},
		{"vocabulary", tinker.CrossEntropy, map[string]tinker.Tensor{"target_tokens": tinker.Ints([]int64{3, 10})},
			"target_tokens[1] is 10; the model has tokens 0 to 9"},
		{"floats as tokens", tinker.CrossEntropy, map[string]tinker.Tensor{"target_tokens": two},
			"target_tokens must be int64"},
		{"ints as weights", tinker.CrossEntropy, map[string]tinker.Tensor{"target_tokens": tokens, "weights": tokens},
			"weights must be float32"},
		{"not finite", tinker.CrossEntropy, map[string]tinker.Tensor{"target_tokens": tokens,
			"weights": tinker.Floats([]float32{1, float32(math.Inf(1))})}, "weights[1] is +Inf"},
		{"unknown", tinker.CrossEntropy, map[string]tinker.Tensor{"target_tokens": tokens, "mask": two},
			`unknown loss_fn_input "mask"`},
		{"entropy weights", "with", map[string]tinker.Tensor{"target_tokens": wide, "entropy_weights": two}, ""},
		{"entropy weights that were not requested", tinker.CrossEntropy,
			map[string]tinker.Tensor{"target_tokens": tokens, "entropy_weights": two},
			"has entropy_weights, but loss_fn_config of cross_entropy has no entropy_coef"},
		{"entropy weights for each target", "with", map[string]tinker.Tensor{"target_tokens": wide,
			"entropy_weights": {Shape: []int{2, 2}, Float: make([]float32, 4)}},
			"entropy_weights has shape [2 2] and 4 elements; it must be [2]"},
		{"clip per token", tinker.PPO, map[string]tinker.Tensor{"clip_low_threshold": two}, "set it in loss_fn_config"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := mustNew(t, tinker.CrossEntropy, map[string]float64{"entropy_coef": 0})
			if c.loss != "with" {
				l = mustNew(t, c.loss, nil)
			}
			d, err := l.Check(5, tinker.Datum{ModelInput: in, LossFnInputs: c.inputs}, 10)
			if c.want == "" {
				if err != nil || d.N != 2 || len(d.Targets) != d.N*d.K {
					t.Errorf("got %+v, %v", d, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || tinker.CategoryOf(err) != tinker.User {
				t.Errorf("got %v, want a user error with %q", err, c.want)
			}
		})
	}
}

// An entropy is multiplied by its weight, 1 by default. With weight 0 it is ignored, even if it is not finite.
func TestEntropy(t *testing.T) {
	l := mustNew(t, tinker.PPO, map[string]float64{"entropy_coef": 0.5})
	d := Datum{N: 3, EntropyWeights: []float32{2, 0, -1}}
	for pos, want := range []float64{-3, 0, 1.5} {
		h := float32(3)
		if want == 0 {
			h = float32(math.Inf(1))
		}
		if loss, grad := l.Entropy(d, pos, h); loss != want || grad != want/3 {
			t.Errorf("position %d: %v, gradient %v, want %v, %v", pos, loss, grad, want, want/3)
		}
	}
	if loss, grad := l.Entropy(Datum{N: 1}, 0, 3); loss != -1.5 || grad != -0.5 || !l.Entropic() {
		t.Errorf("without weights: %v, %v", loss, grad)
	}
	if mustNew(t, tinker.PPO, nil).Entropic() {
		t.Error("entropies that were not requested")
	}
}

func ExampleLoss_Row() {
	l, _ := New(tinker.PPO, nil)
	d := Datum{N: 1, K: 1, Logprobs: []float32{-1}, Advantages: []float32{2}}
	grad := make([]float32, 1)
	fmt.Println(l.Row(d, 0, []float32{-1}, grad), grad)
	// Output: -2 [-2]
}
