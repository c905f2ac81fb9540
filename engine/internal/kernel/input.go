package kernel

import "runtime"

// Input is a matrix x [M,K] in the form that products read: packed once, by any number of workers, for any number of
// products. The zero value is ready for Use; an Input reuses its memory.
type Input struct {
	M, K int

	x  []float32 // the original memory, if the path reads it unpacked
	ld int
	// Rows rounded to bf16 in the form of the path's kernels: step words for one row or, for tiles, for 32 rows, and
	// within them block words for 32 k. Missing elements are zero.
	packed      []float32
	step, block int
	buf         []float32

	transposed []float32 // x, if PackColumns made it
}

// InputRows is the number of rows that Pack and Multiply take as a unit.
const InputRows = 32

// inputPacker is a path that packs rows for bf16 products.
type inputPacker interface {
	packedSize(M, K int) (words, step, block int) // of x [M,K]; 0 if it needs no packing
	packInput(in *Input, from, to int)
	multiply(sc *Scratch, out []float32, ldo int, x *Input, m0, m1 int, w *Panels, p0, p1 int, acc bool,
		more []Addition)
	inside(a *Addition) bool // multiply adds a too
}

// transposer is an inputPacker that has its own method to multiply by W itself.
type transposer interface {
	multiplyTransposed(sc *Scratch, out []float32, ldo int, x *Input, m0, m1 int, w *Panels, k0, k1 int, acc bool,
		more []Addition)
}

// Use points in at x [M,K], whose rows are ld floats apart, for products with bf16 or float32 panels. Pack must
// follow.
func (s *Set) Use(in *Input, x []float32, ld, M, K int, bf16 bool) {
	in.M, in.K, in.x, in.ld, in.packed = M, K, x, ld, nil
	if s.packer == nil || !bf16 || K == 0 {
		return
	}
	words, step, block := s.packer.packedSize(M, K)
	if words > 0 {
		in.packed, in.step, in.block = grow(&in.buf, words), step, block
	}
}

// PackInput packs rows to to-1; from is a multiple of InputRows, and so is to unless it is M. Different rows may be
// packed at once.
func (s *Set) PackInput(in *Input, from, to int) {
	if in.packed != nil && from < to {
		s.packer.packInput(in, from, to)
	}
}

// Columns returns columns k0 to k1-1; both are multiples of 32 unless k1 is K.
func (in *Input) Columns(k0, k1 int) Input {
	part := Input{M: in.M, K: k1 - k0, x: in.x[min(k0, len(in.x)):], ld: in.ld, step: in.step, block: in.block}
	if in.packed != nil {
		part.packed = in.packed[k0/(2*blockPairs)*in.block:]
	}
	return part
}

// Addition is a product that continues another one: X·Wᵀ is added to rows From to From+X.M-1 of its output, from
// column First on. First is a multiple of 32.
type Addition struct {
	From, First int
	X           *Input
	W           *Panels
}

// overlap returns the panels of a in panels [p0,p1) of the product, and the rows of a in its rows [m0,m1).
func (a *Addition) overlap(p0, p1, m0, m1 int) (q0, q1, r0, r1 int) {
	first := a.First / NR
	return max(p0-first, 0), min(p1-first, a.W.Count()), max(m0-a.From, 0), min(m1-a.From, a.X.M)
}

// Multiply is MatMul for rows m0 to m1-1 of x and out, with panels of the kind x was packed for:
//
//	out[m,n] = (acc ? out[m,n] : 0) folded with x[m,k]*w[n,k], and with what more adds, in that order
//
// The bits are those of products one after another.
func (s *Set) Multiply(sc *Scratch, out []float32, ldo int, x *Input, m0, m1 int, w *Panels, p0, p1 int, acc bool,
	more []Addition) {
	if m0 >= m1 || p0 >= p1 {
		return
	}
	if m1 > x.M || w.K != x.K {
		panic("kernel: Multiply: the input has other rows or columns than the product")
	}
	_ = out[(m1-1)*ldo+min(p1*NR, w.N)-1]
	if x.packed != nil {
		s.packer.multiply(sc, out, ldo, x, m0, m1, w, p0, p1, acc, more)
	} else {
		s.MatMul(sc, out[m0*ldo:], ldo, x.x[min(m0*x.ld, len(x.x)):], x.ld, m1-m0, w, p0, p1, acc)
	}
	for i := range more {
		if x.packed == nil || !s.packer.inside(&more[i]) {
			s.addition(sc, out, ldo, &more[i], m0, m1, p0, p1)
		}
	}
	runtime.KeepAlive(w)
	runtime.KeepAlive(more)
}

