package kernel

import "math"

// portable is the path in plain Go, which defines the results of every kernel.
type portable struct{ order Order }

func (v portable) matMul(sc *Scratch, out []float32, ldo int, x []float32, ldx, M int, w *Panels, p0, p1 int,
	acc bool) {
	stride := w.stride()
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
			switch {
			case !w.BF16:
				fold(&sum, row, w.F32[p*stride*NR:])
			case v.order == Blocked:
				foldBlocks(&sum, row, w.Pairs[p*stride*NR:])
			default:
				foldPairs(&sum, row, w.Pairs[p*stride*NR:])
			}
			copy(cols, sum[:])
		}
	}
}

// fold continues sum with row[k] times the 32 columns panel[k*32:].
func fold(sum *[NR]float32, row []float32, panel []float32) {
	for k, x := range row {
		multiplyAdd(sum[:], x, panel[k*NR:k*NR+NR])
	}
}

// multiplyAdd sets dst to a*x+dst, rounded once: it is fma32, inlined for speed. x is as long as dst.
func multiplyAdd(dst []float32, a float32, x []float32) {
	v := float64(a)
	x = x[:len(dst)]
	for i, w := range x {
		p, c := float64(v*float64(w)), float64(dst[i])
		s := p + c
		if !settled(s) {
			s = sumOdd(p, c)
		}
		dst[i] = float32(s)
	}
}

// foldPairs is order Sequential: it continues sum with pairs of row, which is rounded to bf16 and of even
// length, the odd element first, then the even one.
func foldPairs(sum *[NR]float32, row []float32, pairs []uint32) {
	for k := 0; k+1 < len(row); k += 2 {
		even, odd := row[k], row[k+1]
		words := (*[NR]uint32)(pairs[k/2*NR:])
		for j, b := range words {
			s := foldOne(sum[j], odd, math.Float32frombits(b&0xffff0000))
			sum[j] = foldOne(s, even, math.Float32frombits(b<<16))
		}
	}
}

// foldBlocks is order Blocked. row is rounded to bf16 and its length a multiple of 32.
func foldBlocks(sum *[NR]float32, row []float32, pairs []uint32) {
	for k0 := 0; k0 < len(row); k0 += 2 * blockPairs {
		var even, odd [NR]float32
		for k := k0; k < k0+2*blockPairs; k += 2 {
			words := (*[NR]uint32)(pairs[k/2*NR:])
			for j, b := range words {
				even[j] = foldOne(even[j], row[k], math.Float32frombits(b<<16))
				odd[j] = foldOne(odd[j], row[k+1], math.Float32frombits(b&0xffff0000))
			}
		}
		for j := range sum {
			sum[j] = addFlush(sum[j], addFlush(even[j], odd[j]))
		}
	}
}

// foldOne returns acc+x*w for bf16 values, by fmaFlush or its short cut.
func foldOne(acc, x, w float32) float32 {
	if s := acc + float32(x*w); inside(s) {
		return s
	}
	return fmaFlush(x, w, acc)
}

func (portable) gradW(_ *Scratch, out []float32, ldo int, dy []float32, ldy int, x []float32, ldx, T, n0, n1, K int) {
	for n := n0; n < n1; n++ {
		row := out[n*ldo : n*ldo+K]
		for t := range T {
			multiplyAdd(row, dy[t*ldy+n], x[t*ldx:t*ldx+K])
		}
	}
}
