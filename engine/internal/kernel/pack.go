package kernel

import (
	"encoding/binary"
	"math"
	"runtime"
	"unsafe"
)

// Element is the type of the numbers of Rows.
type Element uint8

// The elements that are packed.
const (
	ElementF32 Element = iota
	ElementBF16
	ElementF16
	ElementMXFP4 // groups of 32 of a row: an exponent plus 127, then 16 bytes, each with two codes, the first one low
)

// bytes returns the length of n elements of a row.
func (e Element) bytes(n int) int {
	switch e {
	case ElementF32:
		return 4 * n
	case ElementMXFP4:
		return n / microGroup * microBytes
	}
	return 2 * n
}

// Rows is a matrix [N,K], row-major without gaps, in the form of a file: little-endian.
type Rows struct {
	Data    []byte
	Element Element
	K       int
}

// FloatRows returns the rows of w [N,K].
func FloatRows(w []float32, K int) Rows {
	return Rows{Data: unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(w))), 4*len(w)), K: K}
}

// Len returns N.
func (r Rows) Len() int { return len(r.Data) / max(1, r.Element.bytes(r.K)) }

// Slice returns rows a to b-1.
func (r Rows) Slice(a, b int) Rows {
	ld := r.Element.bytes(r.K)
	return Rows{r.Data[a*ld : b*ld], r.Element, r.K}
}

// Widen writes all elements to dst as float32, exactly.
func (r Rows) Widen(dst []float32) {
	switch r.Element {
	case ElementF32:
		for i := range len(r.Data) / 4 {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(r.Data[4*i:]))
		}
	case ElementBF16:
		for i := range len(r.Data) / 2 {
			dst[i] = Float(binary.LittleEndian.Uint16(r.Data[2*i:]))
		}
	case ElementF16:
		for i := range len(r.Data) / 2 {
			dst[i] = widenF16(binary.LittleEndian.Uint16(r.Data[2*i:]))
		}
	case ElementMXFP4:
		for i, b := range r.Data {
			if at := i % microBytes; at > 0 {
				exponent, k := r.Data[i-at], i/microBytes*microGroup+2*(at-1)
				dst[k], dst[k+1] = Float(microBits(b, exponent)), Float(microBits(b>>4, exponent))
			}
		}
	}
}

// widenF16 converts an IEEE half to a single, exactly.
func widenF16(h uint16) float32 {
	sign, exp, man := uint32(h>>15)<<31, uint32(h>>10)&31, uint32(h)&1023
	switch exp {
	case 0:
		return math.Float32frombits(sign | math.Float32bits(float32(man)*(1.0/(1<<24))))
	case 31:
		return math.Float32frombits(sign | 0x7f800000 | man<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | man<<13)
}

// Pack packs w, row-major [N,K], rounding to bf16 if asked.
func (s *Set) Pack(w []float32, N, K int, bf16 bool) *Panels {
	p := newPanels(N, K, bf16)
	s.PackRows(NewScratch(), p, 0, FloatRows(w[:N*K], K))
	return p
}

// PackRows writes rows into p's matrix from row at on; those rows of p must be zero before. bf16 panels round to
// nearest even; subnormals become zeros. Different rows may be written at once.
func (s *Set) PackRows(sc *Scratch, p *Panels, at int, rows Rows) {
	for i, n := 0, rows.Len(); i < n && p.K > 0; {
		part := min(NR-(at+i)%NR, n-i)
		s.packPart(sc, p, at+i, rows.Slice(i, i+part))
		i += part
	}
	runtime.KeepAlive(p)
}

// packPart is PackRows for rows of one panel.
func (s *Set) packPart(sc *Scratch, p *Panels, at int, rows Rows) {
	n, K := rows.Len(), p.K
	if rows.Element == ElementF16 || rows.Element == ElementMXFP4 || rows.Element == ElementBF16 && !p.BF16 {
		wide := grow(&sc.wide, n*K)
		rows.Widen(wide)
		rows = FloatRows(wide, K)
	}
	switch i := p.index(at, 0); {
	case !p.BF16:
		s.ops.packWords(asWords(p.F32)[i:], rows.Data, 4*K, n, K, false)
	case rows.Element == ElementBF16:
		s.ops.packWords(p.Pairs[i:], rows.Data, 2*K, n, K/2, true)
		if K%2 == 1 {
			s.packWord(p.Pairs[i+K/2*NR:], rows.Data[2*(K-1):], 2*K, n)
		}
	default:
		bits, ld := s.narrowRows(sc, rows)
		s.ops.packWords(p.Pairs[i:], bits, ld, n, (K+1)/2, false)
	}
}

// packWord packs the last element of odd rows.
func (s *Set) packWord(dst []uint32, src []byte, ld, n int) {
	for r := range n {
		dst[r] = flushPair(uint32(binary.LittleEndian.Uint16(src[r*ld:])))
	}
}

// narrowRows rounds float32 rows to bf16. Rows of the result are ld bytes apart and end with zeros.
func (s *Set) narrowRows(sc *Scratch, rows Rows) (bits []byte, ld int) {
	n, K := rows.Len(), rows.K
	ld = (K + lanes - 1) / lanes * lanes * 2
	bits = asBytes(grow(&sc.bits, n*ld/4))
	for r := range n {
		row := rows.Data[r*4*K : (r+1)*4*K]
		if uintptr(unsafe.Pointer(&row[0]))%4 == 0 {
			s.ops.narrow(bits[r*ld:(r+1)*ld], unsafe.Slice((*float32)(unsafe.Pointer(&row[0])), K))
			continue
		}
		one := grow(&sc.row, K)
		rows.Slice(r, r+1).Widen(one)
		s.ops.narrow(bits[r*ld:(r+1)*ld], one)
	}
	return bits, ld
}

// flushPair takes the subnormal halves of a pair to zeros of their sign.
func flushPair(w uint32) uint32 {
	if w&0x7f80 == 0 {
		w &^= 0x7fff
	}
	if w&0x7f800000 == 0 {
		w &^= 0x7fff0000
	}
	return w
}

// asWords, asFloats, asInts and asBytes are the same memory by another type.
func asWords(f []float32) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(f))), len(f))
}

func asFloats(w []uint32) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(w))), len(w))
}

func asInts(f []float32) []int16 {
	return unsafe.Slice((*int16)(unsafe.Pointer(unsafe.SliceData(f))), 2*len(f))
}

func asBytes(f []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(f))), 4*len(f))
}
