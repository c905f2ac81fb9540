//go:build amd64 || arm64

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

// Each path that the processor offers and that has units of its own runs its loop; the others have none.
func TestPeakLoop(t *testing.T) {
	loops := 0
	for p := Portable; p <= LastPath; p++ {
		loop, operations := PeakLoop(p)
		if (loop == nil) != (operations == 0) || loop != nil && p > Detect() {
			t.Errorf("%v has %v operations, and a loop: %t; the best path is %v", p, operations, loop != nil, Detect())
		}
		if loop != nil {
			loops++
			loop()
		}
	}
	if Detect() > Portable && loops == 0 {
		t.Errorf("no path has a loop; the best is %v", Detect())
	}
}
