package kernel

import "testing"

// The formulas worked out by hand: a row whose scale is 1, of one group with values up to 112 and one of 7.
func TestNibbles(t *testing.T) {
	row := make([]float32, 33)
	row[0], row[1], row[2], row[32] = 112, 98, -112, 7
	w := reference().quantized(row, 1, len(row), 4)
	for k, want := range map[int]int8{0: 105, 1: 105, 2: -105, 3: 0, 32: 7} { // S = 15 and 1
		if got := w.at(0, k); got != want || w.Scales[0] != 1 {
			t.Errorf("q[%d] = %d, want %d; the scale is %v, want 1", k, got, want, w.Scales[0])
		}
	}
	row[1] = 0
	row[0] = 0
	if got := reference().quantized(row, 1, len(row), 4).at(0, 2); got != -112 {
		t.Errorf("q[2] alone = %d, want -112, by S = 14", got)
	}
}

// Every path unpacks all integers of a panel, and zeros beyond the matrix.
func TestUnpackNibbles(t *testing.T) {
	const N, K = 70, 100
	weights := numbers(random(1), N*K, plain)
	clear(weights[3*K : 4*K])
	forEachPath(t, func(t *testing.T, s *Set) {
		w := s.quantized(weights, N, K, 4)
		if got, want := 4*(len(w.Data)+len(w.Groups)), 96*128*33/64; got != want {
			t.Errorf("%d bytes, want %d", got, want)
		}
		var buf []float32
		for panel := range w.Count() {
			for i, word := range w.rows(s.ops, &buf, panel, 8, w.steps()-8) {
				n := panel*NR + i%NR
				for b := range 4 {
					k, want := 32+i/NR*4+b, int8(0)
					if n < N && k < K {
						want = w.at(n, k)
					}
					if got := int8(word >> (8 * b)); got != want {
						t.Fatalf("q[%d,%d] = %d, want %d", n, k, got, want)
					}
				}
			}
		}
	})
}
