package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// Products of any packed rows with any panels, with additions inside, have the bits of products one after another.
func TestMultiply(t *testing.T) {
	forEachPath(t, func(t *testing.T, s *Set) {
		r := random(12)
		for _, bf16 := range []bool{false, true} {
			for range 12 {
				d := newMultiplication(r, s, bf16)
				for range 4 {
					d.part(t, r)
				}
			}
			if s.Path() != Portable || !bf16 && !testing.Short() { // portable bf16 is computed bit by bit
				// more rows and columns than are multiplied at once, and than stay in a cache
				newShaped(r, s, bf16, 530, 64, 2112).part(t, r)
				newShaped(r, s, bf16, 70, 1100, 700).part(t, r) // more of both than are transposed at once
			}
		}
	})
}

// multiplication is one product x·Wᵀ or x·W with additions, and its expected bits.
type multiplication struct {
	s                *Set
	bf16             bool
	M, N, K          int
	x                []float32
	w                *Panels
	more, transposed []Addition
	acc              bool
	start, starts    []float32
}

func newMultiplication(r *rand.Rand, s *Set, bf16 bool) *multiplication {
	return newShaped(r, s, bf16, 1+r.IntN(90), 1+r.IntN(150), 1+r.IntN(150))
}

func newShaped(r *rand.Rand, s *Set, bf16 bool, M, N, K int) *multiplication {
	d := &multiplication{s: s, bf16: bf16, M: M, N: N, K: K, acc: r.IntN(2) == 0}
	d.x = numbers(r, M*max(N, K), plain)
	d.w = s.Pack(numbers(r, N*K, plain), N, K, bf16)
	d.start, d.starts = numbers(r, M*N, plain), numbers(r, M*K, plain)
	start, most := r.IntN(3), 40
	switch r.IntN(3) {
	case 0: // one addition to all rows
		start, most = 0, 1<<20
	case 1: // some to so few rows that they are not packed
		most = 4
	}
	for from := start; from < M; { // stretches of rows, some without an addition
		rows, rank := min(1+r.IntN(most), M-from), 1+r.IntN(40)
		if start == 0 && most > M {
			rows = M
		}
		first := r.IntN((N+NR-1)/NR) * NR
		to := min(N, first+1+r.IntN(100))
		d.more = append(d.more, Addition{from, first, d.pack(numbers(r, rows*rank, plain), rank, rows, rank),
			s.Pack(numbers(r, (to-first)*rank, plain), to-first, rank, bf16)})
		d.transposed = append(d.transposed, Addition{from, 0, d.pack(numbers(r, rows*rank, plain), rank, rows, rank),
			s.Pack(numbers(r, rank*K, plain), rank, K, bf16)})
		from += rows + r.IntN(3)
	}
	return d
}

func (d *multiplication) pack(x []float32, ld, M, K int) *Input {
	in := new(Input)
	d.s.Use(in, x, ld, M, K, d.bf16)
	d.s.PackInput(in, 0, min(M, InputRows))
	d.s.PackInput(in, min(M, InputRows), M)
	return in
}

// part multiplies some rows with some panels.
func (d *multiplication) part(t *testing.T, r *rand.Rand) {
	t.Helper()
	m0 := r.IntN(d.M)
	if r.IntN(2) == 0 {
		m0 -= m0 % InputRows
	}
	m1 := m0 + 1 + r.IntN(d.M-m0)
	p0 := r.IntN(d.w.Count())
	p1 := p0 + 1 + r.IntN(d.w.Count()-p0)
	what := fmt.Sprintf("%d×%d×%d bf16=%t rows %d:%d panels %d:%d of ", d.M, d.N, d.K, d.bf16, m0, m1, p0, p1)

	got := append([]float32(nil), d.start...)
	d.s.Multiply(NewScratch(), got, d.N, d.pack(d.x, d.K, d.M, d.K), m0, m1, d.w, p0, p1, d.acc, d.more)
	want := append([]float32(nil), d.start...)
	d.definition(want, d.N, d.w, m0, m1, p0*NR, min(p1*NR, d.N), d.more)
	equal(t, what+"Multiply", got, want)

	k0 := r.IntN((d.K+NR-1)/NR) * NR
	k1 := min(d.K, k0+(1+r.IntN(24))*NR)
	got = append([]float32(nil), d.starts...)
	d.s.MultiplyTransposed(NewScratch(), got, d.K, d.pack(d.x, d.N, d.M, d.N), m0, m1, d.w, k0, k1, d.acc, d.transposed)
	want = append([]float32(nil), d.starts...)
	var flat []Addition
	for _, a := range d.transposed {
		a.W = d.transpose(a.W)
		flat = append(flat, a)
	}
	d.definition(want, d.K, d.transpose(d.w), m0, m1, k0, k1, flat)
	equal(t, what+"MultiplyTransposed", got, want)
}

func (d *multiplication) transpose(w *Panels) *Panels {
	return d.s.TransposePart(&Transposed{}, w, 0, w.N, 0, w.K)
}

// definition computes columns [n0,n1) of rows [m0,m1) row by row, each product by itself.
func (d *multiplication) definition(out []float32, N int, w *Panels, m0, m1, n0, n1 int, more []Addition) {
	def := definition(d.s.Order())
	row := func(m int, x []float32, w *Panels, first int, acc bool) {
		from, to := max(n0, first), min(n1, first+w.N)
		if from >= to {
			return
		}
		whole := append([]float32(nil), out[m*N+first:][:w.N]...)
		def.MatMul(NewScratch(), whole, w.N, x, w.K, 1, w, (from-first)/NR, (to-first+NR-1)/NR, acc)
		copy(out[m*N+from:m*N+to], whole[from-first:])
	}
	for m := m0; m < m1; m++ {
		row(m, d.x[m*w.K:][:w.K], w, 0, d.acc)
		for _, a := range more {
			if r := m - a.From; r >= 0 && r < a.X.M {
				row(m, a.X.x[r*a.X.ld:][:a.X.K], a.W, a.First, true)
			}
		}
	}
}
