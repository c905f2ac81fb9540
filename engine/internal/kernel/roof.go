package kernel

// Roof is what a machine can do at best, measured: the bound that rates are compared with.
type Roof struct {
	FMA       float64 // float32 fused multiply-adds from registers, GFLOP/s of all workers together
	BF16      float64 // the fastest bf16 products from registers that a path's units have, GFLOP/s
	Bandwidth float64 // reading memory far larger than the caches, GB/s of all workers together
}

// Seconds is the least time in which so many bf16 operations can be done and so many bytes read, each behind the other's back. Without a known peak
// it is that of the bytes.
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

// units are the paths whose register-only loops bound the products of a path: of float32 and of bf16. Vectors multiply bf16 in two ways, by
// VDPBF16PS or widened, and which is faster depends on the processor.
func units(p Path) (f32, bf16 []Path) {
	switch p {
	case AVX2:
		return []Path{AVX2}, []Path{AVX2}
	case AVX512, AVX512BF16:
		return []Path{AVX512}, []Path{AVX512, AVX512BF16}
	case AMX:
		return []Path{AVX512}, []Path{AMX}
	}
	return nil, nil
}
