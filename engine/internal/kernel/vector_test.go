package kernel

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// vectorCase runs one operation on fresh copies of three vectors and returns its results and the vectors that it
// wrote.
type vectorCase struct {
	name string
	run  func(s *Set, x, y, z []float32) []float32
}

var vectorCases = []vectorCase{
	{"Dot", func(s *Set, x, y, z []float32) []float32 { return []float32{s.Dot(x, y)} }},
	{"SumSq", func(s *Set, x, y, z []float32) []float32 { return []float32{s.SumSq(x)} }},
	{"Max", func(s *Set, x, y, z []float32) []float32 { return []float32{s.Max(x)} }},
	{"ExpSum", func(s *Set, x, y, z []float32) []float32 { return append(z, s.ExpSum(z, x, 0.75)) }},
	{"ExpSum in place", func(s *Set, x, y, z []float32) []float32 { return append(x, s.ExpSum(x, x, 2)) }},
	{"Exp", func(s *Set, x, y, z []float32) []float32 { s.Exp(z, x); return z }},
	{"RMSNorm", func(s *Set, x, y, z []float32) []float32 { return append(z, s.RMSNorm(z, x, y, 1e-6)) }},
	{"SiLUMul", func(s *Set, x, y, z []float32) []float32 { s.SiLUMul(z, x, y); return z }},
	{"SiLUMul onto up", func(s *Set, x, y, z []float32) []float32 { s.SiLUMul(y, x, y); return y }},
	{"SiLUMulBackward", func(s *Set, x, y, z []float32) []float32 {
		g, u := Aligned(len(x)), Aligned(len(x))
		s.SiLUMulBackward(g, u, z, x, y)
		return append(g, u...)
	}},
	{"SiLUMulBackward in place", func(s *Set, x, y, z []float32) []float32 {
		s.SiLUMulBackward(x, y, z, x, y)
		return append(x, y...)
	}},
	{"Add", func(s *Set, x, y, z []float32) []float32 { s.Add(x, y); return x }},
	{"Scale", func(s *Set, x, y, z []float32) []float32 { s.Scale(x, 0.3); return x }},
	{"AXPY", func(s *Set, x, y, z []float32) []float32 { s.AXPY(x, -1.7, y); return x }},
	{"Mul", func(s *Set, x, y, z []float32) []float32 { s.Mul(z, x, y); return z }},
	{"RoundBF16", func(s *Set, x, y, z []float32) []float32 { s.RoundBF16(z, x); return z }},
	{"Rotate", func(s *Set, x, y, z []float32) []float32 { s.Rotate(z, x, y, 1); return z }},
	{"Rotate back in place", func(s *Set, x, y, z []float32) []float32 { s.Rotate(x, x, y, -1); return x }},
	{"LogSumExp", func(s *Set, x, y, z []float32) []float32 { return []float32{s.LogSumExp(x)} }},
	{"SoftmaxGrad", func(s *Set, x, y, z []float32) []float32 { s.SoftmaxGrad(z, x, 0.01, 3); return z }},
}

func (c vectorCase) compare(t interface {
	Helper()
	Fatalf(string, ...any)
}, s *Set, n int, seed uint64, kind kind) {
	t.Helper()
	r := random(seed)
	x, y, z := numbers(r, n, kind), numbers(r, n, kind), numbers(r, n, kind)
	got := c.run(s, clone(x), clone(y), clone(z))
	want := c.run(reference(), clone(x), clone(y), clone(z))
	equal(t, fmt.Sprintf("%s of %d, kind %d", c.name, n, kind), got, want)
}

func TestVectorsAreThePortableOnes(t *testing.T) {
	forEachFast(t, func(t *testing.T, s *Set) {
		for _, c := range vectorCases {
			for n := 0; n <= 67; n++ {
				for kind := range kinds {
					c.compare(t, s, n, uint64(n), kind)
				}
			}
			for _, n := range []int{1000, 4095, 4096, 4097, 12289} {
				c.compare(t, s, n, uint64(n), plain)
			}
		}
	})
}

func TestVectorProperty(t *testing.T) {
	forEachFast(t, func(t *testing.T, s *Set) {
		rapid.Check(t, func(t *rapid.T) {
			c := rapid.SampledFrom(vectorCases).Draw(t, "case")
			c.compare(t, s, rapid.IntRange(0, 300).Draw(t, "n"), rapid.Uint64().Draw(t, "seed"), wild)
		})
	})
}

