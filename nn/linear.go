package nn

import (
	"slices"

	"github.com/seed-d9ad8ee0/trinity/internal/kernel"
)

// Linear is y = x·Wᵀ + b. Several projections of one input (q, k and v; gate and up) are one Linear whose rows of W are
// theirs one after another: each output element is a walk over k, so fusing changes no bit. bf16 weights round x (and in
// the backward dy) to bf16.
type Linear struct {
	W    *kernel.Panels // [N,K]
	Bias []float32      // [N], or nil
}

// Forward computes y [M,N] from x [M,K].
func (l *Linear) Forward(k *kernel.Set, sc *kernel.Scratch, y, x Rows) {
	if l.Bias == nil {
		k.MatMul(sc, y.Data, y.Cols, x.Data, x.Cols, x.Len(), l.W, 0, l.W.Count(), false)
		return
	}
	for m := range x.Len() {
		copy(y.Row(m), l.Bias)
	}
	k.MatMul(sc, y.Data, y.Cols, x.Data, x.Cols, x.Len(), l.W, 0, l.W.Count(), true)
}

// turnRows is the number of W's rows that Backward transposes at once: the step in which products walk.
const turnRows = 256

// Backward computes dx [M,K] = dy·W from dy [M,N]. The panels of Wᵀ are made for some rows of W at a time, in the scratch,
// and dx's accumulators continue from one to the next: a second copy of the weights would cost more than turning them.
func (l *Linear) Backward(k *kernel.Set, sc *kernel.Scratch, dx, dy Rows) {
	for n := 0; n < l.W.N; n += turnRows {
		wt := k.TransposeRows(sc, l.W, n, min(n+turnRows, l.W.N))
		k.MatMul(sc, dx.Data, dx.Cols, dy.Data[min(n, len(dy.Data)):], dy.Cols, dy.Len(), wt, 0, wt.Count(), n > 0)
	}
}

// LoRA is the low-rank addition to a Linear of P projections: for projection p, whose columns of y begin at Cols[p],
//
//	mid[:, p] = scale * x·A[p]ᵀ ;  y[:, p] += mid[:, p]·B[p]ᵀ
//
// in float32. The second product continues the accumulator of the Linear, so that B = 0 leaves y's bits alone.
type LoRA struct {
	Rank  int // r
	Scale float32
	Cols  []int // [P]

	a, at  *kernel.Panels   // A of all projections [P*r,K], and its transpose
	b, bt  []*kernel.Panels // B of each projection [N_p,r], and its transpose
	inputs int
}

// NewLoRA packs A[p] [rank,K] and B[p] [N_p,rank], one pair per projection, whose columns of y begin at cols[p]. Projections
// of the Linear without an addition are left out.
func NewLoRA(k *kernel.Set, rank int, scale float32, K int, cols []int, A, B [][]float32) *LoRA {
	l := &LoRA{Rank: rank, Scale: scale, inputs: K, Cols: cols}
	for p := range A {
		n := len(B[p]) / rank
		l.b = append(l.b, k.Pack(B[p], n, rank, false))
		l.bt = append(l.bt, k.PackT(B[p], n, rank, false))
	}
	all := slices.Concat(A...)
	l.a = k.Pack(all, len(A)*rank, K, false)
	l.at = k.PackT(all, len(A)*rank, K, false)
	return l
}

// Projections returns P, and Outputs the columns of projection p.
func (l *LoRA) Projections() int   { return len(l.b) }
func (l *LoRA) Outputs(p int) int  { return l.b[p].N }
func (l *LoRA) Inputs() int        { return l.inputs }
func (l *LoRA) width() int         { return l.Rank * len(l.b) }
func (l *LoRA) column(p int) int   { return p * l.Rank }
func (l *LoRA) Mid(p int) (at int) { return l.column(p) }

// Forward continues y [M,N] with the addition for x [M,K]. mid [M, at least P*r] receives the scaled down-projection.
func (l *LoRA) Forward(k *kernel.Set, sc *kernel.Scratch, y, mid, x Rows) {
	M := x.Len()
	k.MatMul(sc, mid.Data, mid.Cols, x.Data, x.Cols, M, l.a, 0, l.a.Count(), false)
	l.scale(k, mid, M)
	for p, b := range l.b {
		k.MatMul(sc, y.Data[l.Cols[p]:], y.Cols, mid.Data[l.column(p):], mid.Cols, M, b, 0, b.Count(), true)
	}
}

// Backward continues dx [M,K] with the addition's gradient under dy [M,N]. dmid [M, at least P*r] receives the gradient of
// the unscaled down-projection, which dA needs: dA = dmidᵀ·x and dB = dyᵀ·mid.
func (l *LoRA) Backward(k *kernel.Set, sc *kernel.Scratch, dx, dmid, dy Rows) {
	M := dy.Len()
	for p, bt := range l.bt {
		k.MatMul(sc, dmid.Data[l.column(p):], dmid.Cols, dy.Data[l.Cols[p]:], dy.Cols, M, bt, 0, bt.Count(), false)
	}
	l.scale(k, dmid, M)
	k.MatMul(sc, dx.Data, dx.Cols, dmid.Data, dmid.Cols, M, l.at, 0, l.at.Count(), true)
}

func (l *LoRA) scale(k *kernel.Set, mid Rows, M int) {
	if l.Scale == 1 {
		return
	}
	if mid.Cols == l.width() {
		k.Scale(mid.Data[:M*mid.Cols], l.Scale)
		return
	}
	for m := range M {
		k.Scale(mid.Row(m)[:l.width()], l.Scale)
	}
}
