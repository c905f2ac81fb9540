package kernel

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// stopwatch keeps the shortest time of an operation, so that a busy machine has little influence.
type stopwatch struct{ best time.Duration }

func (s *stopwatch) time(f func()) {
	start := time.Now()
	f()
	if d := time.Since(start); s.best == 0 || d < s.best {
		s.best = d
	}
}

// rate returns the most operations per nanosecond seen.
func (s *stopwatch) rate(operations float64) float64 {
	return operations / float64(s.best.Nanoseconds())
}

// BenchmarkPeak is the roof of the products: the arithmetic units without memory.
func BenchmarkPeak(b *testing.B) {
	if Detect() < AVX2 {
		b.Skip("no AVX2 here")
	}
	for p, name := range map[Path]string{AVX2: "GFLOP/s-fma-avx2", AVX512: "GFLOP/s-fma", AVX512BF16: "GFLOP/s-dpbf16",
		AMX: "GFLOP/s-tdpbf16"} {
		if p > Detect() {
			continue
		}
		var w stopwatch
		loop, operations := PeakLoop(p)
		for range b.N {
			w.time(loop)
		}
		b.ReportMetric(w.rate(operations), name)
	}
}

// roofOf is the path whose register-only loop bounds a path's products.
func roofOf(p Path, bf16 bool) Path {
	if bf16 {
		return p
	}
	return min(p, AVX512)
}

// benchProduct reports the best rate of f and its share of the best rate of the
// path's register-only loop in the same run.
func benchProduct(b *testing.B, p Path, bf16 bool, operations float64, f func()) {
	var product, peak stopwatch
	loop, peakOps := PeakLoop(roofOf(p, bf16))
	for i := 0; b.Loop(); i++ {
		if i%16 == 0 {
			for range 16 {
				peak.time(loop)
			}
		}
		product.time(f)
	}
	b.ReportMetric(math.Round(product.rate(operations)), "GFLOP/s")
	b.ReportMetric(math.Round(100*product.rate(operations)/peak.rate(peakOps)), "%peak")
}

// benchPaths runs f for every path of this processor beyond Portable that has kernels of its own for a type.
func benchPaths(b *testing.B, bf16 bool, f func(b *testing.B, s *Set)) {
	for p := AVX2; p <= Detect(); p++ {
		for _, o := range []Order{Sequential, Blocked} {
			// beyond, the float32 kernels are those of AVX512
			if !p.offers(o) || !bf16 && (p > AVX512 || o == Blocked) {
				continue
			}
			s, err := New(p, o)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%v/%v", p, o), func(b *testing.B) { f(b, s) })
		}
	}
}

func BenchmarkMatMul(b *testing.B) {
	shapes := [][2]int{{32, 128}, {128, 32}, {128, 128}, {128, 384}, {384, 128}, {128, 1024}, {1024, 1024},
		{1024, 3072}}
	for _, bf16 := range []bool{false, true} {
		b.Run(fmt.Sprintf("bf16=%t", bf16), func(b *testing.B) {
			benchPaths(b, bf16, func(b *testing.B, s *Set) {
				for _, d := range shapes {
					for _, M := range []int{1, 16, 128, 2048} {
						b.Run(fmt.Sprintf("K=%d/N=%d/M=%d", d[0], d[1], M), func(b *testing.B) {
							benchMatMul(b, s, M, d[1], d[0], bf16)
						})
					}
				}
			})
		})
	}
}

func benchMatMul(b *testing.B, s *Set, M, N, K int, bf16 bool) {
	w := s.Pack(noise(N*K, 0, 1), N, K, bf16)
	x, out, sc := noise(M*K, 0, 2), Aligned(M*N), NewScratch()
	benchProduct(b, s.Path(), bf16, 2*float64(M)*float64(N)*float64(K), func() {
		s.MatMul(sc, out, N, x, K, M, w, 0, w.Count(), false)
	})
}

// BenchmarkMultiply multiplies rows packed once, as layers do, with matrices of SmolLM2-135M and Qwen3-0.6B.
func BenchmarkMultiply(b *testing.B) {
	benchPaths(b, true, func(b *testing.B, s *Set) {
		for _, d := range [][2]int{{576, 1536}, {1536, 576}, {576, 49152}, {256, 1024}, {1024, 3072}, {3072, 1024}} {
			for _, M := range []int{8, 16, 32, 64, 96, 512} {
				b.Run(fmt.Sprintf("K=%d/N=%d/M=%d", d[0], d[1], M), func(b *testing.B) {
					N, K := d[1], d[0]
					w, x, out, sc := s.Pack(noise(N*K, 0, 1), N, K, true), noise(M*K, 0, 2), Aligned(M*N), NewScratch()
					var in Input
					s.Use(&in, x, K, M, K, true)
					s.PackInput(&in, 0, M)
					benchProduct(b, s.Path(), true, 2*float64(M)*float64(N)*float64(K), func() {
						s.Multiply(sc, out, N, &in, 0, M, w, 0, w.Count(), false, nil)
					})
				})
			}
		}
	})
}

func BenchmarkGradW(b *testing.B) {
	benchPaths(b, false, func(b *testing.B, s *Set) {
		for _, d := range []shape{{2048, 128, 128}, {2048, 1024, 128}, {2048, 32, 128}} {
			b.Run(fmt.Sprintf("T=%d/N=%d/K=%d", d.M, d.N, d.K), func(b *testing.B) {
				dy, x, out, sc := noise(d.M*d.N, 0, 1), noise(d.M*d.K, 0, 2), Aligned(d.N*d.K), NewScratch()
				benchProduct(b, s.Path(), false, 2*float64(d.M)*float64(d.N)*float64(d.K), func() {
					s.GradW(sc, out, d.K, dy, d.N, x, d.K, d.M, 0, d.N, d.K)
				})
			})
		}
	})
}
