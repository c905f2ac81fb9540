package kernel

const (
	// maxTile is the number of rows of the largest micro-kernel.
	maxTile = 8
	// neonBlock is the length of a block of k, or of pairs: 32 KiB of panel.
	neonBlock = 256
	// neonRowsBlock is the number of rows that are computed together.
	neonRowsBlock = 128
	// aheadNear is the bytes by which a panel is prefetched ahead of a walk.
	aheadNear = 1024
)

// neonProduct is one matrix product while it runs: rows of a, width floats apart, and the output.
type neonProduct struct {
	neon
	sc    *Scratch
	pairs bool // of bf16
	M     int
	a     []float32
	width int
	out   []float32
	ldo   int
	ahead int
}

// multiply folds steps rows of the panel b, from column n of out on, with rows m0 to m1-1; of a from float a0 on.
func (p *neonProduct) multiply(m0, m1, a0, steps int, b []float32, n, cols int, acc bool) {
	if steps == 0 {
		return
	}
	_ = b[steps*NR-1]
	tiles := (m1 - m0 + maxTile - 1) / maxTile
	for i := range tiles {
		first := m0 + i*(m1-m0)/tiles
		rows := m0 + (i+1)*(m1-m0)/tiles - first
		a := p.a[first*p.width+a0:]
		if cols == NR {
			p.tile(rows, steps, a, b, p.out[first*p.ldo+n:], p.ldo, acc)
			continue
		}
		edge := grow(&p.sc.edge, maxTile*NR)
		for r := range rows {
			if acc {
				copy(edge[r*NR:], p.out[(first+r)*p.ldo+n:][:cols])
			}
		}
		p.tile(rows, steps, a, b, edge, NR, acc)
		for r := range rows {
			copy(p.out[(first+r)*p.ldo+n:][:cols], edge[r*NR:])
		}
	}
}

// tile computes up to 8 rows of 32 columns, in as many calls of the kernel as its tile is narrower.
func (p *neonProduct) tile(rows, steps int, a, b, c []float32, ldc int, acc bool) {
	kernels, cols := neonRowsKernels[:], neonColumns(rows)
	if p.pairs {
		kernels = p.bf16
	}
	_ = c[(rows-1)*ldc+NR-1]
	for j := 0; j < NR; j += cols {
		left := kernels[rows](steps, &a[0], &b[j], &c[j], 4*ldc, neonFlag(acc), 4*p.width, p.ahead)
		if left > 0 {
			p.again(rows, steps, left, a, b, c[j:], j, cols, ldc, acc)
		}
	}
}

// again does the last left steps of columns j to j+cols-1 of a tile by the definition.
func (p *neonProduct) again(rows, steps, left int, a, b, c []float32, j, cols, ldc int, acc bool) {
	done := steps - left
	row := grow(&p.sc.row, 2*left)
	for r := range rows {
		p.widened(row, a[r*p.width+done*p.perPair():], left)
		var sum [NR]float32
		if acc || done > 0 {
			copy(sum[j:j+cols], c[r*ldc:])
		}
		pairs := asWords(b[done*NR:])
		if p.order == Blocked {
			foldBlocks(&sum, row, pairs)
		} else {
			foldPairs(&sum, row, pairs)
		}
		copy(c[r*ldc:][:cols], sum[j:])
	}
}

func neonFlag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// place makes x, of k columns, the rows of the product: rounded for bf16, with zeros up to column full, else read where
// they are.
func (p *neonProduct) place(x []float32, ldx, k, full int) {
	if !p.pairs {
		p.a, p.width = x, ldx
		return
	}
	p.width = full/2*p.perPair() + lanes
	p.a = grow(&p.sc.a, p.M*p.width)
	for m := range p.M {
		p.round(p.a[m*p.width:], x[m*ldx:m*ldx+k], full)
	}
}

func (v neon) matMul(sc *Scratch, out []float32, ldo int, x []float32, ldx, M int, w *Panels, p0, p1 int, acc bool) {
	if w.K == 0 {
		v.portable.matMul(sc, out, ldo, x, ldx, M, w, p0, p1, acc)
		return
	}
	for m := 0; m < M; m += neonRowsBlock {
		rows := min(neonRowsBlock, M-m)
		p := neonProduct{neon: v, sc: sc, pairs: w.BF16, M: rows, out: out[m*ldo:], ldo: ldo, ahead: aheadNear}
		p.place(x[m*ldx:], ldx, w.K, upToBlock(w.K))
		p.walk(w, p0, p1, acc)
	}
}

// walk multiplies all rows with panels [p0,p1), a block of k at a time.
func (p *neonProduct) walk(w *Panels, p0, p1 int, acc bool) {
	data, perStep, steps := w.F32, 1, w.steps()
	if w.BF16 {
		data, perStep = asFloats(w.Pairs), p.perPair()
	}
	block := neonBlock
	if p.M <= 4 {
		block = steps
	}
	for s0 := 0; s0 < steps; s0 += block {
		n := min(block, steps-s0)
		for q := p0; q < p1; q++ {
			b := data[(q*w.stride()+s0)*NR:]
			p.multiply(0, p.M, s0*perStep, n, b, q*NR, min(NR, w.N-q*NR), acc || s0 > 0)
		}
	}
}

// gradW transposes dy, so that rows are walked as in a product, and packs 32 columns of x at a time.
func (v neon) gradW(sc *Scratch, out []float32, ldo int, dy []float32, ldy int, x []float32, ldx, T, n0, n1, K int) {
	p := neonProduct{neon: v, sc: sc, M: n1 - n0, out: out[n0*ldo:], ldo: ldo, ahead: aheadNear}
	panel := grow(&sc.panel, neonBlock*NR)
	for t0 := 0; t0 < T; t0 += neonBlock {
		n := min(neonBlock, T-t0)
		p.width = n
		p.a = grow(&sc.a, p.M*n)
		for t := range n {
			for m, d := range dy[(t0+t)*ldy+n0:][:p.M] {
				p.a[m*n+t] = d
			}
		}
		for k := 0; k < K; k += NR {
			cols := min(NR, K-k)
			for t := range n {
				row := panel[t*NR : t*NR+NR]
				clear(row[copy(row, x[(t0+t)*ldx+k:][:cols]):])
			}
			p.multiply(0, p.M, 0, n, panel, k, cols, true)
		}
	}
}
