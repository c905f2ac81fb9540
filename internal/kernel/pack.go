package kernel

// Pack packs w, row-major [N,K], rounding to bf16 if asked.
func (s *Set) Pack(w []float32, N, K int, bf16 bool) *Panels {
	return s.Transpose(s.PackT(w, N, K, bf16))
}

// PackBits packs bf16 values as a file holds them, row-major [N,K]. Subnormals
// become zeros.
func (s *Set) PackBits(w []uint16, N, K int) *Panels {
	t := newPanels(K, N, true)
	for n := range N {
		t.setPairs(n, K, func(k int) uint16 { return flushBits(w[n*K+k]) })
	}
	return s.Transpose(t)
}

// PackT packs Wᵀ [K,N] from w, row-major [N,K]: the panels of dX = dY·W.
func (s *Set) PackT(w []float32, N, K int, bf16 bool) *Panels {
	t := newPanels(K, N, bf16)
	rounded := make([]float32, K)
	for n := range N {
		row := w[n*K : n*K+K]
		if bf16 {
			s.RoundBF16(rounded, row)
			t.setPairs(n, K, func(k int) uint16 { return bits(rounded[k]) })
			continue
		}
		for k := 0; k < K; k += NR {
			copy(t.F32[t.index(k, n):], row[k:min(k+NR, K)])
		}
	}
	return t
}

// setPairs stores row k of panels, still zero: value(n) in every column n.
func (p *Panels) setPairs(k, N int, value func(n int) uint16) {
	shift := k % 2 * 16
	for first := 0; first < N; first += NR {
		words := p.Pairs[p.index(first, k):]
		for j := range words[:min(NR, N-first)] {
			words[j] |= uint32(value(first+j)) << shift
		}
	}
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
