package algorithm

import (
	"fmt"
	"math"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// softmaxOf is the distribution of logits.
func softmaxOf(logits []float64) []float64 {
	p, sum := make([]float64, len(logits)), 0.0
	for i, x := range logits {
		p[i] = math.Exp(x)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

func divergenceOf(lambda float64, s, t []float64) float64 {
	kl := func(p, q []float64) float64 {
		sum := 0.0
		for i := range p {
			sum += p[i] * math.Log(p[i]/q[i])
		}
		return sum
	}
	switch lambda {
	case 0:
		return kl(s, t)
	case 1:
		return kl(t, s)
	}
	m := make([]float64, len(s))
	for i := range m {
		m[i] = (1-lambda)*s[i] + lambda*t[i]
	}
	return lambda*kl(t, m) + (1-lambda)*kl(s, m)
}

// Over all tokens, each weighed by how often it is drawn, the advantages times the scores are minus the derivative of
// the divergence, and jsd/mean is the divergence.
func TestJSDIsItsGradient(t *testing.T) {
	logits, teacher := []float64{0.3, -1.2, 0.9, 0.1, -0.4}, softmaxOf([]float64{-0.7, 0.5, 0.2, 1.1, -2})
	for _, lambda := range []float64{0, 0.1, 0.5, 0.9, 1} {
		a, err := newJSD(Args{"lambda_coef": lambda})
		if err != nil {
			t.Fatal(err)
		}
		p := softmaxOf(logits)
		got, mean := make([]float64, len(p)), 0.0
		for token := range p {
			e := &experience.Experience{Tokens: []int32{0, int32(token)}, PromptLength: 1,
				Logprobs: []float32{float32(math.Log(p[token]))}, ActionMask: []bool{true}}
			m, err := a.Assign([]Graded{
				{Experience: e, Fetched: Fetched{Teacher: []float32{float32(math.Log(teacher[token]))}}}})
			if err != nil {
				t.Fatal(err)
			}
			mean += p[token] * m["jsd/mean"]
			for j := range p { // d log p[token] / d logit j
				score := -p[j]
				if j == token {
					score++
				}
				got[j] += p[token] * float64(e.Advantages[0]) * score
			}
		}
		if want := divergenceOf(lambda, p, teacher); math.Abs(mean-want) > 1e-6 {
			t.Errorf("lambda %v: jsd/mean = %v, the divergence is %v", lambda, mean, want)
		}
		for j := range logits {
			const h = 1e-5
			moved := append([]float64(nil), logits...)
			moved[j] += h
			up := divergenceOf(lambda, softmaxOf(moved), teacher)
			moved[j] -= 2 * h
			down := divergenceOf(lambda, softmaxOf(moved), teacher)
			if want := -(up - down) / (2 * h); math.Abs(got[j]-want) > 1e-6 {
				t.Errorf("lambda %v: pull on logit %d is %v, difference quotient %v", lambda, j, got[j], want)
			}
		}
	}
}

func ExampleLateAdvantage_pointwise() {
	for _, estimate := range []string{"gradient", "pointwise"} {
		a, _ := newJSD(Args{"estimate": estimate})
		e := &experience.Experience{Tokens: []int32{0, 1, 2}, PromptLength: 1, Logprobs: []float32{-0.1, -3},
			ActionMask: []bool{true, true}}
		// it disagrees with both tokens
		a.Assign([]Graded{{Experience: e, Fetched: Fetched{Teacher: []float32{-4, -0.1}}}})
		fmt.Printf("%s %.2f\n", estimate, e.Advantages)
	}
	// Output:
	// gradient [-0.34 1.13]
	// pointwise [1.28 0.81]
}
