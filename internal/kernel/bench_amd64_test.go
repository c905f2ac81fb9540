package kernel

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// stopwatch keeps the shortest time of an operation, so that a busy machine
// spoils little.
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
	if Detect() < AVX512 {
		b.Skip("no AVX-512 here")
	}
	var fma, dot stopwatch
	for b.Loop() {
		fma.time(func() { peakFMA(peakRounds) })
		if Detect() == AVX512BF16 {
			dot.time(func() { peakDot(peakRounds) })
		}
	}
	b.ReportMetric(fma.rate(peakFMAOps), "GFLOP/s-fma")
	if Detect() == AVX512BF16 {
		b.ReportMetric(dot.rate(peakDotOps), "GFLOP/s-dpbf16")
	}
}

// benchProduct reports the best rate of f and its share of the best rate of the
// register-only loop in the same run.
func benchProduct(b *testing.B, operations float64, dot bool, f func()) {
	var product, peak stopwatch
	loop := func() { peakFMA(peakRounds) }
	if dot {
		loop = func() { peakDot(peakRounds) }
	}
	for i := 0; b.Loop(); i++ {
		if i%16 == 0 {
			for range 16 {
				peak.time(loop)
			}
		}
		product.time(f)
	}
	roof := peak.rate(peakFMAOps)
	if dot {
		roof = peak.rate(peakDotOps)
	}
	b.ReportMetric(math.Round(product.rate(operations)), "GFLOP/s")
	b.ReportMetric(math.Round(100*product.rate(operations)/roof), "%peak")
}

func BenchmarkMatMul(b *testing.B) {
	shapes := [][2]int{{32, 128}, {128, 32}, {128, 128}, {128, 384}, {384, 128}, {128, 1024}, {1024, 1024}, {1024, 3072}}
	for p := AVX512; p <= Detect(); p++ {
		s, err := New(p)
		if err != nil {
			b.Fatal(err)
		}
		for _, bf16 := range []bool{false, true} {
			if !bf16 && p == AVX512BF16 {
				continue // the kernels of AVX512
			}
			for _, d := range shapes {
				for _, M := range []int{1, 16, 128, 2048} {
					K, N := d[0], d[1]
					b.Run(fmt.Sprintf("%v/bf16=%t/K=%d/N=%d/M=%d", p, bf16, K, N, M), func(b *testing.B) {
						benchMatMul(b, s, M, N, K, bf16)
					})
				}
			}
		}
	}
}

func benchMatMul(b *testing.B, s *Set, M, N, K int, bf16 bool) {
	w := s.Pack(noise(N*K, 0, 1), N, K, bf16)
	x, out, sc := noise(M*K, 0, 2), Aligned(M*N), NewScratch()
	dot := bf16 && s.Path() == AVX512BF16
	benchProduct(b, 2*float64(M)*float64(N)*float64(K), dot, func() {
		s.MatMul(sc, out, N, x, K, M, w, 0, w.Count(), false)
	})
}

func BenchmarkGradW(b *testing.B) {
	s, err := New(AVX512)
	if err != nil {
		b.Skip(err)
	}
	for _, d := range []shape{{2048, 128, 128}, {2048, 1024, 128}, {2048, 32, 128}} {
		b.Run(fmt.Sprintf("T=%d/N=%d/K=%d", d.M, d.N, d.K), func(b *testing.B) {
			dy, x, out, sc := noise(d.M*d.N, 0, 1), noise(d.M*d.K, 0, 2), Aligned(d.N*d.K), NewScratch()
			benchProduct(b, 2*float64(d.M)*float64(d.N)*float64(d.K), false, func() {
				s.GradW(sc, out, d.K, dy, d.N, x, d.K, d.M, 0, d.N, d.K)
			})
		})
	}
}

// Attention: scores of one page (K is the head's size) and its values (K is 32).
func BenchmarkTile(b *testing.B) {
	s, err := New(AVX512)
	if err != nil {
		b.Skip(err)
	}
	for _, M := range []int{1, 2, 8, 64} {
		for _, K := range []int{32, 64, 128} {
			b.Run(fmt.Sprintf("M=%d/K=%d", M, K), func(b *testing.B) {
				a, panel, out, sc := noise(M*K, 0, 1), noise(K*NR, 0, 2), Aligned(M*NR), NewScratch()
				benchProduct(b, 100*2*float64(M)*NR*float64(K), false, func() {
					for range 100 {
						s.Tile(sc, out, NR, a, K, 1, M, panel, K, true)
					}
				})
			})
		}
	}
}
