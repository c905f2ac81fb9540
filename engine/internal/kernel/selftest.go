package kernel

import (
	"errors"
	"fmt"
	"math"
	"sync"
)

// Best returns the fastest kernels of this processor for order o that give the portable bits. If a path fails its
// self-test, the set is one of a lower path and the error says which kernel differed: a warning to print, since the
// set is always usable. A process tests the paths once, at its first call for an order; later calls return the same.
func Best(o Order) (*Set, error) { return best[o]() }

// best holds the result of choose for each order.
var best = [...]func() (*Set, error){
	Sequential: sync.OnceValues(func() (*Set, error) { return choose(Sequential) }),
	Blocked:    sync.OnceValues(func() (*Set, error) { return choose(Blocked) }),
}

// choose tests the paths of this processor, the fastest first.
func choose(o Order) (*Set, error) {
	var sets []*Set
	for p := Detect(); p > Portable; p-- {
		if p.offers(o) {
			sets = append(sets, fast(p, o))
		}
	}
	return firstRight(sets, o)
}

// firstRight returns the first of sets of order o that gives the portable bits, or the definition.
func firstRight(sets []*Set, o Order) (*Set, error) {
	var warnings []error
	want := definition(o).results()
	for _, s := range sets {
		err := s.compare(want)
		if err == nil {
			return preferred(s, want), errors.Join(warnings...)
		}
		warnings = append(warnings, fmt.Errorf("%w; a lower path is used", err))
	}
	return definition(o), errors.Join(warnings...)
}

// SelfTest compares every kernel of the set with the portable one, bit for bit, on
// small inputs of all magnitudes. It takes some milliseconds.
func (s *Set) SelfTest() error { return s.compare(definition(s.order).results()) }

// results returns the results of every probe.
func (s *Set) results() [][]float32 {
	results := make([][]float32, len(probes))
	for i, p := range probes {
		results[i] = p.run(s)
	}
	return results
}

// compare runs the probes and returns an error at the first difference.
func (s *Set) compare(want [][]float32) error {
	for i, p := range probes {
		for j, got := range p.run(s) {
			if !sameBits(got, want[i][j]) {
				return fmt.Errorf("kernel: %s of path %v gives %x at element %d, the portable definition %x",
					p.name, s.path, math.Float32bits(got), j, math.Float32bits(want[i][j]))
			}
		}
	}
	return nil
}

