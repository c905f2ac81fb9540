package modelfile

import (
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"runtime"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
)

// part is a tensor that is being written, and what was written.
type part struct {
	tensor
	rows func(name string, first int, to []float32) error

	sum          uint32  // of the bytes
	square, miss float64 // of the weights, and of what rounding did to them
}

// chunkLen is about how many elements are in memory at a time, for each worker.
const chunkLen = 1 << 18

// castagnoli is the polynomial that processors have an instruction for.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// chunk is some rows of a tensor.
type chunk struct {
	first, rows  int
	data         []byte
	square, miss float64
	err          error
}

// write makes the tensor, some chunks at a time, and writes them in order.
func (p *part) write(w io.Writer) error {
	total, step := int(p.elements())/p.width(), max(1, chunkLen/p.width())
	if p.head > 0 {
		step = max(p.head, step/p.head*p.head)
	}
	table := castagnoli()
	for first := 0; first < total; {
		var some []*chunk
		for len(some) < runtime.GOMAXPROCS(0) && first < total {
			c := &chunk{first: first, rows: min(step, total-first)}
			some = append(some, c)
			first += c.rows
		}
		p.fill(some)
		for _, c := range some {
			if c.err != nil {
				return fmt.Errorf("modelfile: tensor %s: %w", p.name, c.err)
			}
			p.sum = crc32.Update(p.sum, table, c.data)
			p.square += c.square
			p.miss += c.miss
			if _, err := w.Write(c.data); err != nil {
				return err
			}
		}
	}
	return p.judge()
}

// fill makes chunks side by side.
func (p *part) fill(some []*chunk) {
	var all sync.WaitGroup
	for _, c := range some {
		all.Go(func() { c.err = p.make(c) })
	}
	all.Wait()
}

// make reads the rows of a chunk, stores them as the tensor's type, and reads that back to see what was lost.
func (p *part) make(c *chunk) error {
	x := make([]float32, c.rows*p.width())
	if p.constant != nil {
		copy(x, p.constant)
	} else if err := p.read(c.first, x); err != nil {
		return err
	}
	if p.decay {
		decayed(x)
	}
	if p.one {
		for i := range x {
			x[i]++
		}
	}
	for i, v := range x {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return fmt.Errorf("element %d of row %d of %s is %v; the model is damaged, choose another step",
				i%p.width(), c.first+i/p.width(), p.from, v)
		}
	}
	if p.head > 0 {
		ordered := make([]float32, len(x))
		reorder(ordered, x, p.width(), p.head)
		x = ordered
	}
	size, _ := p.kind.Bytes(int64(len(x)))
	c.data = make([]byte, size)
	if err := gguf.Narrow(p.kind, c.data, x); err != nil {
		return err
	}
	back := make([]float32, len(x))
	if err := gguf.Widen(p.kind, back, c.data); err != nil {
		return err
	}
	for i, v := range x {
		d := float64(back[i]) - float64(v)
		c.square += float64(float64(v) * float64(v))
		c.miss += float64(d * d)
	}
	return nil
}

// read reads rows of the file from row first on, from wherever the folder has them.
func (p *part) read(first int, x []float32) error {
	width := p.width()
	switch {
	case p.stack != nil:
		return p.readStack(first, x)
	case p.tile == nil:
		return p.rows(p.from, p.row+first, x)
	case p.tile.Columns:
		folder := make([]float32, len(x))
		if err := p.rows(p.from, first, folder); err != nil {
			return err
		}
		for i := range x {
			x[i] = folder[i-i%width+int(p.tile.Folder(int64(i%width)))]
		}
		return nil
	}
	for i := range len(x) / width {
		row := int(p.tile.Folder(int64(first + i)))
		if err := p.rows(p.from, row, x[i*width:(i+1)*width]); err != nil {
			return err
		}
	}
	return nil
}

// readStack reads rows of tensors that stand one after another.
func (p *part) readStack(first int, x []float32) error {
	width, each := p.width(), int(gguf.Tensor{Shape: p.shape[1:]}.Len())/p.width()
	for len(x) > 0 {
		at := first % each
		n := min(each-at, len(x)/width)
		if err := p.rows(p.stack[first/each], at, x[:n*width]); err != nil {
			return err
		}
		x, first = x[n*width:], first+n
	}
	return nil
}

// share is a root mean squared error as a share.
func share(miss, all float64) float64 {
	if miss == 0 {
		return 0
	}
	return math.Sqrt(miss / all)
}

// judge refuses a tensor that its type cannot hold. The limits are far from what rounding does to ordinary weights.
func (p *part) judge() error {
	limit := 0.5
	switch p.kind {
	case gguf.F32:
		limit = 0
	case gguf.BF16, gguf.F16:
		limit = 1.0 / 256
	case gguf.Q8_0:
		limit = 0.05
	}
	if e := share(p.miss, p.square); !(e <= limit) {
		return fmt.Errorf("modelfile: tensor %s stored as %s has an error of %.3g of its values, and %.3g is allowed: "+
			"its values are too great, too small or too unequal for the type; choose bf16", p.name, p.kind, e, limit)
	}
	return nil
}
