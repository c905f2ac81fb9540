package algorithm

import (
	"math"
	"testing"
)

// twister is MT19937 (Matsumoto and Nishimura 1998), the generator behind the fixtures of Trinity-RFT's own tests.
type twister struct {
	state [624]uint32
	at    int
}

func newTwister(seed uint32) *twister {
	m := &twister{at: 624}
	m.state[0] = seed
	for i := 1; i < 624; i++ {
		prev := m.state[i-1]
		m.state[i] = 1812433253*(prev^prev>>30) + uint32(i)
	}
	return m
}

func (m *twister) uint32() uint32 {
	if m.at == 624 {
		for i := range m.state {
			y := m.state[i]&0x80000000 | m.state[(i+1)%624]&0x7fffffff
			m.state[i] = m.state[(i+397)%624] ^ y>>1 ^ (y&1)*0x9908b0df
		}
		m.at = 0
	}
	y := m.state[m.at]
	m.at++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// uniform is torch.rand in float32.
func (m *twister) uniform() float32 { return float32(m.uint32()&0xffffff) / (1 << 24) }

// symmetric is 2*torch.rand-1, [B][R].
func (m *twister) symmetric(B, R int) [][]float32 {
	out := make([][]float32, B)
	for i := range out {
		out[i] = make([]float32, R)
		for t := range out[i] {
			out[i][t] = 2*m.uniform() - 1
		}
	}
	return out
}

func (m *twister) mask(B, R int) [][]bool {
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
	m := newTwister(42)
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
	m := newTwister(42)
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
