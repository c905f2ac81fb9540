package kernel

import (
	"math"
	"runtime"
	"unsafe"
)

// Quads holds a frozen matrix W [N,K] in int8: W[n,k] is Scales[n]·q[n,k]. Its panels have 32 columns n each, with k
// outermost in fours:
//
//	a = max over k of |W[n,k]| ; Scales[n] = a/127 ; q[n,k] = W[n,k]·(127/a), rounded to nearest even
//
// A row below 2⁻¹⁰⁰ is zeros, and a row with an infinity or a NaN is all NaN.
type Quads struct {
	N, K   int
	Data   []uint32  // [ceil(N/32)][16*ceil(K/64)][32]: k to k+3 from the low byte up, zeros from K on
	Scales []float32 // [N]

	mem *Memory // the memory of Data and Scales
}

const (
	// blockQuads is the number of fours of k whose products are summed in int32: 127·32,512·512 is below 2³¹.
	blockQuads = 128
	// quadUnit is the number of fours to which the panels of Quads are filled.
	quadUnit = 16
	// topWeight and topInput are the largest integers of weights and inputs; topInput is 127·256.
	topWeight, topInput = 127, 32512
	// leastRow is the bits of 2⁻¹⁰⁰. Rows below it are zeros.
	leastRow = 0x0d800000
)

// Count returns the number of panels.
func (q *Quads) Count() int { return (q.N + NR - 1) / NR }

// steps returns the rows of a panel, each of four k.
func (q *Quads) steps() int { return quadSteps(q.K) }

func quadSteps(K int) int { return (K + 4*quadUnit - 1) / (4 * quadUnit) * quadUnit }

// QuadBytes returns the bytes of the panels and scales of a matrix [N,K].
func QuadBytes(N, K int) int {
	q := Quads{N: N, K: K}
	return q.Count() * (q.steps() + 1) * NR * 4
}

// Quads returns int8 panels of zeros for a matrix [N,K]. It panics if the memory is too small for them.
func (m *Memory) Quads(N, K int) *Quads {
	q := &Quads{N: N, K: K, mem: m}
	bytes := QuadBytes(N, K)
	if bytes == 0 {
		return q
	}
	part := m.data[m.used : m.used+bytes]
	m.used += bytes
	words := unsafe.Slice((*uint32)(unsafe.Pointer(&part[0])), bytes/4)
	n := q.Count() * q.steps() * NR
	q.Data, q.Scales = words[:n:n], asFloats(words[n:])[:N:N]
	return q
}

// index returns the place of k of column n.
func (q *Quads) index(n, k int) int { return (n/NR*q.steps()+k/4)*NR + n%NR }

// at returns q[n,k].
func (q *Quads) at(n, k int) int8 { return int8(q.Data[q.index(n, k)] >> (k % 4 * 8)) }

// QuantizeRows writes rows into q's matrix from row at on; those rows of q must be zero before. Different rows may be
// written at once.
func (s *Set) QuantizeRows(sc *Scratch, q *Quads, at int, rows Rows) {
	row := grow(&sc.row, q.K)
	for i := range rows.Len() {
		rows.Slice(i, i+1).Widen(row)
		n := at + i
		scale, inverse := scales(row, topWeight)
		q.Scales[n] = scale
		if inverse == 0 {
			continue
		}
		for k, v := range row {
			q.Data[q.index(n, k)] |= uint32(uint8(int8(nearest(float32(v*inverse))))) << (k % 4 * 8)
		}
	}
	runtime.KeepAlive(q)
}

// scales returns what a row of integers up to most is multiplied with to be x, and what x is multiplied with to be
// such integers. The latter is 0 if they are all zeros.
func scales(x []float32, most float32) (scale, inverse float32) {
	var bits uint32
	for _, v := range x {
		bits = max(bits, math.Float32bits(v)&0x7fffffff)
	}
	switch {
	case bits >= 0x7f800000:
		return float32(math.NaN()), 0
	case bits < leastRow:
		return 0, 0
	}
	a := math.Float32frombits(bits)
	return a / most, most / a
}

// nearest rounds to nearest even.
func nearest(v float32) int32 { return int32(math.RoundToEven(float64(v))) }

// Row writes row n of W to dst [K].
func (q *Quads) Row(dst []float32, n int) {
	scale := q.Scales[n]
	for k := range q.K {
		dst[k] = float32(float32(q.at(n, k)) * scale)
	}
	runtime.KeepAlive(q)
}

// TransposeQuads is TransposePart for the integers of q: bf16 panels without the scales.
func (s *Set) TransposeQuads(to *Transposed, q *Quads, n0, n1, k0, k1 int) *Panels {
	t := &to.panels
	*t = Panels{N: k1 - k0, K: n1 - n0, BF16: true}
	t.Pairs = asWords(grow(&to.data, t.words()))
	blocks := t.Count()
	wide := asWords(grow(&to.wide, blocks*blockPairs*NR))
	for n := n0; n < n1; n += NR {
		from := q.Data[(n/NR*q.steps()+k0/4)*NR:]
		s.ops.widenQuads(wide, from[:len(wide)/2])
		s.ops.transposePairs(t.Pairs[t.index(0, n-n0):], wide, blocks, t.steps()*NR, 0)
	}
	runtime.KeepAlive(q)
	return t
}

// widenQuads writes the fours of integers in src as two pairs of bf16 each.
func (portable) widenQuads(dst, src []uint32) {
	for i, w := range src {
		pair := dst[i/NR*2*NR+i%NR:]
		for half := range 2 {
			low := uint32(BF16(float32(int8(w >> (16 * half)))))
			high := uint32(BF16(float32(int8(w >> (16*half + 8)))))
			pair[half*NR] = low | high<<16
		}
	}
}
