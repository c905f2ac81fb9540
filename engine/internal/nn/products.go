package nn

import "github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"

// Products runs matrix products with the kernels and a scratch, on the caller or, with a pool, on all of its workers.
// The workers share the columns of each product, so that each reads its own part of the weights, or the rows if there
// are few columns. This changes no bit. With a pool the caller must not be one of its workers.
type Products struct {
	K  *kernel.Set
	SC *kernel.Scratch
	P  *kernel.Pool
}

// Pack packs x [M,K] for products with bf16 or float32 panels, in the i-th place of the scratch, where it stays until
// that place is used again.
func (c Products) Pack(i int, x Rows, K int, bf16 bool) *kernel.Input {
	in := c.SC.Input(i)
	c.K.Use(in, x.Data, x.Cols, x.Len(), K, bf16)
	c.rows(0, in.M, func(_ *kernel.Scratch, a, b int) { c.K.PackInput(in, a, b) })
	return in
}

// MatMul computes y [M,N] = x [M,K]·Wᵀ, or continues it, and then adds more.
func (c Products) MatMul(y Rows, x *kernel.Input, w *kernel.Panels, add bool, more []kernel.Addition) {
	inside, after := aligned(more)
	c.matMul(y, x, 0, x.M, w, add, inside)
	for _, a := range after {
		c.matMul(y.Slice(a.From, a.From+a.X.M).From(a.First), a.X, 0, a.X.M, a.W, true, nil)
	}
}

// matMul is MatMul for rows m0 to m1-1.
func (c Products) matMul(y Rows, x *kernel.Input, m0, m1 int, w *kernel.Panels, add bool, more []kernel.Addition) {
	c.share(m0, m1, w.Count(), fewPanels, func(sc *kernel.Scratch, m0, m1, p0, p1 int) {
		c.K.Multiply(sc, y.Data, y.Cols, x, m0, m1, w, p0, p1, add, more)
	})
}

// Transposed computes rows m0 to m1-1 of dx [M,K] = dy [M,N]·W, or continues them, and then adds more.
func (c Products) Transposed(dx Rows, dy *kernel.Input, m0, m1 int, w *kernel.Panels, add bool,
	more []kernel.Addition) {
	c.share(m0, m1, (w.K+kernel.NR-1)/kernel.NR, transposedPanels, func(sc *kernel.Scratch, m0, m1, p0, p1 int) {
		c.K.MultiplyTransposed(sc, dx.Data, dx.Cols, dy, m0, m1, w, p0*kernel.NR, min(p1*kernel.NR, w.K), add, more)
	})
}

// aligned separates additions that begin at a panel of the product, which can be computed with it, from the others.
func aligned(more []kernel.Addition) (inside, after []kernel.Addition) {
	for i, a := range more {
		if a.First%kernel.NR != 0 {
			for _, a := range more[i:] {
				if a.First%kernel.NR != 0 {
					after = append(after, a)
				} else {
					inside = append(inside, a)
				}
			}
			return append(inside, more[:i]...), after
		}
	}
	return more, nil
}

// Rows calls f for rows a to b-1, in parts if there is a pool.
func (c Products) Rows(a, b int, f func(a, b int, sc *kernel.Scratch)) {
	if c.P == nil {
		f(a, b, c.SC)
		return
	}
	n := b - a
	parts := min(n, 4*c.P.N()) // the parts differ: attention's time depends on the length of the sequence
	c.P.Run(parts, func(i int, sc *kernel.Scratch) { f(a+i*n/parts, a+(i+1)*n/parts, sc) })
}

const (
	// With at most fewRows, each worker walks one stretch of the weights.
	fewRows = 64
	// With at most fewPanels per worker, the workers share rows instead.
	fewPanels = 4
	// A part of a product with transposed weights has at least transposedPanels, since each part reads all rows again.
	transposedPanels = 8
	// parts per worker if the work can be cut anywhere, to balance workers that are slowed down.
	parts = 4
)

// share calls f for rows [m0,m1) and all panels of a product. With a pool it calls f in parts of at least that many
// panels, unless there are few.
func (c Products) share(m0, m1, panels, least int, f func(sc *kernel.Scratch, m0, m1, p0, p1 int)) {
	switch {
	case c.P == nil:
		f(c.SC, m0, m1, 0, panels)
	case m1-m0 > fewRows && panels <= fewPanels*c.P.N():
		c.rows(m0, m1, func(sc *kernel.Scratch, a, b int) { f(sc, a, b, 0, panels) })
	default:
		n := min(panels, c.P.N())
		if m1-m0 > fewRows {
			n = max(n, min(panels/least, parts*c.P.N()))
		}
		c.P.Run(n, func(i int, sc *kernel.Scratch) { f(sc, m0, m1, i*panels/n, (i+1)*panels/n) })
	}
}

// rows calls f for rows [m0,m1). With a pool and many rows it calls f in parts that begin at a unit of packed rows.
func (c Products) rows(m0, m1 int, f func(sc *kernel.Scratch, a, b int)) {
	const unit = kernel.InputRows
	first := m0 / unit
	n := (m1+unit-1)/unit - first
	if c.P == nil || n <= 1 {
		f(c.SC, m0, m1)
		return
	}
	cuts := min(n, parts*c.P.N())
	c.P.Run(cuts, func(i int, sc *kernel.Scratch) {
		f(sc, max(m0, (first+i*n/cuts)*unit), min(m1, (first+(i+1)*n/cuts)*unit))
	})
}
