package kernel

import (
	"fmt"
	"testing"
)

// gflops reports the rate of a benchmark whose iteration takes the given number of
// floating point operations. The share of the peak is this over BenchmarkPeak.
func gflops(b *testing.B, operations float64) {
	b.ReportMetric(operations*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

func benchEachPath(b *testing.B, f func(b *testing.B, s *Set)) {
	for p := AVX512; p <= Detect(); p++ {
		s, err := New(p)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(p.String(), func(b *testing.B) { f(b, s) })
	}
}

func BenchmarkMatMul(b *testing.B) {
	benchEachPath(b, func(b *testing.B, s *Set) {
		for _, bf16 := range []bool{false, true} {
			if !bf16 && s.Path() == AVX512BF16 {
				continue // the same kernels as AVX512
			}
			for _, d := range [][2]int{{128, 128}, {128, 384}, {384, 128}, {128, 1024}, {1024, 1024}, {1024, 3072}} {
				for _, M := range []int{1, 16, 128, 2048} {
					b.Run(fmt.Sprintf("bf16=%t/K=%d/N=%d/M=%d", bf16, d[0], d[1], M), func(b *testing.B) {
						benchMatMul(b, s, M, d[1], d[0], bf16)
					})
				}
			}
		}
	})
}

func benchMatMul(b *testing.B, s *Set, M, N, K int, bf16 bool) {
	w := s.Pack(noise(N*K, 0, 1), N, K, bf16)
	x, out, sc := noise(M*K, 0, 2), Aligned(M*N), NewScratch()
	for b.Loop() {
		s.MatMul(sc, out, N, x, K, M, w, 0, w.Count(), false)
	}
	gflops(b, 2*float64(M)*float64(N)*float64(K))
}
