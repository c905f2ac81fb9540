package kernel

import (
	"slices"
	"time"
)

// Roof is what a machine can do at best, measured: the bound that rates are compared with.
type Roof struct {
	FMA       float64 // float32 fused multiply-adds from registers, GFLOP/s of all workers together
	BF16      float64 // the fastest of tiles, bf16 dot products and FMA: what a bf16 product could reach, GFLOP/s
	Bandwidth float64 // reading memory far larger than the caches, GB/s of all workers together
}

const (
	roofRuns  = 15
	roofBytes = 256 << 20 // per worker
)

// MeasureRoof measures the roof on a pool's workers; it takes about half a second. Each figure is the median of its runs. On machines
// without AVX2 the arithmetic figures are 0: nothing there runs near a known peak yet.
func MeasureRoof(s *Set, p *Pool) Roof {
	r := Roof{FMA: max(arithmetic(p, AVX2), arithmetic(p, AVX512)), Bandwidth: bandwidth(s, p)}
	r.BF16 = max(r.FMA, arithmetic(p, AVX512BF16), arithmetic(p, AMX))
	return r
}

// arithmetic is the rate of path's register-only loop, in GFLOP/s.
func arithmetic(p *Pool, path Path) float64 {
	loop, ops := peakLoop(path)
	if loop == nil {
		return 0
	}
	const calls = 20
	seconds := medianSeconds(p, func(*Scratch) {
		for range calls {
			loop()
		}
	})
	return calls * ops * float64(p.N()) / seconds / 1e9
}

func bandwidth(s *Set, p *Pool) float64 {
	areas := make(chan []float32, p.N())
	for range p.N() {
		x := Aligned(roofBytes / 4)
		for i := range x { // pages that were never written are all the same page
			x[i] = 1
		}
		areas <- x
	}
	seconds := medianSeconds(p, func(*Scratch) {
		x := <-areas
		s.Max(x)
		areas <- x
	})
	return roofBytes * float64(p.N()) / seconds / 1e9
}

// medianSeconds is the median time of running f once on every worker.
func medianSeconds(p *Pool, f func(*Scratch)) float64 {
	times := make([]float64, roofRuns)
	for i := range times {
		start := time.Now()
		p.Run(p.N(), func(_ int, sc *Scratch) { f(sc) })
		times[i] = time.Since(start).Seconds()
	}
	slices.Sort(times)
	return times[roofRuns/2]
}
