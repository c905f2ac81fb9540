package kernel

import "runtime"

// PackT packs Wᵀ [K,N] from w, row-major [N,K]: the panels of dX = dY·W.
func (s *Set) PackT(w []float32, N, K int, bf16 bool) *Panels {
	if bf16 {
		return s.Transpose(s.Pack(w, N, K, true))
	}
	t := newPanels(K, N, false)
	for n := range N {
		row := w[n*K : n*K+K]
		for k := 0; k < K; k += NR {
			copy(t.F32[t.index(k, n):], row[k:min(k+NR, K)])
		}
	}
	return t
}

// Transpose returns the panels of Wᵀ.
func (s *Set) Transpose(p *Panels) *Panels {
	t := newPanels(p.K, p.N, p.BF16)
	s.transpose(t, p, 0)
	return t
}

// TransposeRows returns the panels of the transpose of rows n0 to n1-1 of W: [K, n1-n0]. n0 is a multiple of 32. They lie in
// sc, until the next call with it.
func (s *Set) TransposeRows(sc *Scratch, p *Panels, n0, n1 int) *Panels {
	t := &sc.turned
	*t = Panels{N: p.K, K: n1 - n0, BF16: p.BF16}
	data := grow(&sc.turn, t.words())
	if t.BF16 {
		t.Pairs = asWords(data)
	} else {
		t.F32 = data
	}
	s.transpose(t, p, n0)
	return t
}

// transpose writes the transpose of t.K rows of p from n0 on to t.
func (s *Set) transpose(t, p *Panels, n0 int) {
	for n := 0; n < t.K; n += NR {
		if p.BF16 {
			s.turnPairs(t, p, n0, n)
		} else {
			s.turnFloats(t, p, n0, n)
		}
	}
	runtime.KeepAlive(p)
}

// turnFloats is transpose for the panel of rows n0+n to n0+n+31.
func (s *Set) turnFloats(t, p *Panels, n0, n int) {
	rows := min(NR, t.K-n)
	for k := 0; k < p.K; k += NR {
		dst, src := asWords(t.F32[t.index(k, n):]), asBytes(p.F32[p.index(n0+n, k):])
		cols := min(NR, p.K-k)
		s.ops.packWords(dst, src, 4*NR, cols, rows, false)
		for i := 0; cols < NR && i < rows; i++ {
			clear(dst[i*NR+cols : (i+1)*NR])
		}
	}
}

// turnPairs is turnFloats for bf16, whose panels have whole blocks: what is missing is zero in both.
func (s *Set) turnPairs(t, p *Panels, n0, n int) {
	if blocks := p.steps() / blockPairs; blocks > 0 {
		s.ops.transposePairs(t.Pairs[t.index(0, n):], p.Pairs[p.index(n0+n, 0):], blocks, t.steps()*NR)
	}
}

// turnBlock takes 16 rows of pairs of k, for 32 columns n, to 16 rows of pairs of n, for 32 columns k.
func turnBlock(dst, src []uint32) {
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
