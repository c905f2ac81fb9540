package kernel

import "math"

// BF16 rounds f to bf16, to nearest even. Subnormals become zeros of the same
// sign, as the processor's own conversion has it; NaN stays NaN.
func BF16(f float32) uint16 {
	b := math.Float32bits(f)
	switch b & 0x7f800000 {
	case 0:
		return uint16(b>>16) & 0x8000
	case 0x7f800000:
		if b&0x007fffff != 0 {
			return uint16(b>>16) | 0x40
		}
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// Float widens a bf16 value.
func Float(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }

// roundBF16 rounds f to bf16 and widens it again.
func roundBF16(f float32) float32 { return Float(BF16(f)) }

// bits returns the bf16 bits of a value that needs no rounding.
func bits(f float32) uint16 { return uint16(math.Float32bits(f) >> 16) }

// flushBits replaces a subnormal bf16 value by a zero of the same sign.
func flushBits(b uint16) uint16 {
	if b&0x7f80 == 0 {
		return b & 0x8000
	}
	return b
}
