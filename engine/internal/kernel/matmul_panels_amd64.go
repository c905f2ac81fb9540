package kernel

import "unsafe"

const (
	// panelRows is about the number of rows that a panel is multiplied with at once.
	panelRows = 112
	// shortPairs is the length of the stretches of a panel, in pairs of k: one of them, half of it at a time, and the
	// rows of a tile stay in the first cache.
	shortPairs = 144
	// rowBytes are the bytes of rows that stay in the second cache while the panels pass.
	rowBytes = 512 << 10
)

// walkPanels is walk with panels outermost: for a block of rows, panel after panel, and in each stretch after stretch,
// which is multiplied with all tiles of the block. So outputs are continued while they are in the cache, and weights
// are read in one stretch, the next of which is prefetched meanwhile. Rows that are too long for the second cache are
// cut first.
func (p *product) walkPanels(w *Panels, p0, p1 int, acc bool, pack func(t0, t1, s0, n int)) {
	most := panelRows / (len(p.kernels) - 1) // tiles
	blocks := (p.tiles.count + most - 1) / most
	steps := w.steps()
	for b := range blocks {
		t0, t1 := b*p.tiles.count/blocks, (b+1)*p.tiles.count/blocks
		rows := p.tiles.start(t1) - p.tiles.start(t0)
		long := equalLength(steps, max(rowBytes/(rows*p.pair*4), shortPairs))
		for s0 := 0; s0 < steps; s0 += long {
			n := min(long, steps-s0)
			pack(t0, t1, s0, n)
			p.panels(t0, t1, w, p0, p1, s0, n, acc || s0 > 0)
		}
	}
}

// panels multiplies the packed rows, which have n steps from s0 on, with panels [p0,p1).
func (p *product) panels(t0, t1 int, w *Panels, p0, p1, s0, n int, acc bool) {
	a, short := p.a, equalLength(n, shortPairs)
	at := func(q, s int) unsafe.Pointer { return unsafe.Pointer(&w.Pairs[(q*w.stride()+s0+s)*NR]) }
	for q := p0; q < p1; q++ {
		for s := 0; s < n; s += short {
			next := at(min(q+1, p1-1), 0)
			if s+short < n {
				next = at(q, s+short)
			}
			p.a = a[s*p.pair:]
			p.stretch(t0, t1, at(q, s), next, min(short, n-s), q*NR, min(NR, w.N-q*NR), acc || s > 0)
		}
	}
}

// stretch multiplies tiles [t0,t1) with n steps of a panel. Each tile prefetches its part of as many steps that are
// read next.
func (p *product) stretch(t0, t1 int, b, next unsafe.Pointer, n, column, cols int, acc bool) {
	const lines = NR * 4 / 64 // of a step
	each := (n*lines + t1 - t0 - 1) / (t1 - t0)
	for t := t0; t < t1; t++ {
		p.fetch(each, (*float32)(next), (t-t0)*each*64)
		p.multiply(t, t+1, n, (*float32)(b), column, cols, acc)
	}
}

// equalLength returns the length of the equal parts of at most about that many pairs that n pairs are cut into, in
// whole blocks of order Blocked.
func equalLength(n, most int) int {
	parts := (n + most - 1) / most
	return ((n+parts-1)/parts + blockPairs - 1) / blockPairs * blockPairs
}
