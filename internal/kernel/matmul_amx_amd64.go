package kernel

import "unsafe"

// amx is the path of AVX-512 with bf16 products by the tiles of AMX.
type amx struct{ avx512 }

const (
	// amxRows is the number of rows of the larger micro-kernel, amxTile of the smaller.
	amxRows, amxTile = 32, 16
	// amxBlock is the number of pairs of k the kernel walks before it goes on to the next rows: 32 KiB of panel, which the first cache
	// keeps while the rows pass.
	amxBlock = 256
	// amxWords bounds the words of rows packed at once: 1 MiB, half of the second cache.
	amxWords = 1 << 18
)

// matMul packs rows of x as bf16, closely but for a cache line that keeps the rows of a tile in different places of the caches, and
// walks the panels over them.
func (v amx) matMul(sc *Scratch, out []float32, ldo int, x []float32, ldx, M int, w *Panels, p0, p1 int, acc bool) {
	if !w.BF16 || w.K == 0 {
		v.avx512.matMul(sc, out, ldo, x, ldx, M, w, p0, p1, acc)
		return
	}
	width := w.steps() + lanes
	chunk := max(amxRows, amxWords/width/amxRows*amxRows)
	parts := (M + chunk - 1) / chunk
	for i := range parts {
		m0, m1 := i*M/parts, (i+1)*M/parts
		p := amxProduct{sc: sc, w: w, out: out[m0*ldo:], ldo: ldo, M: m1 - m0, width: width, acc: acc}
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
	a      []float32 // [M up to a multiple of 16][width] words of pairs; rows behind M are zeros
	width  int
	acc    bool
}

func (p *amxProduct) pack(x []float32, ldx int) {
	K, steps := p.w.K, p.w.steps()
	rows := (p.M + amxTile - 1) / amxTile * amxTile
	p.a = grow(&p.sc.a, rows*p.width)
	written := (K + lanes - 1) / lanes * lanes / 2
	for m := range p.M {
		row := p.a[m*p.width : m*p.width+steps]
		packPairs(K, &row[0], &x[m*ldx])
		clear(row[written:])
	}
	clear(p.a[p.M*p.width:])
}

// panel multiplies all rows with panel q.
func (p *amxProduct) panel(q int) {
	steps, n := p.w.steps(), q*NR
	cols := min(NR, p.w.N-n)
	b := p.w.Pairs[q*steps*NR:]
	for s := 0; s < steps; s += amxBlock {
		blocks, acc := min(amxBlock, steps-s)/blockPairs, p.acc || s > 0
		b := (*float32)(unsafe.Pointer(&b[s*NR]))
		m := 0
		if whole := p.M / amxRows; whole > 0 && cols == NR {
			amxRows32(blocks, &p.a[s], b, &p.out[n], p.ldo*4, flag(acc), p.width*4, whole)
			m = whole * amxRows
		}
		for ; m < p.M; m += amxTile {
			rows, a := min(amxTile, p.M-m), &p.a[m*p.width+s]
			if rows == amxTile && cols == NR {
				amxRows16(blocks, a, b, &p.out[m*p.ldo+n], p.ldo*4, flag(acc), p.width*4)
			} else {
				p.edge(a, b, p.out[m*p.ldo+n:], blocks, rows, cols, acc)
			}
		}
	}
}

// edge is panel for a tile of which some rows or columns do not exist.
func (p *amxProduct) edge(a, b *float32, out []float32, blocks, rows, cols int, acc bool) {
	tile := grow(&p.sc.edge, amxTile*NR)
	if acc {
		for i := range rows {
			copy(tile[i*NR:], out[i*p.ldo:][:cols])
		}
	}
	amxRows16(blocks, a, b, &tile[0], NR*4, flag(acc), p.width*4)
	for i := range rows {
		copy(out[i*p.ldo:][:cols], tile[i*NR:])
	}
}
