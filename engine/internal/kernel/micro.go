package kernel

import (
	"math"
	"runtime"
)

// Micro holds a frozen matrix W [N,K] in MXFP4 (OCP Microscaling Formats 1.0), K a multiple of 32: 4.25 bits for each
// element, which are exact in bf16. For a product some panels become those of bf16, so it has their bits.
//
// A block is 32 k of 32 columns n: 16 rows of 32 bytes, each with the code of an even k of a column in its low half and
// of the next k above, and a row with the exponents of the columns, plus 127. Blocks of a panel follow each other.
type Micro struct {
	N, K int
	data []byte
	mem  *Memory
}

const (
	microGroup = 32               // k
	microBytes = 1 + microGroup/2 // of a group of one row: its exponent, then the codes
	microBlock = NR * microBytes
	// Between these exponents no code is subnormal or infinite in bf16.
	leastExponent, mostExponent = 2, 252
)

// MicroBytes returns the bytes of a matrix [N,K] in MXFP4.
func MicroBytes(N, K int) int { return (N + NR - 1) / NR * (K / microGroup) * microBlock }

// Micro returns zeros for a matrix [N,K]. It panics if the memory is too small for them.
func (m *Memory) Micro(N, K int) *Micro {
	n := MicroBytes(N, K)
	q := &Micro{N: N, K: K, data: m.data[m.used : m.used+n : m.used+n], mem: m}
	m.used += n
	return q
}

// Count returns the number of panels.
func (q *Micro) Count() int { return (q.N + NR - 1) / NR }

// block returns a block of a panel.
func (q *Micro) block(panel, group int) []byte {
	return q.data[(panel*(q.K/microGroup)+group)*microBlock:][:microBlock]
}

// Write writes rows of ElementMXFP4 into q's matrix from row at on. Different rows may be written at once.
func (q *Micro) Write(at int, rows Rows) {
	groups := q.K / microGroup
	for i := range rows.Len() {
		panel, column := (at+i)/NR, (at+i)%NR
		for g := range groups {
			from, to := rows.Data[(i*groups+g)*microBytes:][:microBytes], q.block(panel, g)
			to[microBlock-NR+column] = from[0]
			for p, codes := range from[1:] {
				to[p*NR+column] = codes
			}
		}
	}
	runtime.KeepAlive(q)
}

// Row writes row n of W to dst [K].
func (q *Micro) Row(dst []float32, n int) {
	for k := range q.K {
		block := q.block(n/NR, k/microGroup)
		code := block[k%microGroup/2*NR+n%NR] >> (k % 2 * 4)
		dst[k] = Float(uint16(flushPair(uint32(microBits(code, block[microBlock-NR+n%NR])))))
	}
	runtime.KeepAlive(q)
}

// Expand returns rows n0 to n1-1 and columns k0 to k1-1 of W in bf16. n0, k0 and k1 are multiples of 32, and so is n1
// unless it is N. They are in the memory of to, and valid until the next call with it.
func (q *Micro) Expand(to *Transposed, n0, n1, k0, k1 int) *Panels {
	t := &to.panels
	*t = Panels{N: n1 - n0, K: k1 - k0, BF16: true}
	t.Pairs = asWords(grow(&to.data, t.words()))
	pairs, dst := microPairs(), t.Pairs
	for n := n0; n < n1; n += NR {
		for k := k0; k < k1; k += microGroup {
			expandBlock(dst, q.block(n/NR, k/microGroup), &pairs)
			dst = dst[microGroup/2*NR:]
		}
	}
	runtime.KeepAlive(q)
	return t
}

// microPair is the words of two codes at exponent 127, and what they gain with each step of it: zeros nothing.
type microPair struct{ word, step uint32 }

func microPairs() (list [256]microPair) {
	for b := range list {
		low, high := uint32(microBits(byte(b), 127)), uint32(microBits(byte(b>>4), 127))
		list[b].word = low | high<<16
		if low&0x7fff != 0 {
			list[b].step = 1 << 7
		}
		if high&0x7fff != 0 {
			list[b].step |= 1 << 23
		}
	}
	return list
}

func expandBlock(dst []uint32, block []byte, pairs *[256]microPair) {
	var steps [NR]uint32
	for c, exponent := range block[microBlock-NR:] {
		if steps[c] = uint32(exponent) - 127; exponent < leastExponent || exponent > mostExponent {
			expandExtremes(dst, block)
			return
		}
	}
	for p := range microGroup / 2 {
		row, words := (*[NR]byte)(block[p*NR:]), (*[NR]uint32)(dst[p*NR:])
		for c, b := range row {
			words[c] = pairs[b].word + pairs[b].step*steps[c]
		}
	}
}

// expandExtremes is expandBlock for any exponents. As in panels of bf16, subnormals become zeros.
func expandExtremes(dst []uint32, block []byte) {
	for i, b := range block[:microGroup/2*NR] {
		exponent := block[microBlock-NR+i%NR]
		dst[i] = flushPair(uint32(microBits(b, exponent)) | uint32(microBits(b>>4, exponent))<<16)
	}
}

// microBits returns the bf16 of the code in the low half of a byte.
func microBits(code, exponent byte) uint16 {
	values := [8]float32{0, 0.5, 1, 1.5, 2, 3, 4, 6}
	scale := math.Float32frombits(max(uint32(exponent)<<23, 1<<22)) // 2^-127 is subnormal
	bits := uint16(math.Float32bits(values[code&7]*scale) >> 16)
	return bits | uint16(code&8)<<12
}

// Expanded returns the scratch's place for Expand.
func (sc *Scratch) Expanded() *Transposed { return &sc.expanded }
