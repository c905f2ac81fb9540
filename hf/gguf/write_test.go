package gguf

import (
	"bytes"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
)

// What is written is read again: metadata, shapes and values.
func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pairs := []Pair{{"general.architecture", "llama"}, {"llama.block_count", uint32(2)}, {"a", []string{"x", "", "é"}},
		{"b", []int32{-1, 7}}, {"c", []float32{0.5, -2}}, {"d", true}, {"e", float32(1e-5)}, {"f", uint16(3)},
		{"g", int32(-4)}}
	want := map[string][]float32{}
	var parts []Part
	for _, p := range []Part{{Name: "matrix", Type: F32, Shape: []int64{3, 5}}, {Name: "row", Type: F16,
		Shape: []int64{7}}, {Name: "half", Type: BF16, Shape: []int64{2, 3}}, {Name: "blocks", Type: Q8_0,
		Shape: []int64{2, 64}}} {
		n := Tensor{Shape: p.Shape}.Len()
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		raw, err := p.narrow(x)
		if err != nil {
			t.Fatal(err)
		}
		back := make([]float32, n)
		if err := Widen(p.Type, back, raw); err != nil {
			t.Fatal(err)
		}
		p.Write = func(w io.Writer) error { _, err := w.Write(raw); return err }
		parts, want[p.Name] = append(parts, p), back
	}
	var file bytes.Buffer
	if err := Encode(&file, pairs, parts); err != nil {
		t.Fatal(err)
	}
	if file.Len()%alignment != 0 {
		t.Errorf("%d bytes: the last tensor is not padded", file.Len())
	}
	f, err := Read(bytes.NewReader(file.Bytes()), int64(file.Len()), "x.gguf")
	if err != nil {
		t.Fatal(err)
	}
	for i, tensor := range f.Tensors {
		got := make([]float32, tensor.Len())
		if err := f.Floats(tensor, got, 0); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want[tensor.Name]) || !slices.Equal(tensor.Shape, parts[i].Shape) {
			t.Errorf("%s came back with shape %v and %v, want %v", tensor.Name, tensor.Shape, got, want[tensor.Name])
		}
	}
	if list, _, err := f.Metadata.Texts("a"); err != nil || !slices.Equal(list, []string{"x", "", "é"}) {
		t.Errorf("strings %q, %v", list, err)
	}
	if n, _, err := f.Metadata.Int("llama.block_count"); err != nil || n != 2 {
		t.Errorf("a number %d, %v", n, err)
	}
	if _, _, err := f.Metadata.Int("g"); err == nil {
		t.Error("a negative number was taken for a count")
	}
}

// narrow is the data of a part.
func (p Part) narrow(x []float32) ([]byte, error) {
	n, err := p.size()
	if err != nil {
		return nil, err
	}
	raw := make([]byte, n)
	return raw, Narrow(p.Type, raw, x)
}
