package nn

import "github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"

// Embedding is a table of vectors [V,D] in the form of a Linear's weights. A tied model shares them with the head.
type Embedding struct{ Linear }

// Row copies the vector of a token to dst [D].
func (e *Embedding) Row(dst []float32, token int32) {
	switch {
	case e.Q != nil:
		e.Q.Row(dst, int(token))
	case e.M != nil:
		e.M.Row(dst, int(token))
	default:
		e.W.Row(dst, int(token))
	}
}

// EmbeddingGrad adds dx [T,D] to the rows of dtable [V,D] that tokens select, token by token.
func EmbeddingGrad(k *kernel.Set, dtable []float32, dx Rows, tokens []int32) {
	for t, tok := range tokens {
		k.Add(dtable[int(tok)*dx.Cols:][:dx.Cols], dx.Row(t))
	}
}
