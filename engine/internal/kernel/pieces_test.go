package kernel

import (
	"testing"

	"pgregory.net/rapid"
)

// apart copies w [N,K] piece by piece: 32 rows each, or 32 columns.
func (s *Set) apart(w []float32, N, K int, bf16, columns bool) *Pieces {
	p := &Pieces{BF16: bf16}
	rows, cols, count := PageLen, K, N/PageLen
	if columns {
		rows, cols, count = N, PageLen, K/PageLen
	}
	for i := range count {
		part := make([]float32, rows*cols)
		for r := range rows {
			row, col := i*PageLen+r, 0
			if columns {
				row, col = r, i*PageLen
			}
			copy(part[r*cols:], w[row*K+col:][:cols])
		}
		panels := s.Pack(part, rows, cols, bf16)
		words := panels.F32
		if bf16 {
			words = asFloats(panels.Pairs)
		}
		p.Data = append(p.Data, words)
	}
	return p
}

// A product with a matrix in pieces has the bits of the product with the whole matrix, whatever follows the last
// piece.
func TestPiecesAreTheWholeMatrix(t *testing.T) {
	forEachPath(t, func(t *testing.T, s *Set) {
		rapid.Check(t, func(t *rapid.T) {
			M, count := rapid.IntRange(1, 16).Draw(t, "M"), rapid.IntRange(1, 4).Draw(t, "pieces")
			side := rapid.SampledFrom([]int{1, 2, 6, 31, 32, 34, 64, 80, 128}).Draw(t, "side")
			bf16, columns := rapid.Bool().Draw(t, "bf16"), rapid.Bool().Draw(t, "columns")
			kind := kind(rapid.IntRange(0, int(kinds-1)).Draw(t, "kind"))
			N, K := count*PageLen, side
			if columns {
				N, K = K, N
			}
			r := random(uint64(M*1000 + count*100 + side))
			ldx, ldo := K+3, N+5
			x, w, out := numbers(r, M*ldx, kind), numbers(r, N*K, kind), numbers(r, M*ldo, kind)
			want := clone(out)
			whole := s.Pack(w, N, K, bf16)
			definition(s.Order()).MatMul(NewScratch(), want, ldo, x, ldx, M, whole, 0, whole.Count(), false)
			p := s.apart(w, N, K, bf16, columns)
			if rapid.Bool().Draw(t, "then") {
				p.Then = x
			}
			if columns {
				first := rapid.IntRange(0, count-1).Draw(t, "pieces of a first product")
				if first > 0 {
					s.MatMulColumns(NewScratch(), out, ldo, x, ldx, M, N, &Pieces{Data: p.Data[:first], BF16: bf16})
					p.Data, p.Continue = p.Data[first:], true
				}
				s.MatMulColumns(NewScratch(), out, ldo, x[first*PageLen:], ldx, M, N, p)
			} else {
				s.MatMulRows(NewScratch(), out, ldo, x, ldx, M, K, p)
			}
			equal(t, "out", out, want)
		})
	})
}
