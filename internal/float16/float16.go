// Package float16 converts floats to the two formats of two bytes, bf16 and IEEE's half, rounding to nearest even.
package float16

import "math"

// ToBF16 is x in bf16. A NaN stays one.
func ToBF16(x float32) uint16 {
	b := math.Float32bits(x)
	if x != x {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// ToHalf is x as a half: infinity from 65,520 on. A NaN stays one.
func ToHalf(x float32) uint16 {
	b := math.Float32bits(x)
	sign, magnitude := uint16(b>>16)&0x8000, b&0x7fffffff
	switch {
	case magnitude > 0x7f800000: // not a number
		return sign | 0x7e00
	case magnitude >= 0x477ff000: // 65,520 and more
		return sign | 0x7c00
	case magnitude < 0x38800000: // below 2^-14: a subnormal is a multiple of 2^-24
		return sign | uint16(math.RoundToEven(float64(math.Float32frombits(magnitude))*(1<<24)))
	}
	rest := magnitude - 0x38000000 // the exponent of a half
	return sign | uint16((rest+0xfff+rest>>13&1)>>13)
}

// FromHalf is the value of a half, exactly.
func FromHalf(h uint16) float32 {
	sign, exponent, fraction := uint32(h>>15)<<31, uint32(h>>10)&31, uint32(h)&1023
	switch exponent {
	case 0: // zero or subnormal: fraction · 2^-24
		f := float32(fraction) * (1.0 / (1 << 24))
		return math.Float32frombits(math.Float32bits(f) | sign)
	case 31:
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13)
}
