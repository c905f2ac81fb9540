package kernel

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// shape is one product: x [M,K], w [N,K].
type shape struct{ M, N, K int }

// shapes surrounds every size at which the kernels change their method: tile heights and blocks of tiles, panel edges,
// few panels and many, unrolling, pairs and blocks of k.
func shapes() []shape {
	var list []shape
	for M := 1; M <= 30; M++ {
		list = append(list, shape{M, 45, 17}, shape{M, 97, 10})
	}
	for _, N := range []int{1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 95, 96, 128} {
		list = append(list, shape{3, N, 21})
	}
	for _, K := range []int{1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 254, 255, 256, 257, 258, 511, 512, 513,
		515} {
		list = append(list, shape{2, 33, K}, shape{2, 66, K}, shape{15, 97, min(K, 40)})
	}
	return append(list, shape{223, 70, 3}, shape{224, 33, 9}, shape{225, 70, 3}, shape{226, 3, 260}, shape{470, 65, 5})
}

// runProduct computes one MatMul on copies, with strides wider than the rows and guards after the rows that must not
// change.
func runProduct(s *Set, d shape, bf16, acc bool, kind kind) []float32 {
	r := random(uint64(d.M*1000000 + d.N*1000 + d.K))
	ldx, ldo := d.K+3, d.N+5
	x, out := numbers(r, d.M*ldx, kind), numbers(r, d.M*ldo, kind)
	if kind == tiny {
		reference().Scale(out, 0x1p-60) // near the products
	}
	w := s.Pack(numbers(r, d.N*d.K, kind), d.N, d.K, bf16)
	s.MatMul(NewScratch(), out, ldo, x, ldx, d.M, w, 0, w.Count(), acc)
	return out
}

func TestMatMulIsThePortableOne(t *testing.T) {
	fast := fastSets(t)
	for _, bf16 := range []bool{false, true} {
		for i, d := range shapes() {
			for kind := range kinds {
				acc := (i+int(kind))%2 == 1
				want := map[Order][]float32{}
				for _, o := range []Order{Sequential, Blocked} {
					want[o] = runProduct(definition(o), d, bf16, acc, kind)
				}
				for _, s := range fast {
					what := fmt.Sprintf("%v %v %+v bf16=%t acc=%t kind %d", s.Path(), s.Order(), d, bf16, acc, kind)
					equal(t, what, runProduct(s, d, bf16, acc, kind), want[s.Order()])
				}
			}
		}
	}
}

func TestMatMulProperty(t *testing.T) {
	forEachFast(t, func(t *testing.T, s *Set) {
		rapid.Check(t, func(t *rapid.T) {
			d := shape{rapid.IntRange(1, 40).Draw(t, "M"), rapid.IntRange(1, 70).Draw(t, "N"),
				rapid.IntRange(1, 90).Draw(t, "K")}
			bf16, acc, kind := rapid.Bool().Draw(t, "bf16"), rapid.Bool().Draw(t, "acc"),
				kind(rapid.IntRange(0, int(kinds-1)).Draw(t, "kind"))
			equal(t, "out", runProduct(s, d, bf16, acc, kind), runProduct(definition(s.Order()), d, bf16, acc, kind))
		})
	})
}

// The definition in three loops, for numbers away from the ends of the range.
func TestMatMulDefinition(t *testing.T) {
	const M, N, K = 4, 37, 51
	r := random(1)
	x, w := numbers(r, M*K, plain), numbers(r, N*K, plain)
	for _, c := range []struct {
		bf16  bool
		order Order
		fold  func(x, w []float32) float32
	}{{false, Sequential, foldInWords}, {true, Sequential, foldBF16InWords}, {true, Blocked, foldBlocksInWords}} {
		want := make([]float32, M*N)
		for m := range M {
			for n := range N {
				want[m*N+n] = c.fold(x[m*K:m*K+K], w[n*K:n*K+K])
			}
		}
		got := make([]float32, M*N)
		s := definition(c.order)
		p := s.Pack(w, N, K, c.bf16)
		s.MatMul(NewScratch(), got, N, x, K, M, p, 0, p.Count(), false)
		equal(t, fmt.Sprintf("bf16=%t %v", c.bf16, c.order), got, want)
	}
}

func foldInWords(x, w []float32) (sum float32) {
	for k := range x {
		sum = exactFMA(x[k], w[k], sum)
	}
	return sum
}

func foldBF16InWords(x, w []float32) (sum float32) {
	for k := 0; k < len(x); k += 2 {
		if k+1 < len(x) {
			sum += float32(roundBF16(x[k+1]) * roundBF16(w[k+1]))
		}
		sum += float32(roundBF16(x[k]) * roundBF16(w[k]))
	}
	return sum
}

