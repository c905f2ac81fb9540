package kernel

import (
	"fmt"
	"testing"
	"unsafe"
)

func TestPanelsHoldTheMatrix(t *testing.T) {
	forEachPath(t, func(t *testing.T, s *Set) {
		for _, d := range [][2]int{{1, 1}, {31, 2}, {32, 33}, {33, 32}, {70, 65}, {64, 128}} {
			N, K := d[0], d[1]
			w, wt := numbers(random(uint64(N)), N*K, wild), Aligned(N*K)
			for n := range N {
				for k := range K {
					wt[k*N+n] = w[n*K+k]
				}
			}
			for _, bf16 := range []bool{false, true} {
				want, wantT := clone(w), clone(wt)
				if bf16 {
					s.RoundBF16(want, want)
					s.RoundBF16(wantT, wantT)
				}
				what := fmt.Sprintf("%dx%d bf16=%t ", N, K, bf16)
				p := s.Pack(w, N, K, bf16)
				equal(t, what+"Pack", unpacked(p), want)
				equal(t, what+"Transpose", unpacked(s.Transpose(p)), wantT)
				q := s.PackT(w, N, K, bf16)
				equal(t, what+"PackT", unpacked(q), wantT)
				equal(t, what+"PackT transposed", unpacked(s.Transpose(q)), want)
			}
		}
	})
}

func unpacked(p *Panels) []float32 {
	out := make([]float32, p.N*p.K)
	p.Unpack(out)
	return out
}

func TestPackBitsTakesWhatPackRounds(t *testing.T) {
	const N, K = 35, 7
	s, w := reference(), numbers(random(1), N*K, wild)
	bits := make([]uint16, len(w))
	for i, v := range w {
		bits[i] = BF16(v)
	}
	bits[3] = 0x0001 // a subnormal, which becomes zero
	w[3] = 0
	equal(t, "PackBits", unpacked(s.PackBits(bits, N, K)), unpacked(s.Pack(w, N, K, true)))
}

func TestPanelsArePaddedWithZeros(t *testing.T) {
	s, w := reference(), numbers(random(1), 33*3, plain)
	for i, v := range s.Pack(w, 33, 3, false).F32 {
		if n := i/(3*NR)*NR + i%NR; n >= 33 && v != 0 {
			t.Errorf("column %d holds %v", n, v)
		}
	}
	for i, b := range s.Pack(w, 33, 3, true).Pairs {
		n, pair := i/(2*NR)*NR+i%NR, i/NR%2
		if n >= 33 && b != 0 || pair == 1 && b>>16 != 0 {
			t.Errorf("column %d pair %d holds %x", n, pair, b)
		}
	}
}

func TestAligned(t *testing.T) {
	for n := range 70 {
		x := Aligned(n)
		if len(x) != n || n > 0 && uintptr(unsafe.Pointer(&x[0]))%64 != 0 {
			t.Errorf("Aligned(%d): %d floats at %p", n, len(x), x)
		}
	}
}
