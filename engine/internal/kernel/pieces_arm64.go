package kernel

func (v neon) matMulRows(sc *Scratch, out []float32, ldo int, x []float32, ldx, M, K int, w *Pieces) {
	p := neonProduct{neon: v, sc: sc, pairs: w.BF16, M: M, out: out, ldo: ldo}
	p.place(x, ldx, K, upToBlock(K))
	steps := PanelBytes(PageLen, K, w.BF16) / (4 * NR)
	for i, piece := range w.Data {
		p.ahead = w.ahead(i)
		p.multiply(0, M, 0, steps, piece, i*NR, NR, false)
	}
}

func (v neon) matMulColumns(sc *Scratch, out []float32, ldo int, x []float32, ldx, M, N int, w *Pieces) {
	p := neonProduct{neon: v, sc: sc, pairs: w.BF16, M: M, out: out, ldo: ldo}
	p.place(x, ldx, w.Len(), w.Len())
	steps, width := PageLen, PageLen // of a piece: rows of its panels, and floats of a row of x
	if w.BF16 {
		steps, width = PageLen/2, PageLen/2*v.perPair()
	}
	for i, piece := range w.Data {
		p.ahead = w.ahead(i)
		for n := 0; n < N; n += NR {
			p.multiply(0, M, i*width, steps, piece[n*steps:], n, min(NR, N-n), w.Continue || i > 0)
		}
	}
}
