package kernel

import "math"

// fma32 returns x*y+z rounded once. The product is exact in float64. Rounding the
// sum to float64 and then to float32 goes wrong only if the first rounding
// lands on a tie of the second (or where float32 is subnormal and has other ties).
func fma32(x, y, z float32) float32 {
	s := float64(x)*float64(y) + float64(z)
	b := math.Float64bits(s)
	if b&0x1fffffff != 0x10000000 && b<<1 >= minNormal64<<1 {
		return float32(s)
	}
	return float32(fmaOdd(x, y, z))
}

// minNormal64 is the smallest normal float32, 2^-126, as float64 bits.
const minNormal64 = (1023 - 126) << 52

// fmaOdd returns x*y+z rounded to float64 to odd: where the result is not exact,
// the last bit is set. A second rounding to a narrower format is then right.
func fmaOdd(x, y, z float32) float64 {
	p, c := float64(x)*float64(y), float64(z)
	s := p + c
	t := s - p
	err := (p - (s - t)) + (c - t) // the sum is s+err exactly (Knuth's TwoSum)
	b := math.Float64bits(s)
	if err == 0 || err != err || b&1 == 1 {
		return s
	}
	if (err > 0) == (s > 0) {
		return math.Float64frombits(b + 1)
	}
	return math.Float64frombits(b - 1)
}

// fmaFlush is one step of a bf16 product: x and w are bf16 values, normal or
// zero. The product is exact, so a sum well inside the range needs no care.
func fmaFlush(x, w, acc float32) float32 {
	s := acc + float32(x*w)
	if math.Float32bits(s)&0x7fffffff-flushLow < flushSpan {
		return s
	}
	return fmaFlushEdge(x, w, acc)
}

const (
	flushLow  = (127 - 100) << 23           // 2^-100 as float32 bits
	flushSpan = 0x7f800000 - flushLow       // up to, not including, infinity
	flushed   = 0x1p-126 - 0x1p-126/(1<<25) // results below round to less than 2^-126
)

// fmaFlushEdge is fmaFlush where the result is tiny, zero or not finite. Results
// that round (with 24 bits) below the smallest normal number become signed zeros.
func fmaFlushEdge(x, w, acc float32) float32 {
	if acc < 0x1p-126 && acc > -0x1p-126 {
		acc = float32(math.Copysign(0, float64(acc)))
	}
	s := fmaOdd(x, w, acc)
	if math.Abs(s) < flushed {
		return float32(math.Copysign(0, s))
	}
	return float32(s)
}
