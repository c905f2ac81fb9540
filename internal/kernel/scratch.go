package kernel

// Scratch is one worker's memory for packing. It must not be used by two
// goroutines at once.
type Scratch struct {
	row   []float32 // one row rounded to bf16
	a     []float32 // packed rows
	panel []float32 // packed columns
	edge  []float32 // one tile of the output, for the last panel
	wide  []float32 // rows of a file, widened
	bits  []float32 // rows rounded to bf16, as halves
	turn  []float32 // the data of turned

	turned Panels // what TransposePart returned
}

// NewScratch returns an empty scratch; it grows to what the kernels ask.
func NewScratch() *Scratch { return &Scratch{} }

// grow returns n aligned floats kept in *buf. The contents are arbitrary.
func grow(buf *[]float32, n int) []float32 {
	if len(*buf) < n {
		*buf = Aligned(n + n/4)
	}
	return (*buf)[:n]
}

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
