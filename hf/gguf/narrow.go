package gguf

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/seed-d9ad8ee0/trinity/internal/float16"
)

// Narrow stores float32s as whole blocks of a type: F32, F16, BF16, Q8_0, Q5_0, Q5_1, Q4_K, Q5_K or Q6_K. It is the
// inverse of Widen except for rounding, which is to nearest even in F16 and BF16; F16 overflows to infinity above
// 65,519.
func Narrow(t Type, to []byte, x []float32) error {
	l, _ := layouts(t)
	if l.n == 0 || int64(len(x))%l.n != 0 || int64(len(to)) != int64(len(x))/l.n*l.size {
		return fmt.Errorf("gguf: %d elements are not %d bytes of %s", len(x), len(to), t)
	}
	switch le := binary.LittleEndian; t {
	case F32:
		for i, v := range x {
			le.PutUint32(to[4*i:], math.Float32bits(v))
		}
	case F16:
		for i, v := range x {
			le.PutUint16(to[2*i:], float16.ToHalf(v))
		}
	case BF16:
		for i, v := range x {
			le.PutUint16(to[2*i:], ToBF16(v))
		}
	default:
		narrow := blockWriter(t)
		if narrow == nil {
			return fmt.Errorf("gguf: %s is not written; use Q8_0 and then llama-quantize", t)
		}
		for i := range int64(len(x)) / l.n {
			narrow(to[i*l.size:(i+1)*l.size], x[i*l.n:(i+1)*l.n])
		}
	}
	return nil
}

// blockWriter makes one block of a quantised type; nil for a type that is not written.
func blockWriter(t Type) func(to []byte, x []float32) {
	switch t {
	case Q8_0:
		return narrowQ80
	case Q5_0:
		return narrowQ50
	case Q5_1:
		return narrowQ51
	case Q4_K:
		return narrowQ4K
	case Q5_K:
		return narrowQ5K
	case Q6_K:
		return narrowQ6K
	}
	return nil
}

// Bytes is the size of n elements of a type, and how many elements a block of it has; n is a multiple of that.
func (t Type) Bytes(n int64) (size, block int64) {
	l, known := layouts(t)
	if !known || l.n == 0 {
		return 0, 0
	}
	return n / l.n * l.size, l.n
}

// ToBF16 is x in bf16, rounded to nearest even. A NaN stays one.
func ToBF16(x float32) uint16 { return float16.ToBF16(x) }

// narrowQ80 makes a block of Q8_0: the largest magnitude becomes ±127. Rounding is half away from zero, with the
// scale before it is stored as a half (quantize_row_q8_0_ref of ggml).
func narrowQ80(to []byte, x []float32) {
	most := float32(0)
	for _, v := range x {
		most = max(most, float32(math.Abs(float64(v))))
	}
	d := most / 127
	inverse := float32(0)
	if d != 0 {
		inverse = 1 / d
	}
	binary.LittleEndian.PutUint16(to, float16.ToHalf(d))
	for i, v := range x {
		to[2+i] = byte(int8(math.Round(float64(float32(v * inverse)))))
	}
}
