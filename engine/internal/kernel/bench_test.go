package kernel

import (
	"fmt"
	"testing"
)

// BenchmarkPortable is the definition at a small product.
func BenchmarkPortable(b *testing.B) {
	const M, N, K = 16, 128, 128
	s := reference()
	for _, bf16 := range []bool{false, true} {
		b.Run(fmt.Sprintf("bf16=%t", bf16), func(b *testing.B) {
			w := s.Pack(noise(N*K, 0, 1), N, K, bf16)
			x, out, sc := noise(M*K, 0, 2), Aligned(M*N), NewScratch()
			for b.Loop() {
				s.MatMul(sc, out, N, x, K, M, w, 0, w.Count(), false)
			}
			b.ReportMetric(2*M*N*K*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
		})
	}
}

// BenchmarkBandwidth reads memory of growing size once per iteration.
func BenchmarkBandwidth(b *testing.B) {
	s, err := New(Detect(), Native())
	if err != nil {
		b.Fatal(err)
	}
	for _, kib := range []int{16, 512, 8 << 10, 256 << 10} {
		b.Run(fmt.Sprintf("%dKiB", kib), func(b *testing.B) {
			x := Aligned(kib << 8)
			b.SetBytes(int64(kib) << 10)
			for b.Loop() {
				s.Max(x)
			}
		})
	}
}

// benchVectorPaths runs f for the two families of vector kernels, AVX2 and AVX-512, as far as the processor has them.
func benchVectorPaths(b *testing.B, f func(b *testing.B, s *Set)) {
	for _, p := range []Path{AVX2, AVX512} {
		if s, err := New(p, Sequential); err == nil {
			b.Run(p.String(), func(b *testing.B) { f(b, s) })
		}
	}
}

// BenchmarkVector runs each vector operation on 4096 floats in the first cache.
func BenchmarkVector(b *testing.B) {
	benchVectorPaths(b, benchVector)
}

func benchVector(b *testing.B, s *Set) {
	const n = 4096
	x, y, z := noise(n, 0, 1), noise(n, 0, 2), noise(n, 0, 3)
	for _, c := range []struct {
		name string
		run  func()
	}{
		{"Dot", func() { s.Dot(x, y) }},
		{"Max", func() { s.Max(x) }},
		{"Exp", func() { s.Exp(z, x) }},
		{"ExpSum", func() { s.ExpSum(z, x, 1) }},
		{"LogSumExp", func() { s.LogSumExp(x) }},
		{"RMSNorm", func() { s.RMSNorm(z, x, y, 1e-6) }},
		{"SiLUMul", func() { s.SiLUMul(z, x, y) }},
		{"SiLUMulBackward", func() { s.SiLUMulBackward(z, z, y, x, y) }},
		{"AXPY", func() { s.AXPY(z, 1e-9, y) }},
		{"Mul", func() { s.Mul(z, x, y) }},
		{"RoundBF16", func() { s.RoundBF16(z, x) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(4 * n)
			for b.Loop() {
				c.run()
			}
		})
	}
}

// BenchmarkPack packs a weight of 1024×1024 in every way.
func BenchmarkPack(b *testing.B) {
	benchVectorPaths(b, func(b *testing.B, s *Set) {
		const N, K = 1024, 1024
		w := noise(N*K, 0, 1)
		for _, bf16 := range []bool{false, true} {
			p, transposed := s.Pack(w, N, K, bf16), Transposed{}
			for _, c := range []struct {
				name string
				run  func()
			}{
				{"Pack", func() { s.Pack(w, N, K, bf16) }},
				{"Transpose", func() { s.TransposePart(&transposed, p, 0, N, 0, K) }},
			} {
				b.Run(fmt.Sprintf("%s/bf16=%t", c.name, bf16), func(b *testing.B) {
					b.SetBytes(4 * N * K)
					for b.Loop() {
						c.run()
					}
				})
			}
		}
	})
}

func BenchmarkChoose(b *testing.B) {
	for b.Loop() {
		if _, err := choose(Native()); err != nil {
			b.Fatal(err)
		}
	}
}
