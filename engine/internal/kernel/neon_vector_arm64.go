package kernel

import "math"

// The kernels take whole blocks of 16 elements; the portable code does the rest.

// whole returns the number of blocks of n elements, and the elements in them.
func whole(n int) (blocks, elements int) { return n / lanes, n / lanes * lanes }

func (neon) dot(x, y []float32) float32 {
	var sum [lanes]float32
	blocks, n := whole(len(x))
	neonDot(blocks, first(x), first(y), &sum[0])
	for i, v := range x[n:] {
		sum[i] = fma32(v, y[n+i], sum[i])
	}
	return laneSum(&sum)
}

func (neon) max(x []float32) float32 {
	var top [lanes]float32
	for i := range top {
		top[i] = float32(math.Inf(-1))
	}
	blocks, n := whole(len(x))
	neonMax(blocks, first(x), &top[0])
	return max(portable{}.max(top[:]), portable{}.max(x[n:]))
}

func (neon) exp(dst, src []float32, sub, a float32) float32 {
	var sum [lanes]float32
	blocks, n := whole(len(src))
	neonExp(blocks, first(dst), first(src), sub, a, &sum[0])
	for i, v := range src[n:] {
		e := float32(exp32(v-sub) * a)
		dst[n+i] = e
		sum[i] += e
	}
	return laneSum(&sum)
}

func (neon) expSum(src []float32, sub float32) float32 {
	var sum [lanes]float32
	blocks, n := whole(len(src))
	neonExpSum(blocks, first(src), sub, &sum[0])
	for i, v := range src[n:] {
		sum[i] += exp32(v - sub)
	}
	return laneSum(&sum)
}

func (neon) scaleMul(dst, x, w []float32, a float32) {
	blocks, n := whole(len(x))
	neonScaleMul(blocks, first(dst), first(x), first(w), a)
	portable{}.scaleMul(dst[n:], x[n:], w[n:], a)
}

func (neon) siluMul(dst, gate, up []float32) {
	blocks, n := whole(len(gate))
	neonSiLUMul(blocks, first(dst), first(gate), first(up))
	portable{}.siluMul(dst[n:], gate[n:], up[n:])
}

func (neon) siluMulBackward(dgate, dup, dout, gate, up []float32) {
	blocks, n := whole(len(gate))
	neonSiLUMulBackward(blocks, first(dgate), first(dup), first(dout), first(gate), first(up))
	portable{}.siluMulBackward(dgate[n:], dup[n:], dout[n:], gate[n:], up[n:])
}

func (neon) add(dst, x []float32) {
	blocks, n := whole(len(x))
	neonAdd(blocks, first(dst), first(x))
	portable{}.add(dst[n:], x[n:])
}

func (neon) scale(dst []float32, a float32) {
	blocks, n := whole(len(dst))
	neonScale(blocks, first(dst), a)
	portable{}.scale(dst[n:], a)
}

func (neon) axpy(dst []float32, a float32, x []float32) {
	blocks, n := whole(len(x))
	neonAXPY(blocks, first(dst), first(x), a)
	portable{}.axpy(dst[n:], a, x[n:])
}

func (neon) mul(dst, x, y []float32) {
	blocks, n := whole(len(x))
	neonMul(blocks, first(dst), first(x), first(y))
	portable{}.mul(dst[n:], x[n:], y[n:])
}

func (neon) roundBF16(dst, src []float32) {
	blocks, n := whole(len(src))
	neonRoundBF16(blocks, first(dst), first(src))
	portable{}.roundBF16(dst[n:], src[n:])
}

func (neon) rotate(y, x, table []float32, s float32) {
	half := len(x) / 2
	blocks, n := whole(half)
	if blocks > 0 {
		neonRotate(blocks, &y[0], &y[half], &x[0], &x[half], &table[0], &table[half], s)
	}
	for i := n; i < half; i++ {
		a, b, cos, sin := x[i], x[i+half], table[i], float32(table[i+half]*s)
		y[i] = float32(a*cos) - float32(b*sin)
		y[i+half] = float32(b*cos) + float32(a*sin)
	}
}
