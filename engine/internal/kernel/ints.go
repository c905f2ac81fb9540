package kernel

import "runtime"

// Ints is a matrix x [M,K] in int16 for products with Quads: x[m,k] is about t[m]·p[m,k].
//
//	a = max over k of |x[m,k]| ; t[m] = a/32512 ; p[m,k] = x[m,k]·(32512/a), rounded to nearest even
//
// A row below 2⁻¹⁰⁰ is zeros, and a row with an infinity or a NaN is all NaN. The zero value is ready for UseInts.
type Ints struct {
	M, K int

	x  []float32
	ld int
	p  []int16 // [M][ldp]: k, k+2, k+1, k+3 of each four, zeros from K on
	t  []float32

	ldp  int
	buf  []float32
	tBuf []float32
}

// UseInts points in at x [M,K], whose rows are ld floats apart. PackInts must follow.
func (s *Set) UseInts(in *Ints, x []float32, ld, M, K int) {
	in.M, in.K, in.x, in.ld = M, K, x, ld
	in.ldp = 4*quadSteps(K) + 2*lanes // not a multiple of a large power of 2, as in copyRows
	in.p = asInts(grow(&in.buf, M*in.ldp/2))
	in.t = grow(&in.tBuf, M)
}

// PackInts converts rows from to to-1. Different rows may be converted at once.
func (s *Set) PackInts(in *Ints, from, to int) {
	for m := from; m < to; m++ {
		in.t[m] = s.ops.toInts(in.p[m*in.ldp:][:4*quadSteps(in.K)], in.x[m*in.ld:][:in.K])
	}
}

// MultiplyInts computes rows m0 to m1-1 and panels [p0,p1) of out [M,N] = x·Wᵀ:
//
//	S[b] = sum of p[m,k]·q[n,k] over block b of 512 k, an int32, in any order
//	f = float32(S[0]) ; f = f + float32(S[b]) for b = 1, 2, … ; out[m,n] = (f·t[m])·Scales[n]
//
// The sums are exact, so every path gives the same bits whatever its order.
func (s *Set) MultiplyInts(sc *Scratch, out []float32, ldo int, x *Ints, m0, m1 int, w *Quads, p0, p1 int) {
	if m0 >= m1 || p0 >= p1 {
		return
	}
	if m1 > x.M || w.K != x.K {
		panic("kernel: MultiplyInts: the input has other rows or columns than the product")
	}
	_ = out[(m1-1)*ldo+min(p1*NR, w.N)-1]
	s.ops.sumInts(sc, out, ldo, x, m0, m1, w, p0, p1)
	for m := m0; m < m1; m++ {
		n0, n1 := p0*NR, min(p1*NR, w.N)
		row := out[m*ldo+n0:][:n1-n0]
		s.ops.scaleMul(row, row, w.Scales[n0:n1], x.t[m])
	}
	runtime.KeepAlive(w)
}

func (portable) toInts(dst []int16, x []float32) (scale float32) {
	clear(dst)
	scale, inverse := scales(x, topInput)
	if inverse == 0 {
		return scale
	}
	for k, v := range x {
		dst[place(k)] = int16(nearest(float32(v * inverse)))
	}
	return scale
}

// place returns where element k of a row is: the middle two of each four change places.
func place(k int) int { return k&^3 | k&1<<1 | k>>1&1 }

func (portable) sumInts(_ *Scratch, out []float32, ldo int, x *Ints, m0, m1 int, w *Quads, p0, p1 int) {
	for m := m0; m < m1; m++ {
		row := x.p[m*x.ldp:]
		for n := p0 * NR; n < min(p1*NR, w.N); n++ {
			out[m*ldo+n] = w.sum(n, row)
		}
	}
}

// sum returns f of column n.
func (q *Quads) sum(n int, row []int16) (f float32) {
	for b := 0; b < q.K; b += 4 * blockQuads {
		sum := int32(0)
		for k := b; k < min(b+4*blockQuads, q.K); k++ {
			sum += int32(row[place(k)]) * int32(q.at(n, k))
		}
		if b == 0 {
			f = float32(sum)
		} else {
			f += float32(sum)
		}
	}
	return f
}
