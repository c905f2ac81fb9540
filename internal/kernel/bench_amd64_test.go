package kernel

import "testing"

// BenchmarkPeak measures the arithmetic units alone: the roof of the products.
func BenchmarkPeak(b *testing.B) {
	if Detect() == Portable {
		b.Skip("no AVX-512 here")
	}
	const n = 10000
	b.Run("f32", func(b *testing.B) {
		for b.Loop() {
			peakFMA(n)
		}
		gflops(b, n*24*16*2)
	})
	if Detect() < AVX512BF16 {
		return
	}
	b.Run("dpbf16", func(b *testing.B) {
		for b.Loop() {
			peakDot(n)
		}
		gflops(b, n*24*32*2)
	})
}