// addition continues rows [m0,m1) and panels [p0,p1) of a product with a, by a separate product.
func (s *Set) addition(sc *Scratch, out []float32, ldo int, a *Addition, m0, m1, p0, p1 int) {
	q0, q1, r0, r1 := a.overlap(p0, p1, m0, m1)
	if q0 < q1 && r0 < r1 {
		s.Multiply(sc, out[a.From*ldo+a.First:], ldo, a.X, r0, r1, a.W, q0, q1, true, nil)
	}
}

// transposeRows and transposeCols are the size of the part of W that is transposed at once: with 512 KiB in bf16 it
// stays in the second cache together with the rows it is multiplied with.
const transposeRows, transposeCols = 1024, 256

// MultiplyTransposed is Multiply by W itself: out [M,w.K] = x [M,w.N]·W plus the additions in more, for columns
// [k0,k1) of W, multiples of 32 unless k1 is w.K. The panels of Wᵀ are made for a part of W at a time, and the sums
// continue from one part to the next, in out or in the path's own memory. A second copy of the weights would cost more
// than transposing them.
func (s *Set) MultiplyTransposed(sc *Scratch, out []float32, ldo int, x *Input, m0, m1 int, w *Panels, k0, k1 int,
	acc bool, more []Addition) {
	if t, ok := s.packer.(transposer); ok && x.packed != nil && m0 < m1 {
		t.multiplyTransposed(sc, out, ldo, x, m0, m1, w, k0, k1, acc, more)
		return
	}
	for n := 0; n < w.N; n += transposeRows {
		last := n+transposeRows >= w.N
		part := x.Columns(n, min(n+transposeRows, w.N))
		for k := k0; k < k1; k += transposeCols {
			to := min(k+transposeCols, k1)
			wt := s.TransposePart(sc.transposedAt(0), w, n, min(n+transposeRows, w.N), k, to)
			var transposed []Addition
			if last {
				transposed = s.transposeAdditions(sc, more, k, to)
			}
			s.Multiply(sc, out[k:], ldo, &part, m0, m1, wt, 0, wt.Count(), acc || n > 0, transposed)
		}
	}
}

// transposeAdditions returns the additions of columns [k0,k1) transposed; they are valid until the next call.
func (s *Set) transposeAdditions(sc *Scratch, more []Addition, k0, k1 int) []Addition {
	sc.more = sc.more[:0]
	for i, a := range more {
		a.W, a.First = s.TransposePart(sc.transposedAt(1+i), a.W, 0, a.W.N, k0, k1), 0
		sc.more = append(sc.more, a)
	}
	return sc.more
}

// MultiplyIntsTransposed is MultiplyTransposed by the integers of w, without their scales and without additions.
func (s *Set) MultiplyIntsTransposed(sc *Scratch, out []float32, ldo int, x *Input, m0, m1 int, w *Quads, k0, k1 int) {
	for n := 0; n < w.N; n += transposeRows {
		part := x.Columns(n, min(n+transposeRows, w.N))
		for k := k0; k < k1; k += transposeCols {
			to := min(k+transposeCols, k1)
			wt := s.TransposeQuads(sc.transposedAt(0), w, n, min(n+transposeRows, w.N), k, to)
			s.Multiply(sc, out[k:], ldo, &part, m0, m1, wt, 0, wt.Count(), n > 0, nil)
		}
	}
}
