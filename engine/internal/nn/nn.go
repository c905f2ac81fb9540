// Package nn holds the layers of a decoder-only transformer, each with its forward and its backward, over rows: the
// tokens of all sequences of a batch one after another, never padded.
//
// No result depends on which rows are computed together. Every function computes a block of rows (or, for attention
// backward, one sequence), and its caller divides the batch into blocks. So the bits of a row are a function of the
// weights and of the tokens before it. Sums follow package kernel: one float32 accumulator, terms in ascending order.
package nn

import (
	"sync"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
)

// Compute is the kernels and the workers that layers run on.
type Compute struct {
	K *kernel.Set
	P *kernel.Pool
}

// Rows is a matrix [T,Cols], row-major without gaps.
type Rows struct {
	Data []float32
	Cols int
}

// Row returns row t.
func (r Rows) Row(t int) []float32 { return r.Data[t*r.Cols : (t+1)*r.Cols] }

// Slice returns rows a to b-1.
func (r Rows) Slice(a, b int) Rows { return Rows{r.Data[a*r.Cols : b*r.Cols], r.Cols} }

// Len returns T.
func (r Rows) Len() int {
	if r.Cols == 0 {
		return 0
	}
	return (len(r.Data) + r.Cols - 1) / r.Cols
}

// From returns the same rows without their first columns; the distance between rows stays the same.
func (r Rows) From(column int) Rows { return Rows{r.Data[min(column, len(r.Data)):], r.Cols} }

// Resize makes r [T,cols] with arbitrary contents, in its old memory if that is large enough.
func (r *Rows) Resize(T, cols int) {
	r.Data = resize(r.Data, T*cols)
	r.Cols = cols
}

// resize returns n floats with arbitrary contents, in buf's memory if it is large enough.
func resize(buf []float32, n int) []float32 {
	if cap(buf) < n {
		buf = kernel.Aligned(n + kernel.Spare(n))
	}
	return buf[:n]
}

// Workspace is the memory of one running part: attention's scores and the like.
type Workspace struct {
	scores, grads        []float32
	inv, sunk            []float32
	keys, values, dk, dv []float32
	keysT, valuesT       kernel.Transposed
	ofKeys, ofValues     kernel.Pieces
	singles              []single // see few
	runs                 []run
	width                int // of their scores
	few                  []float32
	delta                deltaSpace
	conv                 []float32

	Rows      [2]Rows   // for the caller
	Stretches []Stretch // likewise
}

// Workspaces is a pool of workspaces for the parts of a parallel region. The zero value is ready.
type Workspaces struct {
	mu   sync.Mutex
	free []*Workspace
}

// Get returns an unused workspace.
func (w *Workspaces) Get() *Workspace {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.free); n > 0 {
		ws := w.free[n-1]
		w.free = w.free[:n-1]
		return ws
	}
	return &Workspace{}
}

// Put takes a workspace back.
func (w *Workspaces) Put(ws *Workspace) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.free = append(w.free, ws)
}
