package nn

import "github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"

// Factors is mid and dmid, the narrow side of LoRA, packed for the gradients of one projection's A [r,K] and B [N,r].
// With float32 weights it is not needed: gradients are sums over rows then.
//
//	dA += dmidᵀ·x ;  dB += dyᵀ·mid
//
// with all factors rounded to bf16, in blocks of rows that start again with each stretch; see package kernel.
type Factors struct{ mid, dmid kernel.Input }

// Pack packs the first rank columns of mid and dmid.
func (f *Factors) Pack(k *kernel.Set, sc *kernel.Scratch, mid, dmid Rows, rank int, rows kernel.Stretches) {
	k.PackColumns(sc, &f.mid, mid.Data, mid.Cols, rank, rows)
	k.PackColumns(sc, &f.dmid, dmid.Data, dmid.Cols, rank, rows)
}

// GradA continues columns c0 to c1-1 of each dA [r,K] with its factors and the common x. A nil dA is not trained.
func GradA(k *kernel.Set, sc *kernel.Scratch, dA [][]float32, factors []*Factors, x Rows, rows kernel.Stretches, c0,
	c1 int) {
	w := k.PairRows(sc.Transposed(), x.Data, x.Cols, rows, c0, c1)
	for i, f := range factors {
		if dA[i] != nil {
			k.Multiply(sc, dA[i][c0:], x.Cols, &f.dmid, 0, f.dmid.M, w, 0, w.Count(), true, nil)
		}
	}
}

// GradB continues rows n0 to n1-1 of dB [N,r] with columns n0 to n1-1 of dy.
func (f *Factors) GradB(k *kernel.Set, sc *kernel.Scratch, dB []float32, dy Rows, rows kernel.Stretches, n0, n1 int) {
	r := f.mid.M
	k.MultiplyColumns(sc, dB[n0*r:], r, &f.mid, k.PairRows(sc.Transposed(), dy.Data, dy.Cols, rows, n0, n1))
}
