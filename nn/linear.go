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
func (l *Linear) Forward(on Products, y, x Rows) {
	if l.Bias != nil {
		for m := range x.Len() {
			copy(y.Row(m), l.Bias)
		}
	}
	on.MatMul(y, x, l.W, l.Bias != nil)
}

// Backward computes dx [M,K] = dy·W from dy [M,N].
func (l *Linear) Backward(on Products, dx, dy Rows) { on.Turned(dx, dy, l.W, false) }

// LoRA is the low-rank addition to a Linear of P projections: for projection p, whose columns of y begin at Cols[p],
//
//	mid[:, p] = scale * x·A[p]ᵀ ;  y[:, p] += mid[:, p]·B[p]ᵀ
//
// in the arithmetic of the Linear's weights: with bf16, A, B and what meets them are rounded for the products. The second product continues
// the accumulator of the Linear, so that B = 0 leaves y's bits alone.
type LoRA struct {
	Rank  int // r
	Scale float32
	Cols  []int // [P]

	a *kernel.Panels   // A of all projections [P*r,K]
	b []*kernel.Panels // B of each projection [N_p,r]
}

// NewLoRA packs A[p] [rank,K] and B[p] [N_p,rank], one pair per projection, whose columns of y begin at cols[p]. Projections
// of the Linear without an addition are left out.
func NewLoRA(k *kernel.Set, rank int, scale float32, K int, bf16 bool, cols []int, A, B [][]float32) *LoRA {
	l := &LoRA{Rank: rank, Scale: scale, Cols: cols, a: k.Pack(slices.Concat(A...), len(A)*rank, K, bf16)}
	for _, b := range B {
		l.b = append(l.b, k.Pack(b, len(b)/rank, rank, bf16))
	}
	return l
}

// Projections returns P, and Outputs the columns of projection p.
func (l *LoRA) Projections() int   { return len(l.b) }
func (l *LoRA) Outputs(p int) int  { return l.b[p].N }
func (l *LoRA) Inputs() int        { return l.a.K }
func (l *LoRA) width() int         { return l.Rank * len(l.b) }
func (l *LoRA) column(p int) int   { return p * l.Rank }
func (l *LoRA) Mid(p int) (at int) { return l.column(p) }

// Forward continues y [M,N] with the addition for x [M,K]. mid [M, at least P*r] receives the scaled down-projection.
func (l *LoRA) Forward(on Products, y, mid, x Rows) {
	on.MatMul(mid, x, l.a, false)
	l.scale(on.K, mid, x.Len())
	for p, b := range l.b {
		on.MatMul(y.from(l.Cols[p]), mid.from(l.column(p)), b, true)
	}
}

// Backward continues dx [M,K] with the addition's gradient under dy [M,N]. dmid [M, at least P*r] receives the gradient of
// the unscaled down-projection, which dA needs: dA = dmidᵀ·x and dB = dyᵀ·mid.
func (l *LoRA) Backward(on Products, dx, dmid, dy Rows) {
	for p, b := range l.b {
		on.Turned(dmid.from(l.column(p)), dy.from(l.Cols[p]), b, false)
	}
	l.scale(on.K, dmid, dy.Len())
	on.Turned(dx, dmid, l.a, true)
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
