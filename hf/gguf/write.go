package gguf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// Part is a tensor that is written when its turn comes, so that it need not be in memory.
type Part struct {
	Name  string
	Type  Type
	Shape []int64               // as torch has it, the slowest size first
	Write func(io.Writer) error // exactly the bytes that Type and Shape say
}

// Pair is one key of a head.
type Pair struct {
	Key string
	// Value has the type that is written: uint16, uint32, int32, float32, bool, string, []bool, []int32, []float32,
	// []string.
	Value any
}

// alignment is the alignment of the data in written files.
const alignment = 32

// Encode writes a file of version 3: the metadata in the order given, and the tensors, each padded to the alignment,
// dense and in the order of their infos, as llama.cpp demands.
func Encode(w io.Writer, pairs []Pair, parts []Part) error {
	head := new(bytes.Buffer)
	head.WriteString("GGUF")
	put(head, uint32(3), uint64(len(parts)), uint64(len(pairs)))
	for _, p := range pairs {
		putText(head, p.Key)
		if err := putValue(head, p.Value); err != nil {
			return fmt.Errorf("gguf: key %s: %w", p.Key, err)
		}
	}
	sizes := make([]int64, len(parts))
	at := int64(0)
	for i, p := range parts {
		size, err := p.size()
		if err != nil {
			return err
		}
		putText(head, p.Name)
		put(head, uint32(len(p.Shape)))
		for _, d := range slices.Backward(p.Shape) {
			put(head, uint64(d))
		}
		put(head, uint32(p.Type), uint64(at))
		sizes[i] = size
		at += padded(size)
	}
	head.Write(make([]byte, padded(int64(head.Len()))-int64(head.Len())))
	if _, err := w.Write(head.Bytes()); err != nil {
		return err
	}
	for i, p := range parts {
		if err := p.encode(w, sizes[i]); err != nil {
			return err
		}
	}
	return nil
}

// padded is n rounded up to the alignment.
func padded(n int64) int64 { return (n + alignment - 1) / alignment * alignment }

// size is the bytes of the tensor's data.
func (p Part) size() (int64, error) {
	l, known := layouts(p.Type)
	n := int64(1)
	for _, d := range p.Shape {
		n *= d
	}
	switch {
	case !known || l.widen == nil:
		return 0, fmt.Errorf("gguf: tensor %s: %s cannot be written", p.Name, p.Type)
	case len(p.Name) == 0 || len(p.Name) > maxName || len(p.Shape) == 0 || len(p.Shape) > 4:
		return 0, fmt.Errorf("gguf: tensor %q with %d dimensions cannot be written", p.Name, len(p.Shape))
	case n < 1 || p.Shape[len(p.Shape)-1]%l.n != 0:
		return 0, fmt.Errorf("gguf: tensor %s has the shape %v; rows of %s are multiples of %d", p.Name, p.Shape,
			p.Type, l.n)
	}
	return n / l.n * l.size, nil
}

// encode writes the data and its padding.
func (p Part) encode(w io.Writer, size int64) error {
	c := &counter{w: w}
	if err := p.Write(c); err != nil {
		return err
	}
	if c.n != size {
		return fmt.Errorf("gguf: tensor %s was to have %d bytes and has %d", p.Name, size, c.n)
	}
	_, err := w.Write(make([]byte, padded(size)-size))
	return err
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

func put(b *bytes.Buffer, values ...any) {
	for _, v := range values {
		_ = binary.Write(b, binary.LittleEndian, v) // a buffer takes all numbers
	}
}

func putText(b *bytes.Buffer, s string) {
	put(b, uint64(len(s)))
	b.WriteString(s)
}

// putValue writes a type and a value.
func putValue(b *bytes.Buffer, value any) error {
	switch v := value.(type) {
	case uint16:
		put(b, uint32(kindU16), v)
	case uint32:
		put(b, uint32(kindU32), v)
	case int32:
		put(b, uint32(kindI32), v)
	case float32:
		put(b, uint32(kindF32), v)
	case bool:
		put(b, uint32(kindBool), v)
	case string:
		put(b, uint32(kindString))
		putText(b, v)
	case []bool:
		put(b, uint32(kindArray), uint32(kindBool), uint64(len(v)), v)
	case []int32:
		put(b, uint32(kindArray), uint32(kindI32), uint64(len(v)), v)
	case []float32:
		put(b, uint32(kindArray), uint32(kindF32), uint64(len(v)), v)
	case []string:
		put(b, uint32(kindArray), uint32(kindString), uint64(len(v)))
		for _, s := range v {
			putText(b, s)
		}
	default:
		return fmt.Errorf("a %T cannot be written", value)
	}
	return nil
}
