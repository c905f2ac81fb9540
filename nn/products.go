package nn

import "github.com/seed-d9ad8ee0/trinity/internal/kernel"

// Products is what matrix products run on: the kernels and a scratch of the caller or, with a pool, all of its workers, who share the
// columns of each product. Sharing pays where rows are few and weights large: every worker then reads its part of the weights
// alone. It changes no bit. With a pool the caller must not be one of its workers.
type Products struct {
	K  *kernel.Set
	SC *kernel.Scratch
	P  *kernel.Pool
}

// MatMul computes y [M,N] = x [M,K]·Wᵀ, or continues it.
func (c Products) MatMul(y, x Rows, w *kernel.Panels, add bool) {
	c.share(w.Count(), func(sc *kernel.Scratch, p0, p1 int) {
		c.K.MatMul(sc, y.Data, y.Cols, x.Data, x.Cols, x.Len(), w, p0, p1, add)
	})
}

const (
	// turnRows and turnCols are the part of W that Turned transposes at once: at 1 MiB in bf16 it stays in the second cache.
	turnRows, turnCols = 2048, 256
)

// Turned computes dx [M,K] = dy [M,N]·W, or continues it. The panels of Wᵀ are made for a part of W at a time, in the scratch,
// and dx's accumulators continue from one to the next: a second copy of the weights would cost more than turning them.
func (c Products) Turned(dx, dy Rows, w *kernel.Panels, add bool) {
	c.share((w.K+kernel.NR-1)/kernel.NR, func(sc *kernel.Scratch, p0, p1 int) {
		for k := p0 * kernel.NR; k < p1*kernel.NR; k += turnCols {
			to := min(k+turnCols, p1*kernel.NR, w.K)
			for n := 0; n < w.N; n += turnRows {
				wt := c.K.TransposePart(sc, w, n, min(n+turnRows, w.N), k, to)
				c.K.MatMul(sc, dx.Data[k:], dx.Cols, dy.Data[min(n, len(dy.Data)):], dy.Cols, dy.Len(), wt, 0, wt.Count(), add || n > 0)
			}
		}
	})
}

// Rows calls f for rows a to b-1, in parts if there is a pool.
func (c Products) Rows(a, b int, f func(a, b int, sc *kernel.Scratch)) {
	if c.P == nil {
		f(a, b, c.SC)
		return
	}
	n := b - a
	parts := min(n, 4*c.P.N()) // they differ: attention takes as long as its sequence is
	c.P.Run(parts, func(i int, sc *kernel.Scratch) { f(a+i*n/parts, a+(i+1)*n/parts, sc) })
}

// share calls f for all panels [p0,p1) of a product, in parts if there is a pool.
func (c Products) share(panels int, f func(sc *kernel.Scratch, p0, p1 int)) {
	if c.P == nil {
		f(c.SC, 0, panels)
		return
	}
	parts := min(panels, c.P.N())
	c.P.Run(parts, func(i int, sc *kernel.Scratch) { f(sc, i*panels/parts, (i+1)*panels/parts) })
}