// sameBits reports whether two results are the same; all NaNs are equal.
func sameBits(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

// noise returns n numbers spread over 2^-spread … 2^spread, of both signs, from a
// fixed linear congruential sequence (Knuth's MMIX constants).
func noise(n int, spread uint64, seed uint64) []float32 {
	x := Aligned(n)
	for i := range x {
		seed = seed*6364136223846793005 + 1442695040888963407
		exponent := int(seed>>40%(2*spread+1)) - int(spread)
		x[i] = float32(math.Ldexp(float64(int32(seed>>32))/(1<<31), exponent))
	}
	return x
}

// probe is one kernel at one size.
type probe struct {
	name string
	run  func(s *Set) []float32
}

// probes covers each kernel once, with odd sizes, edge tiles and tiny numbers.
var probes = []probe{
	{"float32 MatMul", func(s *Set) []float32 { return matMulProbe(s, false, 0) }},
	{"bf16 MatMul", func(s *Set) []float32 { return matMulProbe(s, true, 0) }},
	{"bf16 MatMul of tiny numbers", func(s *Set) []float32 { return matMulProbe(s, true, -63) }},
	{"products with pieces", piecesProbe},
	{"GradW", gradProbe},
	{"gradients by bf16 products", bf16GradProbe},
	{"the vector kernels", vectorProbe},
	{"rotation", rotationProbe},
	{"packing", packProbe},
	{"products with int8", func(s *Set) []float32 { return intsProbe(s, 8, 9) }},
	{"products with int4", func(s *Set) []float32 { return intsProbe(s, 4, 3) }},
}

// matMulProbe multiplies matrices whose numbers are near 2^shift.
func matMulProbe(s *Set, bf16 bool, shift int) []float32 {
	const M, N, K = 6, 70, 259
	x, w, out := noise(M*K, 4, 1), noise(N*K, 4, 2), noise(M*N, 4, 3)
	scale := func(x []float32, shift int) { portable{}.scale(x, float32(math.Ldexp(1, shift))) }
	scale(x, shift)
	scale(w, shift)
	scale(out, 2*shift)
	p := s.Pack(w, N, K, bf16)
	s.MatMul(NewScratch(), out, N, x, K, M, p, 0, p.Count(), true)
	return out
}

// piecesProbe multiplies with the pages of a head: keys, then values.
func piecesProbe(s *Set) []float32 {
	const M, K, count = 5, 64, 3
	x, p, out := noise(M*K, 4, 1), Aligned(M*count*PageLen), Aligned(M*K)
	w := Pieces{BF16: true}
	for i := range count {
		page := s.Pack(noise(PageLen*K, 4, uint64(2+i)), PageLen, K, true)
		w.Data = append(w.Data, asFloats(page.Pairs))
	}
	s.MatMulRows(NewScratch(), p, w.Len(), x, K, M, K, &w)
	s.MatMulColumns(NewScratch(), out, K, p, w.Len(), M, K, &w)
	return append(p, out...)
}

func gradProbe(s *Set) []float32 {
	const T, N, K = 37, 19, 70
	out := noise(N*K, 4, 1)
	s.GradW(NewScratch(), out, K, noise(T*N, 4, 2), N, noise(T*K, 4, 3), K, T, 1, N, K)
	return out
}

// bf16GradProbe continues a gradient and its transpose with two stretches of rows.
func bf16GradProbe(s *Set) []float32 {
	const T, N, K = 53, 19, 70
	rows, dy, x := Stretches{0, 37, T}, noise(T*N, 4, 2), noise(T*K, 4, 3)
	out, back := noise(N*K, 4, 1), noise(N*K, 4, 4)
	var in Input
	s.PackColumns(NewScratch(), &in, dy, N, N, rows)
	w := s.PairRows(&Transposed{}, x, K, rows, 0, K)
	s.Multiply(NewScratch(), out, K, &in, 0, N, w, 0, w.Count(), true, nil)
	s.MultiplyColumns(NewScratch(), back, N, &in, w)
	return append(out, back...)
}

func vectorProbe(s *Set) []float32 {
	const n = 83
	x, y, z := noise(n, 6, 1), noise(n, 6, 2), noise(n, 6, 3)
	out := Aligned(8 * n)
	part := func(i int) []float32 { return out[i*n : (i+1)*n] }
	sums := []float32{s.Dot(x, y), s.SumSq(x), s.Max(x), s.LogSumExp(x)}
	sums = append(sums, s.ExpSum(part(0), x, 1.5), s.RMSNorm(part(1), x, y, 1e-6))
	s.SiLUMul(part(2), x, y)
	s.SiLUMulBackward(part(3), part(4), x, y, z)
	copy(part(5), x)
	s.Add(part(5), y)
	s.Scale(part(5), 1.25)
	s.AXPY(part(5), 0.3, z)
	s.Mul(part(6), part(5), y)
	s.SoftmaxGrad(part(7), x, 0.7, sums[3])
	s.RoundBF16(part(6), part(6))
	return append(out, sums...)
}

func rotationProbe(s *Set) []float32 {
	const n = 2 * 45
	out := noise(n, 6, 1)
	s.Rotate(out, out, noise(n, 1, 2), 1)
	s.Rotate(out, out, noise(n, 1, 3), -1)
	return out
}

// packProbe packs a file's bits and floats, transposes some rows, and reads them back.
func packProbe(s *Set) []float32 {
	const N, K = 70, 131
	var out []float32
	sc, w := NewScratch(), noise(N*K, 70, 1)
	for _, e := range []Element{ElementF32, ElementBF16} {
		for _, bf16 := range []bool{false, true} {
			p := newPanels(N, K, bf16)
			s.PackRows(sc, p, 0, Rows{asBytes(w)[:e.bytes(N*K)], e, K})
			t := s.TransposePart(&Transposed{}, p, NR, N, 0, K)
			back := make([]float32, N*K+t.N*t.K)
			p.Unpack(back)
			t.Unpack(back[N*K:])
			out = append(out, back...)
		}
	}
	return out
}

// intsProbe multiplies M rows, the last one alone, with int8 or int4 and with its transpose.
func intsProbe(s *Set, bits, M int) []float32 {
	const N, K = 70, 1091
	w := s.quantized(noise(N*K, 4, 1), N, K, bits)
	x, dy := noise(M*K, 4, 2), noise(M*N, 4, 3)
	out, back := Aligned(M*N), Aligned(M*K)
	var ints Ints
	s.UseInts(&ints, x, K, M, K)
	s.PackInts(&ints, 0, M)
	s.MultiplyInts(NewScratch(), out, N, &ints, 0, M-1, w, 0, w.Count())
	s.MultiplyInts(NewScratch(), out, N, &ints, M-1, M, w, 0, w.Count())
	var in Input
	s.Use(&in, dy, N, M, N, true)
	s.PackInput(&in, 0, M)
	s.MultiplyIntsTransposed(NewScratch(), back, K, &in, 0, M, w, 0, K)
	return append(out, back...)
}

// quantized returns w [N,K] in int8 or int4.
func (s *Set) quantized(w []float32, N, K, bits int) *Quads {
	q := &Quads{N: N, K: K}
	q.lay(alignedWords(QuadBytes(N, K, bits)/4), bits)
	s.QuantizeRows(NewScratch(), q, 0, FloatRows(w, K))
	return q
}
