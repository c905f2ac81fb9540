package roofline

import "github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"

// Roof is the measured peak rates of a machine.
type Roof struct {
	FMA       float64 // float32 fused multiply-adds from registers, GFLOP/s of all workers together
	BF16      float64 // the fastest bf16 products from registers on a path's units, GFLOP/s
	Bandwidth float64 // reading memory far larger than the caches, GB/s of all workers together
}

// Seconds is the least time for that many bf16 operations and that many bytes read, which overlap. Without a known
// arithmetic peak it is the time of the bytes.
func (r Roof) Seconds(operations, bytes float64) float64 {
	seconds := bytes / (r.Bandwidth * 1e9)
	if r.BF16 > 0 {
		seconds = max(seconds, operations/(r.BF16*1e9))
	}
	return seconds
}

// mean is the roof between two samples.
func (r Roof) mean(q Roof) Roof {
	return Roof{(r.FMA + q.FMA) / 2, (r.BF16 + q.BF16) / 2, (r.Bandwidth + q.Bandwidth) / 2}
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
