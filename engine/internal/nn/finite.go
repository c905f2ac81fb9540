package nn

import "math"

// Finite reports whether v has neither infinities nor NaNs.
func Finite(v []float32) bool {
	for _, x := range v {
		if math.Float32bits(x)&0x7f800000 == 0x7f800000 {
			return false
		}
	}
	return true
}
