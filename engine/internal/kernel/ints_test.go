package kernel

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// products returns x·Wᵀ by the set's kernels, a panel range at a time.
func (s *Set) products(x []float32, M int, w *Quads, cut int) []float32 {
	out := Aligned(M * w.N)
	var in Ints
	s.UseInts(&in, x, w.K, M, w.K)
	s.PackInts(&in, 0, M/2)
	s.PackInts(&in, M/2, M)
	for _, p := range [][2]int{{0, cut}, {cut, w.Count()}} {
		s.MultiplyInts(NewScratch(), out, w.N, &in, 0, M, w, p[0], p[1])
	}
	return out
}

// The formulas worked out by hand: 127 and -64 steps of 1/127, inputs of 2 and 1.
func TestProductsWithInt8(t *testing.T) {
	s := reference()
	w := s.quantized([]float32{1, -0.5, 0, 0, 3, 3}, 3, 2, 8)
	if got := []int8{w.at(0, 0), w.at(0, 1), w.at(1, 0), w.at(2, 1)}; got[0] != 127 || got[1] != -64 || got[2] != 0 ||
		got[3] != 127 {
		t.Errorf("q = %v, want 127 -64 0 127", got)
	}
	sum := float32(32512*127 - 16256*64)
	third := float32(3) / 127
	equal(t, "products", s.products([]float32{2, 1}, 1, w, 0), []float32{
		float32(sum*(float32(2)/32512)) * (float32(1) / 127), 0,
		float32(float32(32512*127+16256*127)*(float32(2)/32512)) * third})
	row := make([]float32, 2)
	w.Row(row, 0)
	equal(t, "row", row, []float32{127 * (float32(1) / 127), -64 * (float32(1) / 127)})
}

// The largest sums of a block fit into an int32, on every path.
func TestLargestSums(t *testing.T) {
	forEachPath(t, func(t *testing.T, s *Set) {
		const K = 2 * 4 * blockQuads
		ones := make([]float32, K)
		for i := range ones {
			ones[i] = -1
		}
		for _, bits := range []int{8, 4} {
			got := s.products(ones, 1, s.quantized(ones, 1, K, bits), 0)
			if want := float32(K); math.Abs(float64(got[0]-want)) > 1e-3 {
				t.Errorf("%d bits: the sum of %d ones is %v", bits, K, got[0])
			}
		}
	})
}

// Every path gives the definition's bits, for any rows, panels and numbers, and a row does not depend on the others.
func TestPathsMultiplyIntsAlike(t *testing.T) {
	forEachFast(t, func(t *testing.T, s *Set) {
		sets := []*Set{s}
		for _, f := range intFamilies() {
			sets = append(sets, &Set{path: s.path, order: s.order, ops: f})
		}
		rapid.Check(t, func(t *rapid.T) {
			M, N := rapid.IntRange(1, 33).Draw(t, "M"), rapid.IntRange(1, 100).Draw(t, "N")
			K := rapid.SampledFrom([]int{1, 3, 16, 33, 64, 130, 512, 513, 1088}).Draw(t, "K")
			bits := rapid.SampledFrom([]int{8, 4}).Draw(t, "bits")
			kind := kind(rapid.IntRange(0, int(kinds-1)).Draw(t, "kind"))
			r := random(uint64(M*10000 + N*100 + K))
			x, weights := numbers(r, M*K, kind), numbers(r, N*K, kind)
			want := reference()
			w := want.quantized(weights, N, K, bits)
			cut := rapid.IntRange(0, w.Count()).Draw(t, "cut")
			whole := want.products(x, M, w, 0)
			for _, s := range sets {
				equal(t, "products", s.products(x, M, w, cut), whole)
			}
			m := M - 1
			equal(t, "last row", s.products(x[m*K:], 1, w, cut), whole[m*N:])
		})
	})
}

// A product with the transpose of the integers is the one with their bf16 panels.
func TestProductsWithTransposedInts(t *testing.T) {
	forEachPath(t, func(t *testing.T, s *Set) {
		for _, bits := range []int{8, 4} {
			multipliesTransposed(t, s, bits)
		}
	})
}

func multipliesTransposed(t *testing.T, s *Set, bits int) {
	const M, N, K = 5, 1100, 70
	r := random(1)
	w, dy := s.quantized(numbers(r, N*K, plain), N, K, bits), numbers(r, M*N, plain)
	integers := make([]float32, N*K)
	for i := range integers {
		integers[i] = float32(w.at(i/K, i%K))
	}
	got, want := Aligned(M*K), Aligned(M*K)
	var in Input
	s.Use(&in, dy, N, M, N, true)
	s.PackInput(&in, 0, M)
	s.MultiplyIntsTransposed(NewScratch(), got, K, &in, 0, M, w, 0, 32)
	s.MultiplyIntsTransposed(NewScratch(), got, K, &in, 0, M, w, 32, K)
	s.MultiplyTransposed(NewScratch(), want, K, &in, 0, M, s.Pack(integers, N, K, true), 0, K, false, nil)
	equal(t, "dx", got, want)
}
