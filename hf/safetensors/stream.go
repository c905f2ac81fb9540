package safetensors

import (
	"cmp"
	"fmt"
	"io"
	"slices"
)

// Part is a tensor that is written when its turn comes, so that it need not be in memory.
type Part struct {
	Name  string
	DType DType
	Shape []int
	Write func(io.Writer) error // exactly the bytes that DType and Shape say
}

func (p Part) size() int64 {
	n := int64(p.DType.Size())
	for _, d := range p.Shape {
		n *= int64(d)
	}
	return n
}

// Stream returns the size in bytes of the file that Encode would make of tensors like the parts, and what writes it.
func Stream(parts []Part, metadata map[string]string) (size int64, write func(io.Writer) error, err error) {
	sorted := slices.Clone(parts)
	slices.SortStableFunc(sorted, func(a, b Part) int {
		return cmp.Or(b.DType.Size()-a.DType.Size(), cmp.Compare(a.Name, b.Name))
	})
	tensors, sizes := make([]Tensor, len(sorted)), make([]int64, len(sorted))
	for i, p := range sorted {
		tensors[i], sizes[i] = Tensor{Name: p.Name, DType: p.DType, Shape: p.Shape}, p.size()
		size += sizes[i]
	}
	head, err := encodeHeader(tensors, sizes, metadata)
	if err != nil {
		return 0, nil, err
	}
	return size + int64(len(head)), func(w io.Writer) error {
		if _, err := w.Write(head); err != nil {
			return err
		}
		for _, p := range sorted {
			counted := &counter{w: w}
			if err := p.Write(counted); err != nil {
				return err
			}
			if counted.n != p.size() {
				return fmt.Errorf("tensor %q was to have %d bytes and has %d", p.Name, p.size(), counted.n)
			}
		}
		return nil
	}, nil
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}