func foldBlocksInWords(x, w []float32) (sum float32) {
	for k0 := 0; k0 < len(x); k0 += 32 {
		var even, odd float32
		for k := k0; k < min(k0+32, len(x)); k++ {
			if k%2 == 0 {
				even += float32(roundBF16(x[k]) * roundBF16(w[k]))
			} else {
				odd += float32(roundBF16(x[k]) * roundBF16(w[k]))
			}
		}
		sum += even + odd
	}
	return sum
}

// Against float64, a product errs by no more than rounding each of its sums: (K+1)/2^24 of the sum of |x*w|, x and w
// as rounded to bf16, of which in practice a hundredth is seen. What bf16 itself costs is in the inputs: each differs
// from the float32 that was given by up to 2^-9 of it.
func TestProductsAreCloseToFloat64(t *testing.T) {
	forEachPath(t, func(t *testing.T, s *Set) {
		const M, N = 3, 40
		for _, K := range []int{32, 130, 1000, 4096} {
			r := random(uint64(K))
			x, w, out := numbers(r, M*K, plain), numbers(r, N*K, plain), make([]float32, M*N)
			p := s.Pack(w, N, K, true)
			s.MatMul(NewScratch(), out, N, x, K, M, p, 0, p.Count(), false)
			for i, got := range out {
				want, size := 0.0, 0.0
				for k := range K {
					v := float64(roundBF16(x[i/N*K+k])) * float64(roundBF16(w[i%N*K+k]))
					want, size = want+v, size+math.Abs(v)
				}
				if bound := float64(K+1) / (1 << 24) * size; math.Abs(float64(got)-want) > bound {
					t.Fatalf("K=%d element %d: %v, float64 %v, off by more than %v", K, i, got, want, bound)
				}
			}
		}
	})
}

// One pair over the whole range of exponents: products, sums and accumulators that are subnormal, cancel or overflow.
func TestBF16StepOverTheWholeRange(t *testing.T) {
	const M, N, K = 64, 64, 2
	forEachFast(t, func(t *testing.T, s *Set) {
		r := random(6)
		for round := range 80 {
			span := [][2]uint32{{0, 255}, {0, 90}, {55, 75}, {120, 135}}[round%4]
			draw := func(n int, low, high uint32) []float32 {
				x := Aligned(n)
				for i := range x {
					x[i] = finite(r, low, high)
				}
				return x
			}
			x, w := draw(M*K, span[0], span[1]), draw(N*K, span[0], span[1])
			got := draw(M*N, 0, 40)
			if round%8 >= 4 {
				got = draw(M*N, span[0], span[1])
			}
			want := clone(got)
			p := s.Pack(w, N, K, true)
			definition(s.Order()).MatMul(NewScratch(), want, N, x, K, M, p, 0, 2, true)
			s.MatMul(NewScratch(), got, N, x, K, M, p, 0, 2, true)
			equal(t, fmt.Sprintf("round %d", round), got, want)
		}
	})
}

// A row's bits do not depend on the rows beside it, on the panels computed with it
// or on the workers.
func TestMatMulIsInvariant(t *testing.T) {
	const M, N, K = 61, 200, 300
	forEachPath(t, func(t *testing.T, s *Set) {
		for _, bf16 := range []bool{false, true} {
			r := random(2)
			x := numbers(r, M*K, plain)
			w := s.Pack(numbers(r, N*K, plain), N, K, bf16)
			want := make([]float32, M*N)
			s.MatMul(NewScratch(), want, N, x, K, M, w, 0, w.Count(), false)
			for _, rows := range []int{1, 5, 13, 14, 15, 29} {
				got := make([]float32, M*N)
				for m := 0; m < M; m += rows {
					s.MatMul(NewScratch(), got[m*N:], N, x[m*K:], K, min(rows, M-m), w, 0, w.Count(), false)
				}
				equal(t, fmt.Sprintf("bf16=%t, %d rows at a time", bf16, rows), got, want)
			}
			for workers := 1; workers <= 4; workers++ {
				pool, got := NewPool(workers), make([]float32, M*N)
				pool.Run(w.Count(), func(p int, sc *Scratch) {
					s.MatMul(sc, got, N, x, K, M, w, p, p+1, false)
				})
				pool.Close()
				equal(t, fmt.Sprintf("bf16=%t, %d workers", bf16, workers), got, want)
			}
		}
	})
}

func TestMatMulOfNothing(t *testing.T) {
	forEachPath(t, func(t *testing.T, s *Set) {
		for _, bf16 := range []bool{false, true} {
			w := s.Pack(nil, 3, 0, bf16) // K = 0: the empty sum
			out := []float32{1, 2, 3}
			s.MatMul(NewScratch(), out, 3, nil, 0, 0, w, 0, 1, false)
			equal(t, "no rows", out, []float32{1, 2, 3})
			s.MatMul(NewScratch(), out, 3, nil, 0, 1, w, 0, 1, true)
			equal(t, "continued", out, []float32{1, 2, 3})
			s.MatMul(NewScratch(), out, 3, nil, 0, 1, w, 0, 1, false)
			equal(t, "begun", out, make([]float32, 3))
		}
	})
}
