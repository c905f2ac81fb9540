package modeldir

import (
	"context"
	"encoding/binary"
	"io"
	"math"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf/internal/layout"
	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
)

// rows are rows of a tensor of the file that are a tensor of the model.
type rows struct {
	tensor gguf.Tensor
	at     int64 // the element at which the first row begins
	width  int64 // of a row
	n      int64
	head   int64        // rows of a head, which the converter reordered; 0: it did not
	one    bool         // the converter added 1
	decay  bool         // the converter made −exp of it
	tile   *layout.Tile // the converter reordered value heads; nil: it did not
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
		if err := r.read(f, floats[:n*r.width], i); err != nil {
			return err
		}
		if r.one {
			for k := range floats[:n*r.width] {
				floats[k]--
			}
		}
		if r.decay {
			if _, err := to.Write(logarithms(floats[:n*r.width])); err != nil {
				return err
			}
			continue
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

// read reads rows from row first on, with value heads in the folder's order.
func (r rows) read(f *gguf.File, to []float32, first int64) error {
	switch {
	case r.tile == nil:
		return f.Floats(r.tensor, to, r.at+first*r.width)
	case r.tile.Columns:
		file := make([]float32, len(to))
		if err := f.Floats(r.tensor, file, r.at+first*r.width); err != nil {
			return err
		}
		for i := range int64(len(to)) {
			to[i] = file[i-i%r.width+r.tile.File(i%r.width)]
		}
		return nil
	}
	for i := range int64(len(to)) / r.width {
		at := r.at + r.tile.File(first+i)*r.width
		if err := f.Floats(r.tensor, to[i*r.width:(i+1)*r.width], at); err != nil {
			return err
		}
	}
	return nil
}

// logarithms are those of −x, in float32.
func logarithms(list []float32) []byte {
	out := make([]byte, 4*len(list))
	for i, x := range list {
		binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(float32(elementary.Log(-float64(x)))))
	}
	return out
}

// narrow writes a row in bf16.
func narrow(to []byte, row []float32) {
	for k, x := range row {
		binary.LittleEndian.PutUint16(to[2*k:], gguf.ToBF16(x))
	}
}
