package kernel

import (
	"fmt"
	"testing"
)

// The gradient of rows in stretches has the bits of portable products, stretch after stretch, each padded with zeros.
func TestGradientOfStretches(t *testing.T) {
	forEachPath(t, func(t *testing.T, s *Set) {
		r := random(5)
		for range 10 {
			N, K := 1+r.IntN(40), 1+r.IntN(100)
			rows := Stretches{r.IntN(3)}
			for range 1 + r.IntN(3) {
				rows = append(rows, rows[len(rows)-1]+r.IntN(70))
			}
			T := rows[len(rows)-1]
			dy, x, start := numbers(r, T*(N+2), plain), numbers(r, T*(K+1), plain), numbers(r, N*K, plain)
			want := clone(start)
			for i := range len(rows) - 1 {
				gradientOfOne(definition(s.Order()), want, dy, N, x, K, rows[i], rows[i+1])
			}
			what := fmt.Sprintf("%d×%d in %v", N, K, rows)
			for name, multiply := range map[string]func([]float32){
				"PairRows of x": func(out []float32) {
					var in Input
					s.PackColumns(NewScratch(), &in, dy, N+2, N, rows)
					c := K / 2 / NR * NR
					left, right := s.PairRows(&Transposed{}, x, K+1, rows, 0, c),
						s.PairRows(&Transposed{}, x, K+1, rows, c, K)
					s.Multiply(NewScratch(), out, K, &in, 0, N, left, 0, left.Count(), true, nil)
					s.Multiply(NewScratch(), out[c:], K, &in, 0, N, right, 0, right.Count(), true, nil)
				},
				"PairRows of dy": func(out []float32) {
					var in Input
					s.PackColumns(NewScratch(), &in, x, K+1, K, rows)
					s.MultiplyColumns(NewScratch(), out, K, &in, s.PairRows(&Transposed{}, dy, N+2, rows, 0, N))
				},
			} {
				got := clone(start)
				multiply(got)
				equal(t, what+" by "+name, got, want)
			}
		}
	})
}

// gradientOfOne continues out with rows a to b-1, as a product of transposed copies.
func gradientOfOne(s *Set, out, dy []float32, N int, x []float32, K, a, b int) {
	transpose := func(x []float32, ld, n int) []float32 {
		to := make([]float32, n*upToBlock(b-a))
		for t := a; t < b; t++ {
			for c := range n {
				to[c*upToBlock(b-a)+t-a] = x[t*ld+c]
			}
		}
		return to
	}
	L := upToBlock(b - a)
	if L == 0 {
		return
	}
	w := s.Pack(transpose(x, K+1, K), K, L, true)
	s.MatMul(NewScratch(), out, K, transpose(dy, N+2, N), L, N, w, 0, w.Count(), true)
}

func TestPairRowsIsThePortableOne(t *testing.T) {
	forEachFast(t, func(t *testing.T, s *Set) {
		r := random(8)
		for _, cols := range []int{1, 7, 16, 17, 31, 32, 64, 75, 130} {
			for _, rows := range []int{1, 2, 5, 32} {
				ld := cols + r.IntN(4)
				x := numbers(r, rows*ld, wild)
				step := (rows+1)/2*NR + 5*NR
				got, want := make([]uint32, 5*step), make([]uint32, 5*step)
				s.ops.pairRows(got, step, x, ld, rows, cols)
				portable{}.pairRows(want, step, x, ld, rows, cols)
				for i := range want {
					if got[i] != want[i] {
						t.Fatalf("%d rows of %d: word %d is %08x, want %08x", rows, cols, i, got[i], want[i])
					}
				}
			}
		}
	})
}
