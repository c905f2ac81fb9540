package kernel

import (
	"math"
	"testing"
)

// TestOrdinary: the loops multiply numbers that are spread like those of real products, and none is zero or infinite.
func TestOrdinary(t *testing.T) {
	for _, bf16 := range []bool{false, true} {
		sum, n := 0.0, 0
		for _, x := range ordinary(bf16) {
			values := []float32{x}
			if bf16 {
				bits := math.Float32bits(x)
				values = []float32{math.Float32frombits(bits << 16), math.Float32frombits(bits &^ 0xffff)}
			}
			for _, v := range values {
				if v == 0 || math.IsInf(float64(v), 0) || v != v {
					t.Fatalf("bf16 %v: %v", bf16, v)
				}
				sum += float64(v) * float64(v)
				n++
			}
		}
		if variance := sum / float64(n); variance < 0.9 || variance > 1.1 {
			t.Errorf("bf16 %v: the variance is %v, want 1", bf16, variance)
		}
	}
}
