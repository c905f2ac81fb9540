package kernel

import "math"

// fma32 returns x*y+z rounded once. The product is exact in float64, so the sum is
// rounded to float64 and then to float32.
func fma32(x, y, z float32) float32 {
	p, c := float64(float64(x)*float64(y)), float64(z)
	s := p + c
	if !settled(s) {
		s = sumOdd(p, c)
	}
	return float32(s)
}

// settled reports whether a sum rounded to float64 rounds to float32 as the exact sum
// does. It may not if it lies on a tie between two float32 values, or among
// the subnormal ones, whose ties are others. A sum of zero is exact.
func settled(s float64) bool {
	b := math.Float64bits(s)
	return b&0x1fffffff != 0x10000000 && b<<1-1 >= minNormal64<<1-1
}

// minNormal64 is the smallest normal float32, 2^-126, as float64 bits.
const minNormal64 = (1023 - 126) << 52

// sumOdd returns p+c rounded to odd: where the sum is not exact, the last bit is set.
// A second rounding to a narrower format is then right.
func sumOdd(p, c float64) float64 {
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

// inside reports whether acc+x*w = s is what fmaFlush returns: whether s is finite and
// at least 2^-100 in size. Then the product of the two bf16 values is exact, or too
// small to count.
func inside(s float32) bool { return math.Float32bits(s)&0x7fffffff-flushLow < flushSpan }

const (
	flushLow  = (127 - 100) << 23           // 2^-100 as float32 bits
	flushSpan = 0x7f800000 - flushLow       // up to, not including, infinity
	flushed   = 0x1p-126 - 0x1p-126/(1<<25) // results below round to less than 2^-126
)

// flush replaces a subnormal by a zero of its sign.
func flush(x float32) float32 {
	if x < 0x1p-126 && x > -0x1p-126 {
		return float32(math.Copysign(0, float64(x)))
	}
	return x
}

// addFlush returns a+b, where subnormals are zeros of their sign. A sum of normal numbers that is subnormal is exact.
func addFlush(a, b float32) float32 { return flush(flush(a) + flush(b)) }

// fmaFlush is one step of a bf16 product: acc+x*w rounded once, where x and w are
// bf16 values, normal or zero. A subnormal acc, and results that round (with 24
// bits) below the smallest normal number, become zeros of their sign.
func fmaFlush(x, w, acc float32) float32 {
	acc = flush(acc)
	if x == 0 || w == 0 {
		return acc + float32(x*w)
	}
	s := sumOdd(float64(float64(x)*float64(w)), float64(acc))
	if math.Abs(s) < flushed {
		return float32(math.Copysign(0, s))
	}
	return float32(s)
}
