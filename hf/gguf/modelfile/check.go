package modelfile

import (
	"fmt"
	"hash/crc32"
	"reflect"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
)

// Check compares a file that Encode has written with the plan: every key, and name, type, shape and bytes of every
// tensor. The bytes were compared with the weights when they were made.
func (f *File) Check(g *gguf.File) error {
	if len(g.Tensors) != len(f.parts) || g.Metadata.Len() != len(f.pairs) {
		return fmt.Errorf("modelfile: %s has %d tensors and %d keys; %d and %d were written", g.Path(), len(g.Tensors),
			g.Metadata.Len(), len(f.parts), len(f.pairs))
	}
	for _, p := range f.pairs {
		same, err := holds(g.Metadata, p)
		if err != nil {
			return fmt.Errorf("modelfile: %w", err)
		}
		if !same {
			return fmt.Errorf("modelfile: %s: the key %s is not what was written", g.Path(), p.Key)
		}
	}
	buffer := make([]byte, 1<<20)
	for i, p := range f.parts {
		t := g.Tensors[i]
		if t.Name != p.name || t.Type != p.kind || !slices.Equal(t.Shape, p.shape) {
			return fmt.Errorf("modelfile: %s: tensor %d is %s, %s %v; %s, %s %v was written", g.Path(), i, t.Name,
				t.Type, t.Shape, p.name, p.kind, p.shape)
		}
		sum, err := sumOf(g, t, buffer)
		if err != nil {
			return err
		}
		if sum != p.sum {
			return fmt.Errorf("modelfile: %s: the bytes of tensor %s are not those that were written; the disk may be "+
				"failing", g.Path(), t.Name)
		}
	}
	return nil
}

// sumOf is the checksum of a tensor's bytes.
func sumOf(g *gguf.File, t gguf.Tensor, buffer []byte) (sum uint32, err error) {
	table := castagnoli()
	for at := int64(0); at < t.Bytes(); at += int64(len(buffer)) {
		some := buffer[:min(int64(len(buffer)), t.Bytes()-at)]
		if err := g.Raw(t, some, at); err != nil {
			return 0, err
		}
		sum = crc32.Update(sum, table, some)
	}
	return sum, nil
}

// holds reports whether the metadata has a pair.
func holds(m gguf.Metadata, p gguf.Pair) (same bool, err error) {
	switch want := p.Value.(type) {
	case string:
		got, ok, err := m.Text(p.Key)
		return ok && got == want, err
	case bool:
		got, ok, err := m.Bool(p.Key)
		return ok && got == want, err
	case uint32:
		got, ok, err := m.Int(p.Key)
		return ok && got == int64(want), err
	case float32:
		got, ok, err := m.Float(p.Key)
		return ok && float32(got) == want, err
	case []string:
		got, ok, err := m.Texts(p.Key)
		return ok && slices.Equal(got, want), err
	case []bool:
		got, ok, err := m.Bools(p.Key)
		return ok && slices.Equal(got, want), err
	case []int32:
		got, ok, err := m.Ints(p.Key)
		return ok && slices.EqualFunc(got, want, func(a int64, b int32) bool { return a == int64(b) }), err
	case []float32:
		got, ok, err := m.Floats(p.Key)
		return ok && slices.EqualFunc(got, want, func(a float64, b float32) bool { return float32(a) == b }), err
	}
	return false, fmt.Errorf("key %s has a value of the type %s, which is not compared", p.Key, reflect.TypeOf(p.Value))
}
