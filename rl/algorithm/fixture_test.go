package algorithm

import (
	"math"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/rng/python"
)

// torch is the generator after the fixtures of Trinity-RFT's own tests.
type torch struct{ *python.Random }

// uniform is torch.rand in float32.
func (m torch) uniform() float32 { return float32(m.Uint32()&0xffffff) / (1 << 24) }

// symmetric is 2*torch.rand-1, [B][R].
func (m torch) symmetric(B, R int) [][]float32 {
	out := make([][]float32, B)
	for i := range out {
		out[i] = make([]float32, R)
		for t := range out[i] {
			out[i][t] = 2*m.uniform() - 1
		}
	}
	return out
}

func (m torch) mask(B, R int) [][]bool {
	out := make([][]bool, B)
	for i := range out {
		out[i] = make([]bool, R)
		for t := range out[i] {
			out[i][t] = m.uniform() > 0.5
		}
	}
	return out
}

// policyFixture is the batch that upstream's policy losses are tested with, 5 sequences of 20 tokens.
func policyFixture(t *testing.T) []Sequence {
	t.Helper()
	m := torch{python.Legacy(42)}
	lp, old, ref := m.symmetric(5, 20), m.symmetric(5, 20), m.symmetric(5, 20)
	mask := m.mask(5, 20)
	adv := m.symmetric(5, 20)
	batch := make([]Sequence, 5)
	n := 0
	for i := range batch {
		batch[i] = Sequence{Logprobs: lp[i], Old: old[i], Ref: ref[i], Advantages: adv[i], Mask: mask[i]}
		n += count(mask[i])
	}
	for i := range batch {
		batch[i].Expert = m.uniform() > 0.5
	}
	if lp[0][0] != 0.76453853 || lp[0][1] != 0.83000791 || lp[0][2] != -0.23427248 || n != 48 {
		t.Fatalf("the fixture's first logprobs are %v with %d trained tokens; the generator is wrong", lp[0][:3], n)
	}
	return batch
}

// klFixture is the batch that upstream's KL functions are tested with, 4 sequences of 10 tokens.
func klFixture() []Sequence {
	m := torch{python.Legacy(42)}
	lp, ref, old := m.symmetric(4, 10), m.symmetric(4, 10), m.symmetric(4, 10)
	mask := m.mask(4, 10)
	batch := make([]Sequence, 4)
	for i := range batch {
		batch[i] = Sequence{Logprobs: lp[i], Ref: ref[i], Old: old[i], Mask: mask[i]}
	}
	return batch
}

// near is torch.allclose with its default tolerances.
func near(got, want float64) bool { return math.Abs(got-want) <= 1e-8+1e-5*math.Abs(want) }

// checkGradient compares a gradient with central differences of f, which must be smooth within +-h of the batch.
func checkGradient(t *testing.T, batch []Sequence, gradient [][]float64, f func() float64) {
	t.Helper()
	const h = 1.0 / 1024 // a power of two, so that lp+-h is exact in float32 for most lp
	moved := 0
	for i := range batch {
		for k := range batch[i].Logprobs {
			was := batch[i].Logprobs[k]
			up, down := was+h, was-h
			batch[i].Logprobs[k] = up
			above := f()
			batch[i].Logprobs[k] = down
			below := f()
			batch[i].Logprobs[k] = was
			want := (above - below) / (float64(up) - float64(down))
			if got := gradient[i][k]; math.Abs(got-want) > 2e-6+1e-4*math.Abs(want) {
				t.Errorf("d loss / d logprob[%d][%d] = %v, the difference quotient is %v", i, k, got, want)
			}
			if want != 0 {
				moved++
			}
		}
	}
	if moved == 0 {
		t.Error("no logprob moves the loss: the check checks nothing")
	}
}
