package kernel

import (
	"math"
	"unsafe"
)

func (f *family) toInts(dst []int16, x []float32) (scale float32) {
	whole := len(x) / 16 * 16
	if whole == 0 {
		return portable{}.toInts(dst, x)
	}
	a := avx2MaxBits(whole/8, &x[0])
	for _, v := range x[whole:] {
		a = math.Float32frombits(max(math.Float32bits(a), math.Float32bits(v)&0x7fffffff))
	}
	scale, inverse := scales([]float32{a}, topInput)
	clear(dst[whole:])
	if inverse == 0 {
		clear(dst)
		return scale
	}
	avx2ToInts(whole/16, (*float32)(unsafe.Pointer(&dst[0])), &x[0], inverse)
	for k := whole; k < len(x); k++ {
		dst[place(k)] = int16(nearest(float32(x[k] * inverse)))
	}
	return scale
}

// sumInts takes as many rows as stay in the second cache, panel after panel, and in each block after block, which is
// multiplied with all tiles of the rows.
func (f *family) sumInts(sc *Scratch, out []float32, ldo int, x *Ints, m0, m1 int, w *Quads, p0, p1 int) {
	if w.Groups != nil && m1-m0 == 1 {
		f.sumNibbles(sc, out[m0*ldo:], x, m0, w, p0, p1)
		return
	}
	p := f.newProduct(sc, f.ints, out[m0*ldo:], ldo, m1-m0)
	p.width, p.ahead = x.ldp/2, aheadFar
	steps := w.steps()
	for t0 := 0; t0 < p.tiles.count; t0 += p.tiles.block {
		t1 := min(t0+p.tiles.block, p.tiles.count)
		p.first = p.tiles.start(t0)
		for q := p0; q < p1; q++ {
			for s := 0; s < steps; s += blockQuads {
				p.a = x.buf[(m0+p.first)*p.width+2*s:]
				n := min(blockQuads, steps-s)
				b := first(asFloats(w.rows(f, &sc.quads, q, s, n)))
				p.multiply(t0, t1, n, b, q*NR, min(NR, w.N-q*NR), s > 0)
			}
		}
	}
}

func (f *family) widenQuads(dst, src []uint32) {
	if n := len(src) / NR; n > 0 {
		_ = dst[2*n*NR-1]
		avx2WidenQuads(n, (*float32)(unsafe.Pointer(&dst[0])), (*float32)(unsafe.Pointer(&src[0])))
	}
}

func (f *family) unpackQuads(dst, src, groups []uint32) {
	if n := len(groups) / groupWords; n > 0 {
		_, _ = dst[n*groupQuads*NR-1], src[n*groupQuads/2*NR-1]
		avx2UnpackQuads(n, (*float32)(unsafe.Pointer(&dst[0])), (*float32)(unsafe.Pointer(&src[0])),
			(*float32)(unsafe.Pointer(&groups[0])))
	}
}
