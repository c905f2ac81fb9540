package kernel

import (
	"math"
	"runtime"
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
	// Pairs is [ceil(N/32)][16*ceil(K/32)][32]: bf16 values of k (low half, k even) and k+1, zeros from K on.
	Pairs []uint32

	gap int     // rows of a panel that a Prefix leaves out
	mem *Memory // the memory of F32 or Pairs, or nil
}

// Count returns the number of panels.
func (p *Panels) Count() int { return (p.N + NR - 1) / NR }

// steps returns the rows of a panel.
func (p *Panels) steps() int {
	if p.BF16 {
		return blockPairs * ((p.K + 2*blockPairs - 1) / (2 * blockPairs))
	}
	return p.K
}

// stride returns the distance of panels in rows.
func (p *Panels) stride() int { return p.steps() + p.gap }

// Prefix returns the first k columns of W, a multiple of 32, as panels in the same memory.
func (p *Panels) Prefix(k int) Panels {
	part := *p
	part.K, part.gap = k, 0
	part.gap = p.stride() - part.steps()
	return part
}

// words returns the length of the data.
func (p *Panels) words() int { return p.Count() * p.steps() * NR }

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
	if bf16 {
		p.Pairs = alignedWords(p.words())
	} else {
		p.F32 = Aligned(p.words())
	}
	return p
}

// ViewPanels returns panels in the memory of words, whose length is PanelBytes/4: a matrix [N,K] that is packed
// already.
func ViewPanels(words []float32, N, K int, bf16 bool) Panels {
	p := Panels{N: N, K: K, BF16: bf16}
	if bf16 {
		p.Pairs = asWords(words[:p.words()])
	} else {
		p.F32 = words[:p.words()]
	}
	return p
}

// index returns the place of column n in row k (or pair k/2) of its panel.
func (p *Panels) index(n, k int) int {
	if p.BF16 {
		k /= 2
	}
	return (n/NR*p.stride()+k)*NR + n%NR
}

// Row writes row n of W to dst [K], bf16 widened.
func (p *Panels) Row(dst []float32, n int) {
	at := p.index(n, 0)
	if !p.BF16 {
		for k := range p.K {
			dst[k] = p.F32[at+k*NR]
		}
	} else {
		for k := range p.K {
			dst[k] = math.Float32frombits(p.Pairs[at+k/2*NR] >> (k % 2 * 16) << 16)
		}
	}
	runtime.KeepAlive(p)
}

// Unpack writes W to dst, row-major [N,K], bf16 widened.
func (p *Panels) Unpack(dst []float32) {
	for n := range p.N {
		p.Row(dst[n*p.K:n*p.K+p.K], n)
	}
}
