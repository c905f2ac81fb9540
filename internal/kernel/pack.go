package kernel

import "math"

// Pack packs w, row-major [N,K], rounding to bf16 if asked.
func (s *Set) Pack(w []float32, N, K int, bf16 bool) *Panels {
	return s.Transpose(s.PackT(w, N, K, bf16))
}

// PackBits packs bf16 values as a file holds them, row-major [N,K]. Subnormals
// become zeros.
func (s *Set) PackBits(w []uint16, N, K int) *Panels {
	return s.Transpose(s.packPairs(N, K, func(dst []float32, n int) {
		for k, b := range w[n*K : n*K+K] {
			dst[k] = Float(b)
		}
	}))
}

// PackT packs Wᵀ [K,N] from w, row-major [N,K]: the panels of dX = dY·W.
func (s *Set) PackT(w []float32, N, K int, bf16 bool) *Panels {
	if bf16 {
		return s.packPairs(N, K, func(dst []float32, n int) { copy(dst, w[n*K:n*K+K]) })
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

// packPairs packs Wᵀ [K,N] in bf16; row writes a row of W [N,K].
func (s *Set) packPairs(N, K int, row func(dst []float32, n int)) *Panels {
	t := newPanels(K, N, true)
	even, odd := Aligned(K), Aligned(K)
	for n := 0; n < N; n += 2 {
		row(even, n)
		s.RoundBF16(even, even)
		if clear(odd); n+1 < N {
			row(odd, n+1)
			s.RoundBF16(odd, odd)
		}
		for k := 0; k < K; k += NR {
			words := t.Pairs[t.index(k, n):]
			for j, v := range even[k:min(k+NR, K)] {
				words[j] = math.Float32bits(v)>>16 | math.Float32bits(odd[k+j])
			}
		}
	}
	return t
}

// Transpose returns the panels of Wᵀ.
func (s *Set) Transpose(p *Panels) *Panels {
	t := newPanels(p.K, p.N, p.BF16)
	for n := 0; n < p.N; n += NR {
		for k := 0; k < p.K; k += NR {
			from, to := p.index(n, k), t.index(k, n)
			if p.BF16 {
				transposePairs(t.Pairs[to:], p.Pairs[from:], (min(NR, p.N-n)+1)/2, (min(NR, p.K-k)+1)/2)
			} else {
				transposeBlock(t.F32[to:], p.F32[from:], min(NR, p.N-n), min(NR, p.K-k))
			}
		}
	}
	return t
}

// transposeBlock sets dst[n*32+k] = src[k*32+n] for n < N and k < K, both at most 32.
func transposeBlock(dst, src []float32, N, K int) {
	var block [NR * NR]float32
	for k := range K {
		row := (*[NR]float32)(src[k*NR:])
		for n, v := range row {
			block[n*NR+k] = v
		}
	}
	copy(dst, block[:N*NR])
}

// transposePairs is transposeBlock for bf16: src has K rows of pairs of k, dst N rows
// of pairs of n.
func transposePairs(dst, src []uint32, N, K int) {
	var block [NR / 2 * NR]uint32
	for k := range K {
		row := (*[NR]uint32)(src[k*NR:])
		for n := range NR / 2 {
			low, high := row[2*n], row[2*n+1]
			block[n*NR+2*k] = low&0xffff | high<<16
			block[n*NR+2*k+1] = low>>16 | high&0xffff0000
		}
	}
	copy(dst, block[:N*NR])
}
