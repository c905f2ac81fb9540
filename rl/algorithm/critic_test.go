package algorithm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func mustCritic(t *testing.T, c Critic) Critic {
	t.Helper()
	c, err := NewCritic(c)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func tokensFrom(first int32, K int) []int32 {
	out := make([]int32, K)
	for k := range out {
		out[k] = first + int32(k)
	}
	return out
}

func TestTwoHot(t *testing.T) {
	c := mustCritic(t, Critic{Tokens: tokensFrom(10, 5), Low: -1, High: 1}) // values -1, -0.5, 0, 0.5, 1
	for _, tt := range []struct {
		value float64
		want  []float64
	}{
		{-1, []float64{1, 0, 0, 0, 0}},
		{-0.5, []float64{0, 1, 0, 0, 0}},
		{0.125, []float64{0, 0, 0.75, 0.25, 0}},
		{1, []float64{0, 0, 0, 0, 1}},
		{7, []float64{0, 0, 0, 0, 1}},
		{math.Inf(-1), []float64{1, 0, 0, 0, 0}},
	} {
		p := []float64{9, 9, 9, 9, 9}
		if c.Encode(p, tt.value); !slices.Equal(p, tt.want) {
			t.Errorf("%v is %v, want %v", tt.value, p, tt.want)
		}
	}
}

// What is encoded is decoded: exactly by two-hot, to a hundredth of a step by HL-Gauss two deviations from the ends.
func TestEncodeDecode(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, sigma := range []float64{0, 0.75, 2} {
		c := mustCritic(t, Critic{Tokens: tokensFrom(0, 21), Low: -2, High: 3, Sigma: sigma})
		p, lp := make([]float64, 21), make([]float32, 21)
		for range 200 {
			margin := 4 * sigma * c.step()
			want := c.Low + margin + r.Float64()*(c.High-c.Low-2*margin)
			c.Encode(p, want)
			sum := 0.0
			for k, v := range p {
				sum += v
				lp[k] = float32(math.Log(v) - 3) // the reserved tokens share e^-3 of the probability
			}
			if got := c.Decode(lp); math.Abs(sum-1) > 1e-12 || math.Abs(got-want) > 0.01*c.step() {
				t.Errorf("sigma %v: %v decodes to %v, the distribution sums to %v", sigma, want, got, sum)
			}
		}
	}
}

func TestHLGaussByHand(t *testing.T) {
	c := mustCritic(t, Critic{Tokens: tokensFrom(0, 3), Low: 0, High: 2, Sigma: 1})
	p := make([]float64, 3)
	c.Encode(p, 1)
	middle := math.Erf(0.5 / math.Sqrt2)
	all := math.Erf(1.5 / math.Sqrt2)
	if want := []float64{(all - middle) / 2 / all, middle / all, (all - middle) / 2 / all}; !alike(p, want) {
		t.Errorf("1 is %v, want %v", p, want)
	}
}

// By hand where all reserved tokens are equally likely, and as minus the difference quotient of the loss elsewhere.
func TestWeights(t *testing.T) {
	c := mustCritic(t, Critic{Tokens: tokensFrom(5, 4), Low: 0, High: 3})
	even := []float32{-2, -2, -2, -2, -9, -9, -9, -9, 7, 7, 7, 7}
	w, loss := c.Weights([]float32{0.5, 3, 9}, even, []bool{true, true, false}, 4)
	if want := []float32{0.0625, 0.0625, -0.0625, -0.0625, -0.0625, -0.0625, -0.0625, 0.1875, 0, 0, 0,
		0}; !slices.Equal(w, want) {
		t.Errorf("weights = %v, want %v", w, want)
	}
	if want := 2 * math.Log(4) / 4; math.Abs(loss-want) > 1e-12 {
		t.Errorf("loss = %v, want %v", loss, want)
	}
	if got, want := c.Targets(2), []int64{5, 6, 7, 8, 5, 6, 7, 8}; !slices.Equal(got, want) {
		t.Errorf("targets = %v, want %v", got, want)
	}

	c.Sigma = 0.75
	returns, mask, lp := []float32{1.25, 0.1}, []bool{true, true}, []float32{-1, -3, -2, -5, -4, -1.5, -2.5, -1}
	w, _ = c.Weights(returns, lp, mask, 2)
	for k := range lp {
		const h = 1.0 / 1024
		was := lp[k]
		lp[k] = was + h
		_, up := c.Weights(returns, lp, mask, 2)
		lp[k] = was - h
		_, down := c.Weights(returns, lp, mask, 2)
		lp[k] = was
		if want := -(up - down) / (2 * h); math.Abs(float64(w[k])-want) > 1e-6 {
			t.Errorf("weight %d = %v, minus the difference quotient is %v", k, w[k], want)
		}
	}
}

// Gradient descent on the logits of K reserved tokens and one other, with the weights as cross_entropy has them, brings
// the decoded values to the returns.
func TestCriticLearns(t *testing.T) {
	c := mustCritic(t, Critic{Tokens: []int32{3, 1, 0, 2}, Low: -1, High: 2, Sigma: 0.5})
	returns := []float32{-0.25, 0.5, 1.25}
	const R, K, V = 3, 4, 5
	logits := make([]float64, R*V)
	lp := make([]float32, R*K)
	for range 400 {
		for pos := range R {
			row := logits[pos*V : (pos+1)*V]
			sum := 0.0
			for _, x := range row {
				sum += math.Exp(x)
			}
			for k, id := range c.Tokens {
				lp[pos*K+k] = float32(row[id] - math.Log(sum))
			}
		}
		w, _ := c.Weights(returns, lp, []bool{true, true, true}, R)
		for pos := range R {
			for k, id := range c.Tokens {
				logits[pos*V+int(id)] += 10 * float64(w[pos*K+k]) // the weights sum to 0: no other logit moves
			}
		}
	}
	for pos, v := range c.Values(lp) {
		if math.Abs(float64(v-returns[pos])) > 0.05 {
			t.Errorf("value %d is %v after training on %v", pos, v, returns[pos])
		}
	}
}

func TestCriticMetrics(t *testing.T) {
	m := CriticMetrics([][]float32{{1, 3}, {9}}, [][]float32{{1, 2}, {0}}, [][]bool{{true, true}, {false}})
	want := map[string]float64{"critic/vf_loss": 0.25, "critic/vpred_mean": 1.5, "critic/vf_explained_var": 0.75}
	for k, v := range want {
		if math.Abs(m[k]-v) > 1e-12 {
			t.Errorf("%s = %v, want %v", k, m[k], v)
		}
	}
	if m := CriticMetrics([][]float32{{1}}, [][]float32{{1}}, [][]bool{{false}}); m["critic/vf_loss"] != 0 {
		t.Errorf("without tokens: %v", m)
	}
}

func TestCriticRefuses(t *testing.T) {
	ok := Critic{Tokens: tokensFrom(0, 3), High: 1}
	for want, change := range map[string]func(*Critic){
		"token 1 is negative or comes twice": func(c *Critic) { c.Tokens = []int32{1, 1} },
		"token -1 is negative":               func(c *Critic) { c.Tokens = []int32{-1, 1} },
		"has 1 tokens":                       func(c *Critic) { c.Tokens = c.Tokens[:1] },
		"go from 1 to 1":                     func(c *Critic) { c.Low = 1 },
		"go from 0 to NaN":                   func(c *Critic) { c.High = math.NaN() },
		"go from 0 to +Inf":                  func(c *Critic) { c.High = math.Inf(1) },
		"sigma NaN":                          func(c *Critic) { c.Sigma = math.NaN() },
	} {
		c := ok
		change(&c)
		if _, err := NewCritic(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want %q", err, want)
		}
	}
}

func ExampleCritic() {
	c, _ := NewCritic(Critic{Tokens: []int32{101, 102, 103}, Low: 0, High: 1})
	p := make([]float64, 3)
	c.Encode(p, 0.75)
	fmt.Println(p, c.Decode([]float32{-1000, -2, -2}))
	// Output: [0 0.5 0.5] 0.75
}

// With its prior taken off, an untrained critic's value is the middle, whatever the model makes of the tokens; and the
// weights that it is trained with are still target minus distribution.
func TestPrior(t *testing.T) {
	c := mustCritic(t, Critic{Tokens: tokensFrom(7, 3), Low: 0, High: 2})
	lp := [][]float32{{-1, -9, -3, -99, -99, -99, -2, -10, -4}}
	mask := [][]bool{{true, false, true}}
	if v := c.Decode(lp[0][:3]); v > 0.3 {
		t.Fatalf("without a prior the value is %v, the first token's", v)
	}
	c.Prior = c.PriorOf(lp, mask)
	if want := []float64{-1.5, -9.5, -3.5}; !alike(c.Prior, want) {
		t.Errorf("prior %v, want %v: the masked position does not count", c.Prior, want)
	}
	if v := c.Decode(lp[0][:3]); math.Abs(v-1) > 1e-6 {
		t.Errorf("value %v, want the middle", v)
	}
	w, _ := c.Weights([]float32{2}, lp[0][:3], []bool{true}, 1)
	for k, want := range []float64{-1.0 / 3, -1.0 / 3, 2.0 / 3} {
		if math.Abs(float64(w[k])-want) > 1e-6 {
			t.Errorf("weights %v, want [-1/3 -1/3 2/3]", w)
		}
	}
	if c.PriorOf(lp, [][]bool{{false, false, false}}) != nil {
		t.Error("a prior of nothing")
	}
}

// The tokens are the last of the vocabulary unless their first is named, and must lie in it.
func TestCriticTokens(t *testing.T) {
	for _, tt := range []struct {
		args  Args
		vocab int
		first int32
	}{
		{Args{"critic_bins": 5}, 100, 95},
		{Args{"critic_bins": 5, "critic_first_token": 20}, 100, 20},
		{Args{"critic_bins": 5}, 4, -1},
		{Args{"critic_bins": 5, "critic_first_token": 96}, 100, -1},
	} {
		m := mustNew(t, Choice{Type: "ppo", AdvantageArgs: tt.args})
		c, _, err := m.Critic(tt.vocab)
		if tt.first < 0 {
			if err == nil || !strings.Contains(err.Error(), "does not fit a vocabulary") {
				t.Errorf("%v of %d: %v", tt.args, tt.vocab, err)
			}
			continue
		}
		if err != nil || c.Tokens[0] != tt.first || len(c.Tokens) != 5 {
			t.Errorf("%v of %d: tokens %v, %v, want 5 from %d on", tt.args, tt.vocab, c.Tokens, err, tt.first)
		}
	}
}
