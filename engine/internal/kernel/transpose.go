package kernel

import "runtime"

// Transposed is a part of a matrix, transposed. The zero value is ready; it keeps its memory.
type Transposed struct {
	panels Panels
	data   []float32
	rows   []float32 // of Quads in 4 bits, unpacked
	wide   []float32 // of Quads, before it is transposed
}

// TransposePart returns the panels of the transpose of rows n0 to n1-1 and columns k0 to k1-1 of W: [k1-k0, n1-n0]. n0
// and k0 are multiples of 32, and so are n1 and k1 unless they are W's own ends. They are in the memory of to, and
// valid until the next call with it.
func (s *Set) TransposePart(to *Transposed, p *Panels, n0, n1, k0, k1 int) *Panels {
	t := &to.panels
	*t = Panels{N: k1 - k0, K: n1 - n0, BF16: p.BF16}
	data := grow(&to.data, t.words())
	if t.BF16 {
		t.Pairs = asWords(data)
	} else {
		t.F32 = data
	}
	for n := 0; n < t.K; n += NR {
		if p.BF16 {
			s.transposePairs(t, p, n0, n, k0)
		} else {
			s.transposeFloats(t, p, n0, n, k0)
		}
	}
	runtime.KeepAlive(p)
	return t
}

// transposeFloats is TransposePart for the panel of rows n0+n to n0+n+31.
func (s *Set) transposeFloats(t, p *Panels, n0, n, k0 int) {
	rows := min(NR, t.K-n)
	for k := 0; k < t.N; k += NR {
		dst, src := asWords(t.F32[t.index(k, n):]), asBytes(p.F32[p.index(n0+n, k0+k):])
		cols := min(NR, t.N-k)
		s.ops.packWords(dst, src, 4*NR, cols, rows, false)
		for i := 0; cols < NR && i < rows; i++ {
			clear(dst[i*NR+cols : (i+1)*NR])
		}
	}
}

// transposePairs is transposeFloats for bf16, whose panels have whole blocks: missing elements are zero in both.
func (s *Set) transposePairs(t, p *Panels, n0, n, k0 int) {
	if blocks := t.Count(); blocks > 0 {
		ahead := 0 // the next panel is read next
		if n+NR < t.K {
			ahead = p.stride() * NR
		}
		s.ops.transposePairs(t.Pairs[t.index(0, n):], p.Pairs[p.index(n0+n, k0):], blocks, t.steps()*NR, ahead)
	}
}

// transposeBlock converts 16 rows of pairs of k, for 32 columns n, to 16 rows of pairs of n, for 32 columns k.
func transposeBlock(dst, src []uint32) {
	var block [NR / 2 * NR]uint32
	for k := range NR / 2 {
		row := (*[NR]uint32)(src[k*NR:])
		for n := range NR / 2 {
			low, high := row[2*n], row[2*n+1]
			block[n*NR+2*k] = low&0xffff | high<<16
			block[n*NR+2*k+1] = low>>16 | high&0xffff0000
		}
	}
	copy(dst, block[:])
}
