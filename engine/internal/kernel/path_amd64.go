package kernel

import (
	"time"

	"golang.org/x/sys/cpu"
)

// Detect returns the best path this processor offers.
func Detect() Path {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasFMA:
		return Portable
	case !x.HasAVX512F || !x.HasAVX512BW || !x.HasAVX512DQ || !x.HasAVX512VL || !x.HasBMI2:
		return AVX2
	case !x.HasAVX512BF16:
		return AVX512
	case !x.HasAMXTile || !x.HasAMXBF16 || !allowTiles():
		return AVX512BF16
	}
	return AMX
}

// fastOps returns the kernels of a path other than Portable.
func fastOps(p Path, o Order) ops {
	switch p {
	case AVX2:
		return newAVX2(o)
	case AMX:
		return amx{newAVX512(o, false)}
	}
	return newAVX512(o, p == AVX512BF16)
}

// preferred returns s, or the set of path AVX512 if that multiplies bf16 faster here and gives the results want. The
// bits are the same, so the choice may depend on measured times.
func preferred(s *Set, want [][]float32) *Set {
	if s.path != AVX512BF16 {
		return s
	}
	wide := fast(AVX512, s.order)
	if wide.compare(want) == nil && bf16Time(wide) < bf16Time(s) {
		return wide
	}
	return s
}

// bf16Time is the shortest of some products that stay in the first cache.
func bf16Time(s *Set) time.Duration {
	const M, N, K = 4 * maxTile, NR, 256
	sc := NewScratch()
	w := s.Pack(noise(N*K, 0, 1), N, K, true)
	x, out := noise(M*K, 0, 2), Aligned(M*N)
	best := time.Hour
	for range 10 {
		start := time.Now()
		s.MatMul(sc, out, N, x, K, M, w, 0, 1, false)
		best = min(best, time.Since(start))
	}
	return best
}
