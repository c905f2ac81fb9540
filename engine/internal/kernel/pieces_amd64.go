package kernel

// newFew returns a product of few rows of k columns, packed once for all pieces.
func (f *family) newFew(sc *Scratch, out []float32, ldo int, x []float32, ldx, M, k int, bf16 bool) product {
	kernels := f.direct
	if bf16 {
		kernels = f.bf16
	}
	p := f.newProduct(sc, kernels, out, ldo, M)
	full := k
	if bf16 {
		full = (k + 2*blockPairs - 1) / (2 * blockPairs) * 2 * blockPairs
	}
	p.packX(0, p.tiles.count, x, ldx, k, full, bf16, true)
	return p
}

func (f *family) matMulRows(sc *Scratch, out []float32, ldo int, x []float32, ldx, M, K int, w *Pieces) {
	p := f.newFew(sc, out, ldo, x, ldx, M, K, w.BF16)
	steps := PanelBytes(PageLen, K, w.BF16) / (4 * NR)
	for i, piece := range w.Data {
		p.ahead = w.ahead(i)
		p.multiply(0, p.tiles.count, steps, &piece[0], i*NR, NR, false)
	}
}

func (f *family) matMulColumns(sc *Scratch, out []float32, ldo int, x []float32, ldx, M, N int, w *Pieces) {
	p := f.newFew(sc, out, ldo, x, ldx, M, w.Len(), w.BF16)
	steps, width := PageLen, PageLen // of a piece: rows of its panels, and floats of a row of x
	if w.BF16 {
		steps, width = PageLen/2, PageLen/2*f.pair
	}
	a := p.a
	for i, piece := range w.Data {
		p.a, p.ahead = a[i*width:], w.ahead(i)
		for n := 0; n < N; n += NR {
			p.multiply(0, p.tiles.count, steps, &piece[n*steps], n, min(NR, N-n), w.Continue || i > 0)
		}
	}
}
