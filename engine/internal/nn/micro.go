package nn

import "github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"

const (
	// microPanels are expanded at once: they stay in a core's second cache.
	microPanels = 4
	// microRows and microColumns are the part of a Micro that is expanded at once to be transposed.
	microRows, microColumns = 1024, 256
)

// matMulMicro is MatMul by a Micro: panels are expanded to bf16 and multiplied, some at a time. The additions continue
// the finished product.
func (c Products) matMulMicro(y Rows, x *kernel.Input, w *kernel.Micro, add bool, more []kernel.Addition) {
	c.share(0, x.M, w.Count(), fewPanels, func(sc *kernel.Scratch, m0, m1, p0, p1 int) {
		for p := p0; p < p1; p += microPanels {
			n0, n1 := p*kernel.NR, min(min(p+microPanels, p1)*kernel.NR, w.N)
			part := w.Expand(sc.Expanded(), n0, n1, 0, w.K)
			c.K.Multiply(sc, y.From(n0).Data, y.Cols, x, m0, m1, part, 0, part.Count(), add, nil)
		}
	})
	for _, a := range more {
		c.matMul(y.Slice(a.From, a.From+a.X.M).From(a.First), a.X, 0, a.X.M, a.W, true, nil)
	}
}

// transposedMicro is Transposed by a Micro: the sums continue from one part of its rows to the next.
func (c Products) transposedMicro(dx Rows, dy *kernel.Input, w *kernel.Micro, more []kernel.Addition) {
	c.share(0, dy.M, w.K/kernel.NR, transposedPanels, func(sc *kernel.Scratch, m0, m1, p0, p1 int) {
		for n := 0; n < w.N; n += microRows {
			end := min(n+microRows, w.N)
			in := dy.Columns(n, end)
			for k := p0 * kernel.NR; k < p1*kernel.NR; k += microColumns {
				part := w.Expand(sc.Expanded(), n, end, k, min(k+microColumns, p1*kernel.NR))
				c.K.MultiplyTransposed(sc, dx.From(k).Data, dx.Cols, &in, m0, m1, part, 0, part.K, n > 0, nil)
			}
		}
	})
	for _, a := range more {
		c.Transposed(dx.Slice(a.From, a.From+a.X.M), a.X, 0, a.X.M, a.W, true, nil)
	}
}
