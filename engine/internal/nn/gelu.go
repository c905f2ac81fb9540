package nn

import "github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"

// The tanh approximation of GELU (Hendrycks and Gimpel, 2016) is
//
//	gelu(x) = x/2*(1+tanh(sqrt(2/pi)*(x+0.044715*x³))) = x*sigmoid(v), v = x*p(x), p(x) = c0+c1*x²
//
// and x is v/p(x), so that gelu(x) = silu(v)/p(x): its bits are those of the kernels' SiLU and of single operations.
const (
	geluC0 = 1.5957691216057308 // 2*sqrt(2/pi)
	geluC1 = geluC0 * 0.044715
)

func geluP(x float32) float32 { return float32(geluC1*float32(x*x)) + geluC0 }

// GELUMul sets dst to gelu(gate)*up. dst is neither gate nor up.
func GELUMul(k *kernel.Set, dst, gate, up []float32) {
	for i, x := range gate {
		dst[i] = x * geluP(x)
	}
	k.SiLUMul(dst, dst, up)
	for i, x := range gate {
		dst[i] /= geluP(x)
	}
}

// GELUMulBackward sets dgate and dup to the gradients of gelu(gate)*up under dout. They are none of the inputs.
func GELUMulBackward(k *kernel.Set, dgate, dup, dout, gate, up []float32) {
	for i, x := range gate {
		dgate[i] = x * geluP(x)
	}
	k.SiLUMulBackward(dgate, dup, dout, dgate, up)
	for i, x := range gate { // gelu' = silu'(v)*v'/p - silu(v)*p'/p²
		inv := 1 / geluP(x)
		slope := float32(3*geluC1*float32(x*x)) + geluC0
		dup[i] *= inv
		bend := float32(float32(2*geluC1*x) * inv)
		dgate[i] = float32(float32(dgate[i]*slope)*inv) - float32(bend*float32(dup[i]*up[i]))
	}
}
