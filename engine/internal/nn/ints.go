package nn

import "github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"

// forwardInts is Forward by int8 weights. The additions continue the finished product.
func (l *Linear) forwardInts(on Products, y, x Rows, more []kernel.Addition) {
	in := on.SC.Ints()
	on.K.UseInts(in, x.Data, x.Cols, x.Len(), l.Q.K)
	on.rows(0, in.M, func(_ *kernel.Scratch, a, b int) { on.K.PackInts(in, a, b) })
	on.share(0, in.M, l.Q.Count(), fewPanels, func(sc *kernel.Scratch, m0, m1, p0, p1 int) {
		on.K.MultiplyInts(sc, y.Data, y.Cols, in, m0, m1, l.Q, p0, p1)
	})
	if l.Bias != nil {
		for m := range in.M {
			on.K.Add(y.Row(m), l.Bias)
		}
	}
	for _, a := range more {
		on.matMul(y.Slice(a.From, a.From+a.X.M).From(a.First), a.X, 0, a.X.M, a.W, true, nil)
	}
}

// backwardInts is Backward by int8 weights: dx = z·q, where z = dy·Scales is rounded to bf16 and q is exact in it.
func (l *Linear) backwardInts(on Products, dx, dy Rows, more []kernel.Addition) {
	M, N := dy.Len(), l.Q.N
	z := Rows{on.SC.Scaled(M * N), N}
	on.Rows(0, M, func(a, b int, _ *kernel.Scratch) {
		for m := a; m < b; m++ {
			on.K.Mul(z.Row(m), dy.Row(m), l.Q.Scales)
		}
	})
	in := on.Pack(0, z, N, true)
	panels := (l.Q.K + kernel.NR - 1) / kernel.NR
	on.share(0, M, panels, transposedPanels, func(sc *kernel.Scratch, m0, m1, p0, p1 int) {
		on.K.MultiplyIntsTransposed(sc, dx.Data, dx.Cols, in, m0, m1, l.Q, p0*kernel.NR, min(p1*kernel.NR, l.Q.K))
	})
	for _, a := range more {
		on.Transposed(dx.Slice(a.From, a.From+a.X.M), a.X, 0, a.X.M, a.W, true, nil)
	}
}
