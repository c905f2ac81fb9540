package kernel

import (
	"math"
	"unsafe"
)

// Panels holds a matrix W [N,K] so that x·Wᵀ is one walk through memory: panels
// of 32 columns n, each with k outermost. The last panel is padded with zeros.
type Panels struct {
	N, K int
	// BF16 says which of the two slices is used.
	BF16 bool
	// F32 is [ceil(N/32)][K][32].
	F32 []float32
	// Pairs is [ceil(N/32)][ceil(K/2)][32]: bf16 values of k (low half, k even) and k+1.
	Pairs []uint32
}

// Count returns the number of panels.
func (p *Panels) Count() int { return (p.N + NR - 1) / NR }

// steps returns the rows of a panel.
func (p *Panels) steps() int {
	if p.BF16 {
		return (p.K + 1) / 2
	}
	return p.K
}

// Aligned returns n zeros that begin on a cache line of 64 bytes.
func Aligned(n int) []float32 {
	const line = 64 / 4
	b := make([]float32, n+line)
	skip := 0
	if off := int(uintptr(unsafe.Pointer(&b[0])) & 63); off != 0 {
		skip = (64 - off) / 4
	}
	return b[skip : skip+n : skip+n]
}

// alignedWords is Aligned for words.
func alignedWords(n int) []uint32 {
	f := Aligned(n)
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*uint32)(unsafe.Pointer(&f[0])), n)
}

func newPanels(N, K int, bf16 bool) *Panels {
	p := &Panels{N: N, K: K, BF16: bf16}
	n := p.Count() * p.steps() * NR
	if bf16 {
		p.Pairs = alignedWords(n)
	} else {
		p.F32 = Aligned(n)
	}
	return p
}

// index returns the place of row k's column n in F32, or of its pair in Pairs.
func (p *Panels) index(n, k int) int {
	if p.BF16 {
		k /= 2
	}
	return (n/NR*p.steps()+k)*NR + n%NR
}

// set stores bf16 bits b at (n,k), which is still zero.
func (p *Panels) set(n, k int, b uint16) {
	p.Pairs[p.index(n, k)] |= uint32(b) << (k % 2 * 16)
}

// Pack packs w, row-major [N,K], rounding to bf16 if asked.
func (s *Set) Pack(w []float32, N, K int, bf16 bool) *Panels {
	p := newPanels(N, K, bf16)
	for n := range N {
		row := w[n*K : n*K+K]
		if bf16 {
			for k, v := range row {
				p.set(n, k, BF16(v))
			}
			continue
		}
		at := p.index(n, 0)
		for k, v := range row {
			p.F32[at+k*NR] = v
		}
	}
	return p
}

// PackBits packs bf16 values as a file holds them, row-major [N,K]. Subnormals
// become zeros.
func (s *Set) PackBits(w []uint16, N, K int) *Panels {
	p := newPanels(N, K, true)
	for n := range N {
		for k, b := range w[n*K : n*K+K] {
			p.set(n, k, flushBits(b))
		}
	}
	return p
}

// PackT packs Wᵀ [K,N] from w, row-major [N,K]: the panels of dX = dY·W.
func (s *Set) PackT(w []float32, N, K int, bf16 bool) *Panels {
	p := newPanels(K, N, bf16)
	for n := range N {
		row := w[n*K : n*K+K]
		for k := 0; k < K; k += NR {
			cols := row[k:min(k+NR, K)]
			at := p.index(k, n)
			if bf16 {
				for j, v := range cols {
					p.Pairs[at+j] |= uint32(BF16(v)) << (n % 2 * 16)
				}
			} else {
				copy(p.F32[at:], cols)
			}
		}
	}
	return p
}

// at returns W[n,k], widened.
func (p *Panels) at(n, k int) float32 {
	i := p.index(n, k)
	if p.BF16 {
		return math.Float32frombits(p.Pairs[i] >> (k % 2 * 16) << 16)
	}
	return p.F32[i]
}

// Unpack writes W to dst, row-major [N,K], bf16 widened.
func (p *Panels) Unpack(dst []float32) {
	for n := range p.N {
		row := dst[n*p.K : n*p.K+p.K]
		for k := range row {
			row[k] = p.at(n, k)
		}
	}
}

// Transpose returns the panels of Wᵀ.
func (s *Set) Transpose(p *Panels) *Panels {
	t := newPanels(p.K, p.N, p.BF16)
	for n := range p.N {
		for k := range p.K {
			from, to := p.index(n, k), t.index(k, n)
			if p.BF16 {
				t.Pairs[to] |= p.Pairs[from] >> (k % 2 * 16) & 0xffff << (n % 2 * 16)
			} else {
				t.F32[to] = p.F32[from]
			}
		}
	}
	return t
}
