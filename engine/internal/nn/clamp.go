package nn

import "github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"

// Clamp is the gate of an MLP, in place of silu(gate)*up (Hugging Face transformers 5.24, GptOssExperts of
// models/gpt_oss/modeling_gpt_oss.py):
//
//	(u+1)*g*sigmoid(Alpha*g), g = min(gate, Limit), u = up within ±Limit
//
// It is silu(Alpha*g)*v, v = (u+1)/Alpha: its bits are those of the kernels' SiLU and of single operations.
type Clamp struct{ Alpha, Limit float32 }

// factors writes Alpha*g to a and v to b.
func (c Clamp) factors(a, b, gate, up []float32) {
	for i, x := range gate {
		a[i] = min(x, c.Limit) * c.Alpha
		b[i] = (max(min(up[i], c.Limit), -c.Limit) + 1) / c.Alpha
	}
}

// Mul sets dst to the gated values. tmp has the same length, and neither is an input.
func (c Clamp) Mul(k *kernel.Set, dst, gate, up, tmp []float32) {
	c.factors(dst, tmp, gate, up)
	k.SiLUMul(dst, dst, tmp)
}

// Backward sets dgate and dup to the gradients of Mul under dout. They are none of the inputs. A clamped value has no
// gradient, one that equals a limit has.
func (c Clamp) Backward(k *kernel.Set, dgate, dup, dout, gate, up []float32) {
	c.factors(dgate, dup, gate, up)
	k.SiLUMulBackward(dgate, dup, dout, dgate, dup)
	for i, x := range gate {
		dgate[i] *= c.Alpha
		if x > c.Limit {
			dgate[i] = 0
		}
		if dup[i] /= c.Alpha; up[i] > c.Limit || up[i] < -c.Limit {
			dup[i] = 0
		}
	}
}
