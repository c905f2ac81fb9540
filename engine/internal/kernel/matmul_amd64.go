package kernel

import "unsafe"

// microKernel computes a tile of the output: see gen/gemm.go.
type microKernel func(steps int, a, b, c *float32, ldc, acc, lda, ahead int)

const (
	// maxTile is the number of rows of the largest micro-kernel of all.
	maxTile = 14
	// blockK is the length of a block of k: 16 KiB of rows and 32 KiB of panel.
	blockK = 256
	// blockRows is about the number of rows packed at once: 256 KiB.
	blockRows = 16 * maxTile
	// fewPanels is the number of panels up to which float32 rows are read in place.
	fewPanels = 2
	// oneWalk is the number of rows up to which a panel is walked in one pass: they stay in the first cache for any K,
	// and memory is read in one stretch.
	oneWalk = 4
	// blockPairsK is the length of a block of pairs of k: as large as the panel of blockK.
	blockPairsK = 256
	// aheadNear and aheadFar are the bytes by which memory is prefetched ahead of a walk. Few rows take less time than
	// reading memory, so the prefetch must be early: 4 KiB instead of 1 raised a single row from 75 to 93 percent of
	// the rate of reading. It also helps with many rows and bf16.
	aheadNear, aheadFar = 1024, 4096
)

// family is the kernels of a path's products. Tables of kernels are indexed by the number of rows.
type family struct {
	order  Order
	packed []microKernel // float32 panels; a tile of a is [steps][rows of the tile]
	direct []microKernel // float32 panels; the rows of a are separate, as they are for bf16
	bf16   []microKernel
	ints   []microKernel // panels of Quads
	one    nibbleKernel  // a row and a panel of Quads in 4 bits
	// round writes a row in the form of the bf16 kernels, with zeros up to the given number of elements.
	round func(dst, x []float32, full int)
	pair  int // floats that a pair of such a row takes
	// fetch prefetches lines of 64 bytes from at bytes behind src on into the second cache, or tries to; nil if
	// products of bf16 do not need it.
	fetch func(lines int, src *float32, at int)
	// columns and panel pack rows and the panels they are multiplied with.
	columns func(n int, dst, src *float32, ld, rows int)
	panel   func(n int, dst, src *float32, ld, cols int)
}

// tiles cuts M rows into as few tiles as possible, of almost equal height; block of them are packed at once.
type tiles struct{ M, count, block int }

// newTiles returns the tiles for a table of kernels.
func newTiles(M int, kernels []microKernel) tiles {
	most := len(kernels) - 1
	return tiles{M, (M + most - 1) / most, blockRows / most}
}

// start returns the first row of tile i.
func (t tiles) start(i int) int { return i * t.M / t.count }

// product is one matrix product while it runs.
type product struct {
	*family
	sc      *Scratch
	kernels []microKernel
	out     []float32
	ldo     int
	tiles   tiles
	ahead   int // bytes
	// The current rows begin with row first at a, width floats per row.
	a            []float32
	first, width int
}

// place allocates tiles [t0,t1) in the scratch.
func (p *product) place(t0, t1, width int) {
	p.first, p.width = p.tiles.start(t0), width
	p.a = grow(&p.sc.a, (p.tiles.start(t1)-p.first)*width)
}

// copyRows places the rows of tiles [t0,t1), each by one call of row for k elements. Their distance is
// no multiple of a large power of 2, so that the rows of a tile do not compete for the
// same places of a cache.
func (p *product) copyRows(t0, t1, k int, row func(dst []float32, m int)) {
	p.place(t0, t1, k+lanes)
	for m := p.first; m < p.tiles.start(t1); m++ {
		row(p.a[(m-p.first)*p.width:], m)
	}
}

// packColumns places tiles [t0,t1) for the packed kernels, where row m of step k is
// a[m+k*lda].
func (p *product) packColumns(t0, t1, steps int, a []float32, lda int) {
	p.place(t0, t1, steps)
	for t := t0; t < t1; t++ {
		m := p.tiles.start(t)
		p.columns(steps, &p.a[(m-p.first)*steps], &a[m], lda*4, p.tiles.start(t+1)-m)
	}
}

