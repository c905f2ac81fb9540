package kernel

import "math"

// portable is the path of plain Go, and the definition of every kernel.
type portable struct{}

func (portable) matMul(sc *Scratch, out []float32, ldo int, x []float32, ldx, M int, w *Panels, p0, p1 int, acc bool) {
	steps := w.steps()
	for m := range M {
		row := x[m*ldx : m*ldx+w.K]
		if w.BF16 {
			row = sc.roundedRow(row)
		}
		for p := p0; p < p1; p++ {
			cols := out[m*ldo+p*NR:]
			cols = cols[:min(NR, w.N-p*NR)]
			var sum [NR]float32
			if acc {
				copy(sum[:], cols)
			}
			if w.BF16 {
				foldPairs(&sum, row, w.Pairs[p*steps*NR:])
			} else {
				fold(&sum, row, 1, w.F32[p*steps*NR:], NR)
			}
			copy(cols, sum[:])
		}
	}
}

// fold continues sum with a[k*lda] times the 32 columns panel[k*ldp:].
func fold(sum *[NR]float32, a []float32, lda int, panel []float32, ldp int) {
	for k := 0; k*lda < len(a); k++ {
		v := a[k*lda]
		row := (*[NR]float32)(panel[k*ldp:])
		for j, w := range row {
			sum[j] = fma32(v, w, sum[j])
		}
	}
}

// foldPairs continues sum with pairs of row, which is rounded to bf16 and of even
// length: the odd element first, then the even one.
func foldPairs(sum *[NR]float32, row []float32, pairs []uint32) {
	for k := 0; k < len(row); k += 2 {
		even, odd := row[k], row[k+1]
		words := (*[NR]uint32)(pairs[k/2*NR:])
		for j, b := range words {
			s := fmaFlush(odd, math.Float32frombits(b&0xffff0000), sum[j])
			sum[j] = fmaFlush(even, math.Float32frombits(b<<16), s)
		}
	}
}

func (portable) gradW(_ *Scratch, out []float32, ldo int, dy []float32, ldy int, x []float32, ldx, T, n0, n1, K int) {
	for n := n0; n < n1; n++ {
		row := out[n*ldo : n*ldo+K]
		for t := range T {
			d := dy[t*ldy+n]
			for k, v := range x[t*ldx : t*ldx+K] {
				row[k] = fma32(d, v, row[k])
			}
		}
	}
}

func (portable) tile(_ *Scratch, out []float32, ldo int, a []float32, ldaM, ldaK, M int, panel []float32, K int, acc bool) {
	for m := range M {
		cols := out[m*ldo : m*ldo+NR]
		var sum [NR]float32
		if acc {
			copy(sum[:], cols)
		}
		if K > 0 {
			fold(&sum, a[m*ldaM:m*ldaM+(K-1)*ldaK+1], ldaK, panel, NR)
		}
		copy(cols, sum[:])
	}
}
