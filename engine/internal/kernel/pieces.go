package kernel

import (
	"runtime"
	"unsafe"
)

// Pieces is a matrix in separate pieces, such as the keys and values in pages. Each piece is packed like [Panels] and
// has 32 of the matrix's rows or columns. All have the same length.
type Pieces struct {
	Data [][]float32
	BF16 bool
	// Then is the memory that is likely to be read next, or nil. It does not change results: it is prefetched while
	// the last piece is computed, as each piece is while the previous one is.
	Then []float32
	// Continue lets MatMulColumns continue the sums that out holds: W's columns before these are in other pieces.
	Continue bool
}

// Len returns the number of rows or columns.
func (w *Pieces) Len() int { return len(w.Data) * PageLen }

// ahead returns the distance in bytes from piece i to the memory read after it.
func (w *Pieces) ahead(i int) int {
	next := w.Then
	if i+1 < len(w.Data) {
		next = w.Data[i+1]
	}
	if next == nil {
		return 0
	}
	return int(uintptr(unsafe.Pointer(&next[0])) - uintptr(unsafe.Pointer(&w.Data[i][0])))
}

// MatMulRows computes out [M,w.Len()] = x [M,K]·Wᵀ, where each piece of W is 32 of its rows. The bits are those of
// MatMul. Every piece is read once, in one stretch; rows should be few.
func (s *Set) MatMulRows(sc *Scratch, out []float32, ldo int, x []float32, ldx, M, K int, w *Pieces) {
	if M <= 0 || len(w.Data) == 0 {
		return
	}
	_, _ = x[(M-1)*ldx+K-1], out[(M-1)*ldo+w.Len()-1]
	checkPieces(w, PageLen, K)
	s.ops.matMulRows(sc, out, ldo, x, ldx, M, K, w)
	runtime.KeepAlive(w)
}

// MatMulColumns computes out [M,N] = x [M,w.Len()]·Wᵀ, where each piece of W is 32 of its columns, in their order.
// Else it is like MatMulRows.
func (s *Set) MatMulColumns(sc *Scratch, out []float32, ldo int, x []float32, ldx, M, N int, w *Pieces) {
	if M <= 0 || len(w.Data) == 0 {
		return
	}
	_, _ = x[(M-1)*ldx+w.Len()-1], out[(M-1)*ldo+N-1]
	checkPieces(w, N, PageLen)
	s.ops.matMulColumns(sc, out, ldo, x, ldx, M, N, w)
	runtime.KeepAlive(w)
}

// checkPieces panics if a piece is too short for panels of a matrix [N,K].
func checkPieces(w *Pieces, N, K int) {
	words := PanelBytes(N, K, w.BF16) / 4
	for _, piece := range w.Data {
		_ = piece[words-1]
	}
}

func (v portable) matMulRows(sc *Scratch, out []float32, ldo int, x []float32, ldx, M, K int, w *Pieces) {
	for i, piece := range w.Data {
		p := ViewPanels(piece, PageLen, K, w.BF16)
		v.matMul(sc, out[i*PageLen:], ldo, x, ldx, M, &p, 0, 1, false)
	}
}

func (v portable) matMulColumns(sc *Scratch, out []float32, ldo int, x []float32, ldx, M, N int, w *Pieces) {
	for i, piece := range w.Data {
		p := ViewPanels(piece, N, PageLen, w.BF16)
		v.matMul(sc, out, ldo, x[i*PageLen:], ldx, M, &p, 0, p.Count(), w.Continue || i > 0)
	}
}
