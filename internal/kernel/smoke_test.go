package kernel

import (
	"math"
	"testing"
)

func TestSmoke(t *testing.T) {
	s, _ := New(Portable)
	for _, bf := range []bool{false, true} {
		M, N, K := 5, 70, 33
		x, w := noise(M*K, 0, 1), noise(N*K, 0, 2)
		p := s.Pack(w, N, K, bf)
		wt := make([]float32, N*K)
		for n := range N {
			for k := range K {
				wt[k*N+n] = w[n*K+k]
			}
		}
		q := s.Transpose(s.PackT(w, N, K, bf))
		a, b := make([]float32, N*K), make([]float32, N*K)
		p.Unpack(a)
		q.Unpack(b)
		for i := range a {
			if a[i] != b[i] {
				t.Fatal(bf, i)
			}
		}
		out := make([]float32, M*N)
		s.MatMul(NewScratch(), out, N, x, K, M, p, 0, p.Count(), false)
		for m := range M {
			for n := range N {
				v := 0.0
				for k := range K {
					v += float64(x[m*K+k] * w[n*K+k])
				}
				if math.Abs(v-float64(out[m*N+n])) > 0.05 {
					t.Fatal(bf, m, n, v, out[m*N+n])
				}
			}
		}
	}
	worst := 0.0
	for x := float32(-87); x < 88; x += 0.0013 {
		w := math.Exp(float64(x))
		d := math.Abs(float64(exp32(x))-w) / w
		worst = max(worst, d)
	}
	t.Log("exp rel", worst/0x1p-24, exp32(float32(math.Inf(-1))), exp32(90), exp32(-103.5))
	for x := 1e-5; x < 1e6; x *= 1.01 {
		if math.Abs(log64(x)-math.Log(x)) > 1e-14 {
			t.Fatal(x)
		}
	}
	if err := s.SelfTest(); err != nil {
		t.Fatal(err)
	}
}
