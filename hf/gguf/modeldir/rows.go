package modeldir

import (
	"context"
	"encoding/binary"
	"io"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf/internal/layout"
)

// rows are rows of a tensor of the file that are a tensor of the model.
type rows struct {
	tensor gguf.Tensor
	at     int64 // the element at which the first row begins
	width  int64 // of a row
	n      int64
	head   int64 // rows of a head, which the converter reordered; 0: it did not
	one    bool  // the converter added 1
}

// together is how many elements are read at a time, unless a head or a row has more.
const together = 1 << 18

// write writes the rows in bf16, in the order of the folder. A few rows are in memory at a time.
func (r rows) write(ctx context.Context, f *gguf.File, to io.Writer) error {
	step := max(1, together/r.width)
	if r.head > 0 {
		step = r.head
	}
	floats, out := make([]float32, min(step, r.n)*r.width), make([]byte, 2*min(step, r.n)*r.width)
	for i := int64(0); i < r.n; i += step {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n := min(step, r.n-i)
		if err := f.Floats(r.tensor, floats[:n*r.width], r.at+i*r.width); err != nil {
			return err
		}
		if r.one {
			for k := range floats[:n*r.width] {
				floats[k]--
			}
		}
		for k := range n {
			row := k
			if r.head > 0 {
				row = layout.FileRow(k, n)
			}
			narrow(out[2*k*r.width:], floats[row*r.width:(row+1)*r.width])
		}
		if _, err := to.Write(out[:2*n*r.width]); err != nil {
			return err
		}
	}
	return nil
}

// narrow writes a row in bf16.
func narrow(to []byte, row []float32) {
	for k, x := range row {
		binary.LittleEndian.PutUint16(to[2*k:], gguf.ToBF16(x))
	}
}
