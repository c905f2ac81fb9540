package kernel

import (
	"fmt"
	"testing"
)

func TestGradWIsThePortableOne(t *testing.T) {
	list := []struct{ T, n0, n1, K int }{
		{1, 0, 1, 1}, {2, 0, 14, 32}, {3, 1, 16, 33}, {17, 5, 34, 65}, {255, 0, 3, 31},
		{256, 0, 15, 32}, {257, 2, 31, 40}, {513, 0, 2, 5}, {4, 0, 227, 34}, {5, 3, 455, 7},
	}
	run := func(s *Set, T, n0, n1, K int, kind kind) []float32 {
		r := random(uint64(T*1000 + n1))
		ldo, ldy, ldx := K+2, n1+3, K+1
		out := numbers(r, n1*ldo, kind)
		s.GradW(NewScratch(), out, ldo, numbers(r, T*ldy, kind), ldy, numbers(r, T*ldx, kind), ldx, T, n0, n1, K)
		return out
	}
	forEachFast(t, func(t *testing.T, s *Set) {
		for _, d := range list {
			for kind := range kinds {
				got, want := run(s, d.T, d.n0, d.n1, d.K, kind), run(reference(), d.T, d.n0, d.n1, d.K, kind)
				equal(t, fmt.Sprintf("%+v kind %d", d, kind), got, want)
			}
		}
	})
}

// Cutting the rows into several calls changes nothing.
func TestGradWAddsRowsInOrder(t *testing.T) {
	const T, N, K = 300, 20, 40
	forEachPath(t, func(t *testing.T, s *Set) {
		r := random(3)
		dy, x, out := numbers(r, T*N, plain), numbers(r, T*K, plain), numbers(r, N*K, plain)
		want := clone(out)
		s.GradW(NewScratch(), want, K, dy, N, x, K, T, 0, N, K)
		for _, rows := range []int{1, 7, 100, 299} {
			got := clone(out)
			for at := 0; at < T; at += rows {
				s.GradW(NewScratch(), got, K, dy[at*N:], N, x[at*K:], K, min(rows, T-at), 0, N, K)
			}
			equal(t, fmt.Sprintf("%d rows at a time", rows), got, want)
		}
	})
}
