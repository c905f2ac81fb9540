package kernel

import "unsafe"

// microKernel computes a tile of the output: see gen/gemm.go.
type microKernel func(steps int, a, b, c *float32, ldc, acc int)

const (
	// maxTile is the number of rows of the largest micro-kernel.
	maxTile = 14
	// blockK is the length of a block of k: 16 KiB of rows beside 32 KiB of panel.
	blockK = 256
	// blockTiles is the number of tiles packed at once: 256 KiB of rows.
	blockTiles = 16
	// packSlack is what packRows may spoil behind its output.
	packSlack = 17 * lanes
)

// avx512 is the path of the generated kernels.
type avx512 struct {
	dpbf16 bool // bf16 products by VDPBF16PS
}

// tiles cuts M rows into as few tiles as possible, of almost equal height.
type tiles struct{ M, count int }

func newTiles(M int) tiles { return tiles{M, (M + maxTile - 1) / maxTile} }

// start returns the first row of tile i.
func (t tiles) start(i int) int { return i * t.M / t.count }

// product is one matrix product while it runs: rows are packed block by block and
// multiplied with panels.
type product struct {
	sc      *Scratch
	kernels *[maxTile + 1]microKernel
	out     []float32
	ldo     int
	tiles   tiles
}

// pack packs tiles [t0,t1) one after another, each as [steps][rows of the tile],
// width floats per row of x. pack writes one tile.
func (p *product) pack(t0, t1, width int, pack func(dst *float32, m, rows int)) {
	first := p.tiles.start(t0)
	a := grow(&p.sc.a, (p.tiles.start(t1)-first)*width+packSlack)
	for t := t0; t < t1; t++ {
		m := p.tiles.start(t)
		pack(&a[(m-first)*width], m, p.tiles.start(t+1)-m)
	}
}

// multiply folds the packed tiles [t0,t1) with the panel b of the given number of
// steps into columns [n, n+cols).
func (p *product) multiply(t0, t1, width, steps int, b *float32, n, cols int, acc bool) {
	first := p.tiles.start(t0)
	for t := t0; t < t1; t++ {
		m := p.tiles.start(t)
		rows := p.tiles.start(t+1) - m
		a := &p.sc.a[(m-first)*width]
		if cols < NR {
			p.edge(m, rows, steps, a, b, n, cols, acc)
			continue
		}
		p.kernels[rows](steps, a, b, &p.out[m*p.ldo+n], p.ldo*4, flag(acc))
	}
}