// multiply folds tiles [t0,t1) of the current rows with the panel b of the given number of steps into columns [n,
// n+cols).
func (p *product) multiply(t0, t1, steps int, b *float32, n, cols int, acc bool) {
	for t := t0; t < t1; t++ {
		m := p.tiles.start(t)
		rows := p.tiles.start(t+1) - m
		a := &p.a[(m-p.first)*p.width]
		if cols < NR {
			p.edge(m, rows, steps, a, b, n, cols, acc)
			continue
		}
		p.kernels[rows](steps, a, b, &p.out[m*p.ldo+n], p.ldo*4, flag(acc), p.width*4, p.ahead)
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
	p.kernels[rows](steps, a, b, &tile[0], NR*4, flag(acc), p.width*4, p.ahead)
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

// newProduct returns a product of M rows by a table of kernels.
func (f *family) newProduct(sc *Scratch, kernels []microKernel, out []float32, ldo, M int) product {
	return product{family: f, sc: sc, kernels: kernels, out: out, ldo: ldo, tiles: newTiles(M, kernels),
		ahead: aheadNear}
}

func (f *family) matMul(sc *Scratch, out []float32, ldo int, x []float32, ldx, M int, w *Panels, p0, p1 int, acc bool) {
	if w.K == 0 {
		portable{f.order}.matMul(sc, out, ldo, x, ldx, M, w, p0, p1, acc)
		return
	}
	kernels, perStep := f.direct, 1
	if w.BF16 {
		kernels, perStep = f.bf16, 2
	}
	p, few := f.newProduct(sc, kernels, out, ldo, M), p1-p0 <= fewPanels
	p.walk(w, p0, p1, acc, func(t0, t1, s0, n int) {
		k0 := s0 * perStep
		p.packX(t0, t1, x[k0:], ldx, min(n*perStep, w.K-k0), n*perStep, w.BF16, few)
	})
}

// walk multiplies with panels [p0,p1), some tiles and some steps at a time: pack packs n steps from s0 on of the rows
// of tiles [t0,t1).
func (p *product) walk(w *Panels, p0, p1 int, acc bool, pack func(t0, t1, s0, n int)) {
	data, steps, block := unsafe.Pointer(unsafe.SliceData(w.F32)), w.steps(), blockK
	if w.BF16 {
		data, block, p.ahead = unsafe.Pointer(unsafe.SliceData(w.Pairs)), blockPairsK, aheadFar
	}
	switch {
	case p.tiles.M <= oneWalk:
		block, p.ahead = steps, aheadFar
	case w.BF16 && p.fetch != nil:
		p.walkPanels(w, p0, p1, acc, pack)
		return
	}
	for t0 := 0; t0 < p.tiles.count; t0 += p.tiles.block {
		t1 := min(t0+p.tiles.block, p.tiles.count)
		for s0 := 0; s0 < steps; s0 += block {
			n := min(block, steps-s0)
			pack(t0, t1, s0, n)
			for q := p0; q < p1; q++ {
				b := (*float32)(unsafe.Add(data, (q*w.stride()+s0)*NR*4))
				p.multiply(t0, t1, n, b, q*NR, min(NR, w.N-q*NR), acc || s0 > 0)
			}
		}
	}
}

// packedSize returns a distance of rows that is not a multiple of a large power of 2, as in copyRows.
func (f *family) packedSize(M, K int) (words, step, block int) {
	block = blockPairs * f.pair
	step = upToBlock(K)/2*f.pair + lanes
	return M * step, step, block
}

func (f *family) packInput(in *Input, from, to int) {
	for m := from; m < to; m++ {
		f.round(in.packed[m*in.step:], in.x[m*in.ld:m*in.ld+in.K], upToBlock(in.K))
	}
}

func (f *family) inside(*Addition) bool { return false }

func (f *family) multiply(sc *Scratch, out []float32, ldo int, x *Input, m0, m1 int, w *Panels, p0, p1 int, acc bool,
	_ []Addition) {
	p := f.newProduct(sc, f.bf16, out[m0*ldo:], ldo, m1-m0)
	p.first, p.width = 0, x.step
	p.walk(w, p0, p1, acc, func(t0, _, s0, _ int) {
		p.first = p.tiles.start(t0)
		p.a = x.packed[(m0+p.first)*x.step+s0*f.pair:]
	})
}

// packX packs k columns of the rows of tiles [t0,t1), and zeros up to full, as the kernels read them. Rows that are
// multiplied with few panels are not copied, unless they must be rounded.
func (p *product) packX(t0, t1 int, x []float32, ldx, k, full int, bf16, few bool) {
	switch {
	case bf16:
		p.copyRows(t0, t1, full, func(dst []float32, m int) { p.round(dst, x[m*ldx:m*ldx+k], full) })
	case few:
		p.a, p.first, p.width = x, 0, ldx
	default:
		p.copyRows(t0, t1, k, func(dst []float32, m int) { copy(dst, x[m*ldx:m*ldx+k]) })
	}
}

func (f *family) gradW(sc *Scratch, out []float32, ldo int, dy []float32, ldy int, x []float32, ldx, T, n0, n1, K int) {
	p := f.newProduct(sc, f.packed, out[n0*ldo:], ldo, n1-n0)
	panel := grow(&sc.panel, blockK*NR)
	for b0 := 0; b0 < p.tiles.count; b0 += p.tiles.block {
		b1 := min(b0+p.tiles.block, p.tiles.count)
		for t0 := 0; t0 < T; t0 += blockK {
			t := min(blockK, T-t0)
			p.packColumns(b0, b1, t, dy[t0*ldy+n0:], ldy)
			for k := 0; k < K; k += NR {
				cols := min(NR, K-k)
				f.panel(t, &panel[0], &x[t0*ldx+k], ldx*4, cols)
				p.multiply(b0, b1, t, &panel[0], k, cols, true)
			}
		}
	}
}
