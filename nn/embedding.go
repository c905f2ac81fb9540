package nn

import "github.com/seed-d9ad8ee0/trinity/internal/kernel"

// Embedding is a table of vectors [V,D], bf16 or float32.
type Embedding struct {
	Dim  int
	f32  []float32
	bits []uint16
}

// NewEmbedding keeps table [V,dim], rounded to bf16 if asked.
func NewEmbedding(table []float32, dim int, bf16 bool) *Embedding {
	if !bf16 {
		return &Embedding{Dim: dim, f32: table}
	}
	e := &Embedding{Dim: dim, bits: make([]uint16, len(table))}
	for i, v := range table {
		e.bits[i] = kernel.BF16(v)
	}
	return e
}

// Row copies the vector of a token to dst [D].
func (e *Embedding) Row(dst []float32, token int32) {
	at := int(token) * e.Dim
	if e.bits == nil {
		copy(dst, e.f32[at:at+e.Dim])
		return
	}
	for i, b := range e.bits[at : at+e.Dim] {
		dst[i] = kernel.Float(b)
	}
}

// Table returns a copy of the table, widened.
func (e *Embedding) Table() []float32 {
	n := len(e.f32) + len(e.bits)
	out := make([]float32, n)
	for t := range n / e.Dim {
		e.Row(out[t*e.Dim:(t+1)*e.Dim], int32(t))
	}
	return out
}

// EmbeddingGrad continues the rows of dtable [V,D] that tokens name with dx [T,D], token by token.
func EmbeddingGrad(k *kernel.Set, dtable []float32, dx Rows, tokens []int32) {
	for t, tok := range tokens {
		k.Add(dtable[int(tok)*dx.Cols:][:dx.Cols], dx.Row(t))
	}
}
