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
