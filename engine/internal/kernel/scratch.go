package kernel

// Scratch is one worker's memory for packing. It must not be used by two
// goroutines at once.
type Scratch struct {
	row    []float32 // one row rounded to bf16
	a      []float32 // packed rows
	panel  []float32 // packed columns
	block  []float32 // a block of rows, transposed
	edge   []float32 // one tile of the output, for the last panel
	part   []float32 // a tile of it
	sums   []float32 // of a panel, transposed
	wide   []float32 // rows of a file, widened
	bits   []float32 // rows rounded to bf16, as halves
	input  Input     // rows that are used in one product only
	inputs []*Input  // rows that are used in several products

	ints       Ints      // rows for Quads
	quads      []float32 // rows of Quads in 4 bits, unpacked
	groups     []float32 // sums of the groups of a row for them
	scaled     []float32
	transposed []*Transposed // parts of weights, transposed
	more       []Addition    // with such parts
	expanded   Transposed    // a part of a Micro
}

// NewScratch returns an empty scratch, which grows as the kernels need.
func NewScratch() *Scratch { return &Scratch{} }

// Input returns the i-th place for packed rows. Its contents stay until the place is used again.
func (sc *Scratch) Input(i int) *Input {
	for len(sc.inputs) <= i {
		sc.inputs = append(sc.inputs, &Input{})
	}
	return sc.inputs[i]
}

// Ints returns the place for rows that are multiplied with Quads.
func (sc *Scratch) Ints() *Ints { return &sc.ints }

// Scaled returns n floats for rows that are multiplied by the scales of Quads.
func (sc *Scratch) Scaled(n int) []float32 { return grow(&sc.scaled, n) }

// Transposed returns the scratch's place for rows that are transposed, which MultiplyTransposed uses too.
func (sc *Scratch) Transposed() *Transposed { return sc.transposedAt(0) }

// transposedAt returns the i-th place for a transpose.
func (sc *Scratch) transposedAt(i int) *Transposed {
	for len(sc.transposed) <= i {
		sc.transposed = append(sc.transposed, &Transposed{})
	}
	return sc.transposed[i]
}

// grow returns n aligned floats kept in *buf. The contents are arbitrary.
func grow(buf *[]float32, n int) []float32 {
	if len(*buf) < n {
		*buf = Aligned(n + Spare(n))
	}
	return (*buf)[:n]
}

// Spare is the number of extra floats of a buffer that grows to n floats, so that it need not grow again soon.
func Spare(n int) int { return min(n/4, 1<<20) }

// roundedRow returns row rounded to bf16, padded with zeros to whole blocks.
func (sc *Scratch) roundedRow(row []float32) []float32 {
	const block = 2 * blockPairs
	n := len(row)
	r := grow(&sc.row, (n+block-1)/block*block)
	for i, v := range row {
		r[i] = roundBF16(v)
	}
	clear(r[n:])
	return r
}
