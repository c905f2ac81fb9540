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
// A row below 2⁻¹⁰⁰ is zeros, and a row with an infinity or a NaN is all NaN. The integers q may be stored in 4 bits,
// see nibbles.go.
type Quads struct {
	N, K   int
	Data   []uint32  // [ceil(N/32)][16*ceil(K/64)][32]: k to k+3 from the low byte up, zeros from K on
	Groups []uint32  // nil, or the factors of groups in 4 bits
	Scales []float32 // [N]

	mem *Memory // the memory of all three
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

// QuadBytes returns the bytes of the panels and scales of a matrix [N,K] that is stored in 8 or 4 bits.
func QuadBytes(N, K, bits int) int {
	q := Quads{N: N, K: K}
	data, groups := q.words(bits)
	return (data + groups + q.Count()*NR) * 4
}

// words returns the lengths of Data and Groups.
func (q *Quads) words(bits int) (data, groups int) {
	data = q.Count() * q.steps() * NR
	if bits == 4 {
		return data / 2, q.Count() * q.steps() / groupQuads * groupWords
	}
	return data, 0
}

// Quads returns panels of zeros, in 8 or 4 bits, for a matrix [N,K]. It panics if the memory is too small for them.
func (m *Memory) Quads(N, K, bits int) *Quads {
	q := &Quads{N: N, K: K, mem: m}
	bytes := QuadBytes(N, K, bits)
	if bytes == 0 {
		return q
	}
	part := m.data[m.used : m.used+bytes]
	m.used += bytes
	q.lay(unsafe.Slice((*uint32)(unsafe.Pointer(&part[0])), bytes/4), bits)
	return q
}

// lay divides words, QuadBytes/4 zeros.
func (q *Quads) lay(words []uint32, bits int) {
	data, groups := q.words(bits)
	q.Data, q.Scales = words[:data:data], asFloats(words[data+groups:])[:q.N:q.N]
	if groups > 0 {
		q.Groups = words[data:][:groups:groups]
	}
}

// index returns the place of k of column n.
func (q *Quads) index(n, k int) int { return (n/NR*q.steps()+k/4)*NR + n%NR }

// at returns q[n,k].
func (q *Quads) at(n, k int) int8 {
	if q.Groups != nil {
		return q.nibbleAt(n, k)
	}
	return int8(q.Data[q.index(n, k)] >> (k % 4 * 8))
}

// rows returns n rows of a panel from row step on, a multiple of groupQuads as n is. Those of a matrix in 4 bits are
// unpacked to *buf.
func (q *Quads) rows(o unpacker, buf *[]float32, panel, step, n int) []uint32 {
	at := panel*q.steps() + step
	if q.Groups == nil {
		return q.Data[at*NR:][:n*NR]
	}
	to := asWords(grow(buf, n*NR))
	o.unpackQuads(to, q.Data[at/2*NR:][:n/2*NR], q.Groups[at/groupQuads*groupWords:][:n/groupQuads*groupWords])
	return to
}

// QuantizeRows writes rows into q's matrix from row at on; those rows of q must be zero before. Different rows may be
// written at once.
func (s *Set) QuantizeRows(sc *Scratch, q *Quads, at int, rows Rows) {
	row := grow(&sc.row, q.K)
	for i := range rows.Len() {
		rows.Slice(i, i+1).Widen(row)
		n := at + i
		if q.Groups != nil {
			q.quantizeNibbles(row, n)
			continue
		}
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
		s.ops.widenQuads(wide, q.rows(s.ops, &to.rows, n/NR, k0/4, len(wide)/2/NR))
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
