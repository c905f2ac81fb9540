package nn

import (
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
)

// Peaks measures the rates of register-only loops on a pool's workers, which bound the products of a set's path in
// float32 and in bf16, GFLOP/s. Each loop runs for a time. Without vector kernels there is no loop, and both are 0.
func (c Compute) Peaks(least time.Duration) (f32, bf16 float64) {
	paths32, paths16 := units(c.K.Path())
	return c.fastest(paths32, least), c.fastest(paths16, least)
}

// units are the paths whose register-only loops are the upper bound for the products of a path, in float32 and in
// bf16. Vectors multiply bf16 in two ways, by instructions for it or widened; the faster one depends on the processor.
func units(p kernel.Path) (f32, bf16 []kernel.Path) {
	switch p {
	case kernel.NEON, kernel.NEONBF16:
		return []kernel.Path{kernel.NEON}, []kernel.Path{kernel.NEON, kernel.NEONBF16}
	case kernel.AVX2:
		return []kernel.Path{kernel.AVX2}, []kernel.Path{kernel.AVX2}
	case kernel.AVX512, kernel.AVX512BF16:
		return []kernel.Path{kernel.AVX512}, []kernel.Path{kernel.AVX512, kernel.AVX512BF16}
	case kernel.AMX:
		return []kernel.Path{kernel.AVX512}, []kernel.Path{kernel.AMX}
	}
	return nil, nil
}

// fastest is the rate of the fastest of those loops that the processor has.
func (c Compute) fastest(paths []kernel.Path, least time.Duration) (rate float64) {
	const calls = 32 // of a worker at a time, some milliseconds
	parts := calls * c.P.N()
	for _, p := range paths {
		if loop, operations := kernel.PeakLoop(p); loop != nil {
			rate = max(rate, Rate(least, operations*float64(parts), func() {
				c.P.Run(parts, func(int, *kernel.Scratch) { loop() })
			}))
		}
	}
	return rate
}

// Rate repeats f for a time and returns billions of its units per second.
func Rate(least time.Duration, units float64, f func()) float64 {
	start, n := time.Now(), 0
	for n == 0 || time.Since(start) < least {
		f()
		n++
	}
	return float64(n) * units / float64(time.Since(start).Nanoseconds())
}
