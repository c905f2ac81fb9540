package kernel

import "unsafe"

const (
	// avx2Tile is the number of rows of the largest micro-kernel of AVX2.
	avx2Tile = 6
	// avx2BlockTiles is the number of its tiles packed at once: as many rows as blockTiles
	// of AVX-512 have.
	avx2BlockTiles = blockTiles * maxTile / avx2Tile
)

// avx2 is the path of the kernels for processors with AVX2 and FMA.
type avx2 struct{ order Order }

func (v avx2) matMul(sc *Scratch, out []float32, ldo int, x []float32, ldx, M int, w *Panels, p0, p1 int, acc bool) {
	if w.K == 0 {
		portable(v).matMul(sc, out, ldo, x, ldx, M, w, p0, p1, acc)
		return
	}
	p := product{sc: sc, out: out, ldo: ldo, tiles: newTiles(M, avx2Tile)}
	data, perStep := unsafe.Pointer(unsafe.SliceData(w.F32)), 1
	if w.BF16 {
		data, perStep = unsafe.Pointer(unsafe.SliceData(w.Pairs)), 2
	}
	steps, few := w.steps(), p1-p0 <= fewPanels
	for t0 := 0; t0 < p.tiles.count; t0 += avx2BlockTiles {
		t1 := min(t0+avx2BlockTiles, p.tiles.count)
		for s0 := 0; s0 < steps; s0 += blockK / perStep {
			n := min(blockK/perStep, steps-s0)
			k0 := s0 * perStep
			v.layX(&p, t0, t1, x[k0:], ldx, min(n*perStep, w.K-k0), n*perStep, w.BF16, few)
			for q := p0; q < p1; q++ {
				b := (*float32)(unsafe.Add(data, (q*steps+s0)*NR*4))
				p.multiply(t0, t1, n, b, q*NR, min(NR, w.N-q*NR), acc || s0 > 0)
			}
		}
	}
}

// layX is that of avx512, for the kernels of this path.
func (v avx2) layX(p *product, t0, t1 int, x []float32, ldx, k, full int, bf16, few bool) {
	switch {
	case bf16:
		p.kernels = avx2WideKernels[:]
		if v.order == Blocked {
			p.kernels = avx2BlockedKernels[:]
		}
		p.copyRows(t0, t1, func(dst []float32, m int) {
			clear(dst[k:full])
			avx2RoundBF16(k, &dst[0], &x[m*ldx])
		})
	case few:
		p.kernels = avx2RowsKernels[:]
		p.a, p.first, p.width = x, 0, ldx
	default:
		p.kernels = avx2RowsKernels[:]
		p.copyRows(t0, t1, func(dst []float32, m int) { copy(dst, x[m*ldx:m*ldx+k]) })
	}
}

// packColumns is that of product, for the kernels of this path.
func (avx2) packColumns(p *product, t0, t1, steps int, a []float32, lda int) {
	p.place(t0, t1, steps)
	for t := t0; t < t1; t++ {
		m := p.tiles.start(t)
		avx2PackColumns(steps, &p.a[(m-p.first)*steps], &a[m], lda*4, p.tiles.start(t+1)-m)
	}
}

func (v avx2) gradW(sc *Scratch, out []float32, ldo int, dy []float32, ldy int, x []float32, ldx, T, n0, n1, K int) {
	p := product{sc: sc, out: out[n0*ldo:], ldo: ldo, tiles: newTiles(n1-n0, avx2Tile), kernels: avx2F32Kernels[:]}
	panel := grow(&sc.panel, blockK*NR)
	for b0 := 0; b0 < p.tiles.count; b0 += avx2BlockTiles {
		b1 := min(b0+avx2BlockTiles, p.tiles.count)
		for t0 := 0; t0 < T; t0 += blockK {
			t := min(blockK, T-t0)
			v.packColumns(&p, b0, b1, t, dy[t0*ldy+n0:], ldy)
			for k := 0; k < K; k += NR {
				cols := min(NR, K-k)
				avx2PackPanel(t, &panel[0], &x[t0*ldx+k], ldx*4, cols)
				p.multiply(b0, b1, t, &panel[0], k, cols, true)
			}
		}
	}
}

func (v avx2) tile(sc *Scratch, out []float32, ldo int, a []float32, ldaM, ldaK, M int, panel []float32, K int, acc bool) {
	p := product{sc: sc, out: out, ldo: ldo, tiles: newTiles(M, avx2Tile), kernels: avx2F32Kernels[:]}
	switch {
	case K > 0 && ldaK == 1 && M <= avx2Tile: // decoding: as little as possible around the kernel
		avx2RowsKernels[M](K, &a[0], &panel[0], &out[0], ldo*4, flag(acc), ldaM*4)
	case K > 0 && ldaK == 1:
		p.kernels = avx2RowsKernels[:]
		p.a, p.width = a, ldaM
		p.multiply(0, p.tiles.count, K, &panel[0], 0, NR, acc)
	case K > 0 && ldaM == 1:
		for t := range p.tiles.count {
			v.packColumns(&p, t, t+1, K, a, ldaK)
			p.multiply(t, t+1, K, &panel[0], 0, NR, acc)
		}
	default:
		portable{}.tile(sc, out, ldo, a, ldaM, ldaK, M, panel, K, acc)
	}
}