// edge is multiply for one tile of the last panel: the columns that exist pass
// through a whole tile, which continues their sums.
func (p *product) edge(m, rows, steps int, a, b *float32, n, cols int, acc bool) {
	tile := grow(&p.sc.edge, maxTile*NR)
	if acc {
		for i := range rows {
			copy(tile[i*NR:], p.out[(m+i)*p.ldo+n:][:cols])
		}
	}
	p.kernels[rows](steps, a, b, &tile[0], NR*4, flag(acc))
	for i := range rows {
		copy(p.out[(m+i)*p.ldo+n:][:cols], tile[i*NR:])
	}
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (v avx512) matMul(sc *Scratch, out []float32, ldo int, x []float32, ldx, M int, w *Panels, p0, p1 int, acc bool) {
	if w.K == 0 {
		portable{}.matMul(sc, out, ldo, x, ldx, M, w, p0, p1, acc)
		return
	}
	p := product{sc: sc, out: out, ldo: ldo, tiles: newTiles(M), kernels: &f32Kernels}
	steps, perStep := w.steps(), 1
	data := unsafe.Pointer(unsafe.SliceData(w.F32))
	if w.BF16 {
		data, perStep = unsafe.Pointer(unsafe.SliceData(w.Pairs)), 2
		p.kernels = &wideKernels
		if v.dpbf16 {
			p.kernels = &dotKernels
		}
	}
	for t0 := 0; t0 < p.tiles.count; t0 += blockTiles {
		t1 := min(t0+blockTiles, p.tiles.count)
		for s0 := 0; s0 < steps; s0 += blockK / perStep {
			n := min(blockK/perStep, steps-s0)
			k0 := s0 * perStep
			width := v.packX(&p, t0, t1, x[k0:], ldx, min(n*perStep, w.K-k0), w.BF16)
			for q := p0; q < p1; q++ {
				b := (*float32)(unsafe.Add(data, (q*steps+s0)*NR*4))
				p.multiply(t0, t1, width, n, b, q*NR, min(NR, w.N-q*NR), acc || s0 > 0)
			}
		}
	}
}

// packX packs k columns of x in the form the kernels of the product read, and
// returns the floats per row.
func (v avx512) packX(p *product, t0, t1 int, x []float32, ldx, k int, bf16 bool) (width int) {
	switch {
	case !bf16:
		p.pack(t0, t1, k, func(dst *float32, m, rows int) { packRows(k, dst, &x[m*ldx], ldx*4, rows) })
		return k
	case !v.dpbf16:
		width = k + k%2
		p.pack(t0, t1, width, func(dst *float32, m, rows int) { packRowsBF16(k, dst, &x[m*ldx], ldx*4, rows) })
		return width
	}
	width = (k + 1) / 2
	const ld = blockK/2 + lanes
	pairs := grow(&p.sc.row, maxTile*ld)
	p.pack(t0, t1, width, func(dst *float32, m, rows int) {
		for i := range rows {
			packPairs(k, &pairs[i*ld], &x[(m+i)*ldx])
		}
		packRows(width, dst, &pairs[0], ld*4, rows)
	})
	return width
}

func (avx512) gradW(sc *Scratch, out []float32, ldo int, dy []float32, ldy int, x []float32, ldx, T, n0, n1, K int) {
	p := product{sc: sc, out: out[n0*ldo:], ldo: ldo, tiles: newTiles(n1 - n0), kernels: &f32Kernels}
	for b0 := 0; b0 < p.tiles.count; b0 += blockTiles {
		b1 := min(b0+blockTiles, p.tiles.count)
		for t0 := 0; t0 < T; t0 += blockK {
			t := min(blockK, T-t0)
			p.pack(b0, b1, t, func(dst *float32, n, rows int) {
				packColumns(t, dst, &dy[t0*ldy+n0+n], ldy*4, rows)
			})
			panel := grow(&sc.panel, blockK*NR)
			for k := 0; k < K; k += NR {
				cols := min(NR, K-k)
				packPanel(t, &panel[0], &x[t0*ldx+k], ldx*4, cols)
				p.multiply(b0, b1, t, t, &panel[0], k, cols, true)
			}
		}
	}
}

func (avx512) tile(sc *Scratch, out []float32, ldo int, a []float32, ldaM, ldaK, M int, panel []float32, K int, acc bool) {
	if K == 0 || ldaK != 1 && ldaM != 1 {
		portable{}.tile(sc, out, ldo, a, ldaM, ldaK, M, panel, K, acc)
		return
	}
	if M == 1 && ldaK == 1 { // packed as it is
		f32x1(K, &a[0], &panel[0], &out[0], 0, flag(acc))
		return
	}
	p := product{sc: sc, out: out, ldo: ldo, tiles: newTiles(M), kernels: &f32Kernels}
	for t0 := 0; t0 < p.tiles.count; t0 += blockTiles {
		t1 := min(t0+blockTiles, p.tiles.count)
		for k0 := 0; k0 < K; k0 += blockK {
			k := min(blockK, K-k0)
			p.pack(t0, t1, k, func(dst *float32, m, rows int) {
				if ldaK == 1 {
					packRows(k, dst, &a[m*ldaM+k0], ldaM*4, rows)
				} else {
					packColumns(k, dst, &a[m+k0*ldaK], ldaK*4, rows)
				}
			})
			p.multiply(t0, t1, k, k, &panel[k0*NR], 0, NR, acc || k0 > 0)
		}
	}
}