// AXPY of the processor is a million fused multiply-adds a call: the emulation
// against the real thing, subnormals and cancellation included.
func TestFMAIsTheProcessors(t *testing.T) {
	forEachFast(t, func(t *testing.T, s *Set) {
		const n = 1 << 16
		r := random(4)
		for round := range 24 {
			x, z := Aligned(n), Aligned(n)
			low, high := uint32(90), uint32(160)
			if round%3 == 0 {
				low, high = 0, 130
			}
			a := finite(r, low, high)
			for i := range x {
				x[i], z[i] = finite(r, low, high), finite(r, low, high)
				switch i % 4 {
				case 0:
					z[i] = -float32(a * x[i])
				case 1:
					z[i] = math.Float32frombits(math.Float32bits(a*x[i]) + 24<<23) // ties
				}
			}
			want := clone(z)
			reference().AXPY(want, a, x)
			s.AXPY(z, a, x)
			equal(t, "AXPY", z, want)
		}
	})
}

func TestExpIsGoodToTwoUnits(t *testing.T) {
	worst := 0.0
	for x := float32(-87.3); x < 88.7; x += 0.00037 {
		want := math.Exp(float64(x))
		_, e := math.Frexp(want)
		worst = max(worst, math.Abs(float64(exp32(x))-want)/math.Ldexp(1, e-24))
	}
	if worst > 2 {
		t.Errorf("exp is off by %.2f units in the last place, want at most 2", worst)
	}
}

func TestExpOfSpecialValues(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	forEachPath(t, func(t *testing.T, s *Set) {
		x := []float32{-inf, -1e30, -104, 0, float32(math.Copysign(0, -1)), 1e-40, 89, 1e30, inf, nan}
		s.Exp(x, x)
		equal(t, "exp", x, []float32{0, 0, 0, 1, 1, 1, inf, inf, inf, nan})
	})
}

func TestLogSumExpIsRight(t *testing.T) {
	forEachPath(t, func(t *testing.T, s *Set) {
		for _, n := range []int{1, 100, 4096, 10000} {
			x := numbers(random(uint64(n)), n, plain)
			x[n/2] += 20
			sum := 0.0
			for _, v := range x {
				sum += math.Exp(float64(v))
			}
			if got, want := float64(s.LogSumExp(x)), math.Log(sum); math.Abs(got-want) > 4e-6 {
				t.Errorf("LogSumExp of %d = %v, want %v", n, got, want)
			}
		}
		inf := float32(math.Inf(-1))
		equal(t, "empty and -Inf", []float32{s.LogSumExp(nil), s.LogSumExp([]float32{inf, inf})}, []float32{inf, inf})
	})
}

func TestSiLUGradientByDifferences(t *testing.T) {
	const n, h = 40, 1e-2
	s, r := reference(), random(5)
	gate, up, dout := numbers(r, n, plain), numbers(r, n, plain), numbers(r, n, plain)
	dgate, dup, high, low := Aligned(n), Aligned(n), Aligned(n), Aligned(n)
	s.SiLUMulBackward(dgate, dup, dout, gate, up)
	shifted := func(x []float32, by float32) []float32 {
		y := clone(x)
		for i := range y {
			y[i] += by
		}
		return y
	}
	check := func(what string, got []float32) {
		for i := range got {
			want := dout[i] * (high[i] - low[i]) / (2 * h)
			if math.Abs(float64(got[i]-want)) > 2e-3 {
				t.Errorf("%s[%d] = %v, differences say %v", what, i, got[i], want)
			}
		}
	}
	s.SiLUMul(high, shifted(gate, h), up)
	s.SiLUMul(low, shifted(gate, -h), up)
	check("dgate", dgate)
	s.SiLUMul(high, gate, shifted(up, h))
	s.SiLUMul(low, gate, shifted(up, -h))
	check("dup", dup)
}

func TestRMSNormIsRight(t *testing.T) {
	s := reference()
	x, w, out := []float32{3, 4, 0, 0}, []float32{1, 2, 3, 4}, make([]float32, 4)
	inv := s.RMSNorm(out, x, w, 0)
	if inv != 0.4 { // mean square 6.25
		t.Errorf("inv = %v, want 0.4", inv)
	}
	equal(t, "out", out, []float32{3 * inv, 4 * inv * 2, 0, 0})
}
