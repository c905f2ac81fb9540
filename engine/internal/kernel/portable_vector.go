package kernel

import "math"

// laneSum adds 16 lanes by the tree 8-4-2-1.
func laneSum(v *[lanes]float32) float32 {
	for w := lanes / 2; w > 0; w /= 2 {
		for i := range w {
			v[i] += v[i+w]
		}
	}
	return v[0]
}

func (portable) dot(x, y []float32) float32 {
	var sum [lanes]float32
	for i, v := range x {
		sum[i%lanes] = fma32(v, y[i], sum[i%lanes])
	}
	return laneSum(&sum)
}

// The order of a maximum shows only in the sign of zero, which is made positive.
func (portable) max(x []float32) float32 {
	top := float32(math.Inf(-1))
	for _, v := range x {
		if v > top {
			top = v
		}
	}
	return top + 0
}

func (portable) exp(dst, src []float32, sub, a float32) float32 {
	var sum [lanes]float32
	for i, v := range src {
		e := float32(exp32(v-sub) * a)
		dst[i] = e
		sum[i%lanes] += e
	}
	return laneSum(&sum)
}

func (portable) expSum(src []float32, sub float32) float32 {
	var sum [lanes]float32
	for i, v := range src {
		sum[i%lanes] += exp32(v - sub)
	}
	return laneSum(&sum)
}

func (portable) scaleMul(dst, x, w []float32, a float32) {
	for i, v := range x {
		dst[i] = float32(v*a) * w[i]
	}
}

func (portable) siluMul(dst, gate, up []float32) {
	for i, g := range gate {
		dst[i] = float32(g/(1+exp32(-g))) * up[i]
	}
}

func (portable) siluMulBackward(dgate, dup, dout, gate, up []float32) {
	for i, g := range gate {
		s := 1 / (1 + exp32(-g)) // the sigmoid; silu' = s*(1+g*(1-s))
		d, u := dout[i], up[i]
		dup[i] = float32(d*g) * s
		dgate[i] = float32(float32(d*u)*s) * fma32(g, 1-s, 1)
	}
}

func (portable) add(dst, x []float32) {
	for i, v := range x {
		dst[i] += v
	}
}

func (portable) scale(dst []float32, a float32) {
	for i := range dst {
		dst[i] *= a
	}
}

func (portable) axpy(dst []float32, a float32, x []float32) { multiplyAdd(dst, a, x) }

func (portable) mul(dst, x, y []float32) {
	for i, v := range x {
		dst[i] = v * y[i]
	}
}

func (portable) roundBF16(dst, src []float32) {
	for i, v := range src {
		dst[i] = roundBF16(v)
	}
}

func (portable) rotate(y, x, table []float32, s float32) {
	n := len(x) / 2
	for i, cos := range table[:n] {
		a, b, sin := x[i], x[i+n], float32(table[i+n]*s)
		y[i] = float32(a*cos) - float32(b*sin)
		y[i+n] = float32(b*cos) + float32(a*sin)
	}
}
