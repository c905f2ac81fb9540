package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// reference is the portable path, the definition, in order Sequential.
func reference() *Set { return definition(Sequential) }

// fastSets returns the sets beyond Portable that this processor offers, in both orders.
func fastSets(t *testing.T) []*Set {
	t.Helper()
	var sets []*Set
	for p := Portable + 1; p <= Detect(); p++ {
		for _, o := range []Order{Sequential, Blocked} {
			if !p.offers(o) {
				continue
			}
			s, err := New(p, o)
			if err != nil {
				t.Fatal(err)
			}
			sets = append(sets, s)
		}
	}
	return sets
}

// forEachFast runs f for every one of fastSets.
func forEachFast(t *testing.T, f func(t *testing.T, s *Set)) {
	t.Helper()
	forEach(t, fastSets(t), f)
}

// forEachPath runs f for every path.
func forEachPath(t *testing.T, f func(t *testing.T, s *Set)) {
	t.Helper()
	forEach(t, append(fastSets(t), definition(Sequential), definition(Blocked)), f)
}

func forEach(t *testing.T, sets []*Set, f func(t *testing.T, s *Set)) {
	t.Helper()
	if len(sets) == 0 {
		t.Skip("this processor offers the portable path only")
	}
	for _, s := range sets {
		t.Run(s.Path().String()+"/"+s.Order().String(), func(t *testing.T) { f(t, s) })
	}
}

// kind is the distribution of a test's numbers.
type kind int

const (
	plain kind = iota // around one
	wild              // of all magnitudes, with zeros, the extremes, rarely infinities and NaN
	tiny              // with products around the smallest normal number
	kinds
)

// numbers returns n values of a kind.
func numbers(r *rand.Rand, n int, k kind) []float32 {
	special := []float32{0, float32(math.Copysign(0, -1)), 1e-45, -1e-40, 0x1p-126, -0x1p-126, 0x1p-70}
	extreme := []float32{math.MaxFloat32, -math.MaxFloat32, float32(math.Inf(1)), float32(math.Inf(-1)),
		float32(math.NaN())}
	x := Aligned(n)
	for i := range x {
		v := r.NormFloat64()
		switch {
		case k == tiny:
			v = math.Ldexp(v, r.IntN(16)-70)
		case k == wild && r.IntN(500) == 0:
			v = float64(extreme[r.IntN(len(extreme))])
		case k == wild && r.IntN(8) == 0:
			v = float64(special[r.IntN(len(special))])
		case k == wild:
			v = math.Ldexp(v, r.IntN(140)-90)
		}
		x[i] = float32(v)
	}
	return x
}

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// equal fails unless both slices hold the same bits.
func equal(t interface {
	Helper()
	Fatalf(string, ...any)
}, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	for i := range want {
		if !sameBits(got[i], want[i]) {
			t.Fatalf("%s: element %d is %v (%x), want %v (%x)", what, i,
				got[i], math.Float32bits(got[i]), want[i], math.Float32bits(want[i]))
		}
	}
}

// clone returns an aligned copy.
func clone(x []float32) []float32 {
	y := Aligned(len(x))
	copy(y, x)
	return y
}
