package kernel

import "unsafe"

// amx is the path of AVX-512 with bf16 products by the tiles of AMX.
type amx struct{ avx512 }

const (
	// amxRows is the number of rows of the larger micro-kernel, amxTile of the smaller.
	amxRows, amxTile = 32, 16
	// amxFew is the number of rows that take less time on the kernels of AVX-512: a tile would be all but empty.
	amxFew = 2
	// amxBlocks is the number of blocks of 32 k the kernel walks before it goes on to the next rows: 16 KiB of panel, which the first
	// cache keeps while the rows pass.
	amxBlocks = 8
	// amxWords bounds the words of rows packed at once: 512 KiB, a quarter of the second cache.
	amxWords = 1 << 17
)

// matMul packs rows of x and walks the panels over them.
func (v amx) matMul(sc *Scratch, out []float32, ldo int, x []float32, ldx, M int, w *Panels, p0, p1 int, acc bool) {
	if !w.BF16 || w.K == 0 || M <= amxFew {
		v.avx512.matMul(sc, out, ldo, x, ldx, M, w, p0, p1, acc)
		return
	}
	steps := w.steps()
	chunk := max(amxRows, amxWords/steps/amxRows*amxRows)
	parts := (M + chunk - 1) / chunk
	for i := range parts {
		m0, m1 := i*M/parts, (i+1)*M/parts
		p := amxProduct{sc: sc, w: w, out: out[m0*ldo:], ldo: ldo, M: m1 - m0, acc: acc}
		p.pack(x[m0*ldx:], ldx)
		for q := p0; q < p1; q++ {
			p.panel(q)
		}
	}
}

// amxProduct is one product of packed rows while it runs.
type amxProduct struct {
	sc     *Scratch
	w      *Panels
	out    []float32
	ldo, M int
	acc    bool
	// The rows are [M/32][K/32][32][16] words of pairs: 16 rows of a block of k are a tile, one stretch of memory. What does not exist
	// is zero.
	a []float32
}

// row returns the place of row m's first block.
func (p *amxProduct) row(m int) int {
	return m/amxRows*amxRows*p.w.steps() + m%amxRows*blockPairs
}

func (p *amxProduct) pack(x []float32, ldx int) {
	up := (p.M + amxTile - 1) / amxTile * amxTile
	if up%amxRows != 0 && p.M%amxRows > amxTile {
		up += amxTile
	}
	p.a = grow(&p.sc.a, (p.M+amxRows-1)/amxRows*amxRows*p.w.steps())
	whole := p.w.K / (2 * blockPairs)
	for m := 0; m < up; m += amxTile {
		blocks := whole
		if m+amxTile > p.M {
			blocks = 0
		}
		if blocks > 0 {
			packTile(blocks, &p.a[p.row(m)], &x[m*ldx], ldx*4, amxRows*blockPairs*4)
		}
		p.packEdge(x, ldx, m, blocks)
	}
}

// packEdge packs what is not whole of the 16 rows from m on: their blocks from first on, and rows that do not exist.
func (p *amxProduct) packEdge(x []float32, ldx, m, first int) {
	for r := range amxTile {
		to := p.a[p.row(m+r):]
		for b := first; b < p.w.steps()/blockPairs; b++ {
			block := to[b*amxRows*blockPairs:][:blockPairs]
			clear(block)
			if k := b * 2 * blockPairs; m+r < p.M && k < p.w.K {
				packPairs(min(2*blockPairs, p.w.K-k), &block[0], &x[(m+r)*ldx+k])
			}
		}
	}
}

// panel multiplies all rows with panel q. Their 32 columns are summed in one stretch of memory: in out the rows may be a power of 2
// apart and crowd each other out of the caches.
func (p *amxProduct) panel(q int) {
	steps, n := p.w.steps(), q*NR
	cols := min(NR, p.w.N-n)
	pairs, half := p.M/amxRows, p.M%amxRows
	if half > amxTile {
		pairs, half = pairs+1, 0
	}
	c := grow(&p.sc.edge, (pairs*amxRows+amxTile)*NR)
	if p.acc {
		packPanel(p.M, &c[0], &p.out[n], p.ldo*4, cols)
	}
	for s := 0; s < steps; s += amxBlocks * blockPairs {
		blocks, acc := min(amxBlocks, (steps-s)/blockPairs), flag(p.acc || s > 0)
		b := (*float32)(unsafe.Pointer(&p.w.Pairs[(q*steps+s)*NR]))
		if pairs > 0 {
			amxRows32(blocks, &p.a[s*amxRows], b, &c[0], acc, steps*amxRows*4, pairs)
		}
		if half > 0 {
			amxRows16(blocks, &p.a[p.row(pairs*amxRows)+s*amxRows], b, &c[pairs*amxRows*NR], acc, 0, 1)
		}
	}
	storePanel(p.M, &p.out[n], &c[0], p.ldo*4, cols)
}
