package nn

import (
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
)

// Linear is y = x·Wᵀ + b. Several projections of one input (q, k and v; gate and up) are one Linear with their rows of
// W one after another. Each output element is one sum over k, so fusing changes no bit. bf16 weights round x (and in
// the backward dy) to bf16. Frozen weights may be in int8 instead, see [kernel.Quads]: LoRA's factors then are bf16.
type Linear struct {
	W    *kernel.Panels // [N,K], or nil
	Q    *kernel.Quads  // [N,K], or nil
	M    *kernel.Micro  // [N,K] if both are nil: bf16 in MXFP4
	Bias []float32      // [N], or nil
}

// Outputs and Inputs are N and K.
func (l *Linear) Outputs() int {
	switch {
	case l.Q != nil:
		return l.Q.N
	case l.M != nil:
		return l.M.N
	}
	return l.W.N
}

func (l *Linear) Inputs() int {
	switch {
	case l.Q != nil:
		return l.Q.K
	case l.M != nil:
		return l.M.K
	}
	return l.W.K
}

// BF16 reports whether x and dy are packed in bf16, for the weights or for LoRA's factors.
func (l *Linear) BF16() bool { return l.Q != nil || l.M != nil || l.W.BF16 }

// Unpack writes W to dst [N,K], widened.
func (l *Linear) Unpack(dst []float32) {
	for n := range l.Outputs() {
		(&Embedding{*l}).Row(dst[n*l.Inputs():][:l.Inputs()], int32(n))
	}
}

// Forward computes y [M,N] from x [M,K], which in holds packed, with the additions of LoRA.Down. int8 weights read x.
func (l *Linear) Forward(on Products, y, x Rows, in *kernel.Input, more []kernel.Addition) {
	if l.Q != nil {
		l.forwardInts(on, y, x, more)
		return
	}
	if l.Bias != nil {
		for m := range in.M {
			copy(y.Row(m), l.Bias)
		}
	}
	if l.M != nil {
		on.matMulMicro(y, in, l.M, l.Bias != nil, more)
		return
	}
	on.MatMul(y, in, l.W, l.Bias != nil, more)
}

// Backward computes dx [M,K] = dy·W from dy [M,N], which in holds packed, with the additions of LoRA.Up. int8 weights
// read dy; then place 0 of the scratch is used again.
func (l *Linear) Backward(on Products, dx, dy Rows, in *kernel.Input, more []kernel.Addition) {
	if l.Q != nil {
		l.backwardInts(on, dx, dy, more)
		return
	}
	if l.M != nil {
		on.transposedMicro(dx, in, l.M, more)
		return
	}
	on.Transposed(dx, in, 0, in.M, l.W, false, more)
}

// LoRA is the low-rank addition to a Linear of P projections: for projection p, whose columns of y begin at Cols[p],
//
//	mid[:, p] = scale * x·A[p]ᵀ ;  y[:, p] += mid[:, p]·B[p]ᵀ
//
// in the arithmetic of the Linear's weights: with bf16, A, B and their inputs are rounded for the products. The second
// product continues the accumulator of the Linear, so that B = 0 does not change the bits of y, and is computed
// together with it.
type LoRA struct {
	Rank  int // r
	Scale float32
	Cols  []int // [P]

	a *kernel.Panels   // A of all projections [P*r,K]
	b []*kernel.Panels // B of each projection [N_p,r]
}

// NewLoRA packs A[p] [rank,K] and B[p] [N_p,rank], one pair per projection, whose columns of y begin at cols[p].
// Projections of the Linear without an addition are left out.
func NewLoRA(k *kernel.Set, rank int, scale float32, K int, bf16 bool, cols []int, A, B [][]float32) *LoRA {
	l := &LoRA{Rank: rank, Scale: scale, Cols: cols, a: k.Pack(slices.Concat(A...), len(A)*rank, K, bf16)}
	for _, b := range B {
		l.b = append(l.b, k.Pack(b, len(b)/rank, rank, bf16))
	}
	return l
}

// Unpack returns A [rank,K] and B [N_p,rank] of each projection as they are packed: with bf16, rounded.
func (l *LoRA) Unpack() (A, B [][]float32) {
	all := make([]float32, l.a.N*l.a.K)
	l.a.Unpack(all)
	n := l.Rank * l.a.K
	for p, panels := range l.b {
		b := make([]float32, panels.N*panels.K)
		panels.Unpack(b)
		A, B = append(A, all[p*n:(p+1)*n:(p+1)*n]), append(B, b)
	}
	return A, B
}

// Projections returns P, Outputs the columns of projection p, and BF16 whether A and B are multiplied in bf16.
func (l *LoRA) Projections() int   { return len(l.b) }
func (l *LoRA) Outputs(p int) int  { return l.b[p].N }
func (l *LoRA) Inputs() int        { return l.a.K }
func (l *LoRA) BF16() bool         { return l.a.BF16 }
func (l *LoRA) width() int         { return l.Rank * len(l.b) }
func (l *LoRA) column(p int) int   { return p * l.Rank }
func (l *LoRA) Mid(p int) (at int) { return l.column(p) }

// Down writes the scaled down-projections of rows a to b-1 of x to the same rows of mid [M, at least P*r], and appends
// the additions to the Linear's output to more. It uses place 1+len(more) of the scratch and the following ones.
func (l *LoRA) Down(on Products, more []kernel.Addition, mid Rows, x *kernel.Input, a, b int) []kernel.Addition {
	on.matMul(mid, x, a, b, l.a, false, nil)
	rows := mid.Slice(a, b)
	l.scale(on.K, rows, b-a)
	for p, w := range l.b {
		in := on.Pack(1+len(more), rows.From(l.column(p)), l.Rank, w.BF16)
		more = append(more, kernel.Addition{From: a, First: l.Cols[p], X: in, W: w})
	}
	return more
}

// Up is the backward of Down for rows a to b-1 of the Linear's output, whose gradient dy is packed as in: it writes
// the gradient of the unscaled down-projections to the same rows of dmid [M, at least P*r], and appends the additions
// to the gradient of x to more. dA = dmidᵀ·x and dB = dyᵀ·mid.
func (l *LoRA) Up(on Products, more []kernel.Addition, dmid, dy Rows, in *kernel.Input, a, b int) []kernel.Addition {
	for p, w := range l.b {
		part := in.Columns(l.Cols[p], l.Cols[p]+w.N)
		if l.Cols[p]%kernel.NR != 0 || w.N%kernel.NR != 0 {
			part = *on.Pack(1+len(more), dy.From(l.Cols[p]), w.N, w.BF16)
		}
		on.Transposed(dmid.From(l.column(p)), &part, a, b, w, false, nil)
	}
	rows := dmid.Slice(a, b)
	l.scale(on.K, rows, b-a)
	x := on.Pack(1+len(more), rows, l.width(), l.a.BF16)
	return append(more, kernel.Addition{From: a, X: x, W: l.a})
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
