package kernel

// The gradient of a weight is a product over rows: dyᵀ·x. With bf16 weights it is a bf16 product too, in the set's
// order, with K running over the rows. Blocks of 32 rows start again with each stretch of rows, and the last block of
// a stretch is padded with zeros, so that the stretches in a call do not affect each other:
//
//	PairRows    the panels of xᵀ
//	PackColumns  the rows of dyᵀ
//	Multiply    continues out [N,K] with dyᵀ·x, or MultiplyColumns out [K,N], where N is the narrow side

// Stretches are rows that belong together, such as those of a sequence: stretch i is rows s[i] to s[i+1]-1.
type Stretches []int

// length returns the number of rows, with each stretch padded to whole blocks.
func (s Stretches) length() int {
	n := 0
	for i := range len(s) - 1 {
		n += upToBlock(s[i+1] - s[i])
	}
	return n
}

// upToBlock rounds up to a multiple of 32.
func upToBlock(n int) int {
	const block = 2 * blockPairs
	return (n + block - 1) / block * block
}

// PairRows returns the bf16 panels of the transpose of columns c0 to c1-1 of x, whose rows are ld floats apart:
// [c1-c0, length of rows]. They are in the memory of to, and valid until the next call with it.
func (s *Set) PairRows(to *Transposed, x []float32, ld int, rows Stretches, c0, c1 int) *Panels {
	t := &to.panels
	*t = Panels{N: c1 - c0, K: rows.length(), BF16: true}
	t.Pairs = asWords(grow(&to.data, t.words()))
	at, step := 0, t.steps()*NR
	for i := range len(rows) - 1 {
		a, b := rows[i], rows[i+1]
		if a < b && c0 < c1 {
			s.ops.pairRows(t.Pairs[at:], step, x[a*ld+c0:], ld, b-a, c1-c0)
		}
		end := at + upToBlock(b-a)/2*NR
		for q := range t.Count() {
			clear(t.Pairs[q*step+at+(b-a+1)/2*NR : q*step+end])
		}
		at = end
	}
	return t
}

// PackColumns packs in as the transpose of the first n columns of x: [n, length of rows].
func (s *Set) PackColumns(sc *Scratch, in *Input, x []float32, ld, n int, rows Stretches) {
	length := rows.length()
	transposed := grow(&in.transposed, n*length)
	at := 0
	for i := range len(rows) - 1 {
		a, b := rows[i], rows[i+1]
		end := at + upToBlock(b-a)
		if a < b {
			s.Transpose(sc, transposed[at:], length, x[a*ld:], ld, b-a, n)
		}
		for c := range n {
			clear(transposed[c*length+at+b-a : c*length+end])
		}
		at = end
	}
	s.Use(in, transposed, length, n, length, true)
	s.PackInput(in, 0, n)
}

// MultiplyColumns is Multiply into the transpose of out: out[n,m] is folded with x[m,k]*w[n,k].
func (s *Set) MultiplyColumns(sc *Scratch, out []float32, ldo int, x *Input, w *Panels) {
	sums := grow(&sc.sums, x.M*NR)
	for q := range w.Count() {
		panel := ViewPanels(asFloats(w.Pairs[q*w.stride()*NR:]), min(NR, w.N-q*NR), w.K, true)
		part := out[q*NR*ldo:]
		s.Transpose(sc, sums, NR, part, ldo, panel.N, x.M)
		s.Multiply(sc, sums, NR, x, 0, x.M, &panel, 0, 1, true, nil)
		s.Transpose(sc, part, ldo, sums, NR, x.M, panel.N)
	}
}

// Transpose sets dst[c*ldd+r] to src[r*lds+c] for r < rows and c < cols.
func (s *Set) Transpose(sc *Scratch, dst []float32, ldd int, src []float32, lds, rows, cols int) {
	block := grow(&sc.block, NR*NR)
	for r := 0; r < rows; r += NR {
		height := min(NR, rows-r)
		for c := 0; c < cols; c += NR {
			width := min(NR, cols-c)
			s.ops.packWords(asWords(block), asBytes(src[r*lds+c:]), 4*lds, height, width, false)
			for i := range width {
				copy(dst[(c+i)*ldd+r:][:height], block[i*NR:])
			}
		}
	}
}
