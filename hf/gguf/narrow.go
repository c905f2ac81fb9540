package gguf

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Narrow stores float32s as whole blocks of a type: F32, F16, BF16 or Q8_0. It is the inverse of Widen but for
// rounding, which is to nearest even; F16 overflows to infinity above 65,519.
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
			le.PutUint16(to[2*i:], toHalf(v))
		}
	case BF16:
		for i, v := range x {
			le.PutUint16(to[2*i:], ToBF16(v))
		}
	case Q8_0:
		for i := range len(x) / 32 {
			narrowQ80(to[34*i:34*i+34], x[32*i:32*i+32])
		}
	default:
		return fmt.Errorf("gguf: %s is not written; use Q8_0 and then llama-quantize", t)
	}
	return nil
}

// ToBF16 is x in bf16, rounded to nearest even. A NaN stays one.
func ToBF16(x float32) uint16 {
	b := math.Float32bits(x)
	if x != x {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// toHalf is x as an IEEE half, rounded to nearest even. A NaN stays one.
func toHalf(x float32) uint16 {
	b := math.Float32bits(x)
	sign, magnitude := uint16(b>>16)&0x8000, b&0x7fffffff
	switch {
	case magnitude > 0x7f800000:
		return sign | 0x7e00
	case magnitude >= 0x477ff000: // 65,520 and more
		return sign | 0x7c00
	case magnitude < 0x38800000: // below 2^-14: a subnormal is a multiple of 2^-24
		return sign | uint16(math.RoundToEven(float64(math.Float32frombits(magnitude))*(1<<24)))
	}
	rest := magnitude - 0x38000000 // the exponent of a half
	return sign | uint16((rest+0xfff+rest>>13&1)>>13)
}

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
	binary.LittleEndian.PutUint16(to, toHalf(d))
	for i, v := range x {
		to[2+i] = byte(int8(math.Round(float64(float32(v * inverse)))))
	}
}
