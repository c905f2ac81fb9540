package modelfile

import (
	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf/internal/layout"
)

// tensor is a tensor of the file and where it comes from.
type tensor struct {
	name  string // in the file
	from  string // Hugging Face's name; "" for a constant
	shape []int64
	kind  gguf.Type
	head  int  // rows of a head, if the rows of each head are reordered; else 0
	layer int  // -1: of none
	one   bool // 1 is added
	decay bool // it is −exp of the folder's

	row   int          // of the folder's tensor, at which it begins
	tile  *layout.Tile // value heads are reordered; nil: they are not
	stack []string     // the folder's tensors that it has one after another; nil: from alone

	constant []float32
}

// elements is how many there are.
func (t tensor) elements() int64 { return gguf.Tensor{Shape: t.shape}.Len() }

// width is the length of a row.
func (t tensor) width() int { return int(t.shape[len(t.shape)-1]) }

// layout describes the model's tensors.
func (s Shape) layout() layout.Model {
	return layout.Model{Kind: s.Family, Vocab: int64(s.Vocab), Dim: int64(s.Dim), Layers: int64(s.Layers),
		Heads: int64(s.Heads), KVHeads: int64(s.KVHeads), HeadDim: int64(s.HeadDim), Inner: int64(s.FF),
		Permuted: s.permuted(), Tied: s.Tied, Recurrent: s.Recurrent, Taps: int64(s.Taps),
		Experts: int64(s.Experts), ExpertInner: int64(s.ExpertFF),
		Delta: layout.Delta{Keys: int64(s.Delta.Keys), Values: int64(s.Delta.Values), KeyDim: int64(s.Delta.KeyDim),
			ValueDim: int64(s.Delta.ValueDim)}}
}

// tensors lists the tensors of a model in the order of the file.
func (s Shape) tensors() []tensor {
	var list []tensor
	stacks := map[string]int{} // by their names, their places in list
	add := func(from ...layout.Tensor) {
		for _, t := range from {
			if at, there := stacks[t.File]; there {
				list[at].stack = append(list[at].stack, t.Folder)
				continue
			}
			list = append(list, tensor{name: t.File, from: t.Folder, shape: t.Shape, head: int(t.Head),
				layer: int(t.Layer), one: t.One, decay: t.Decay, row: int(t.Row), tile: t.Tile})
			if t.Stack > 0 {
				w := &list[len(list)-1]
				w.shape, w.stack = append([]int64{t.Stack}, t.Shape...), []string{t.Folder}
				stacks[t.File] = len(list) - 1
			}
		}
	}
	m := s.layout()
	outer := m.Outer()
	add(outer[0])
	if s.Llama3 != nil {
		list = append(list, tensor{name: "rope_freqs.weight", shape: []int64{int64(s.HeadDim / 2)}, layer: -1,
			constant: s.divisors()})
	}
	for n := range m.Layers {
		layer, matrices := m.Layer(n), m.Matrices(n)
		add(layer[0])
		add(matrices...)
		add(layer[1]) // the norm before the MLP comes after the matrices
		add(layer[2+len(matrices):]...)
	}
	add(outer[1:]...)
	return list
}

// reorder puts the rows of each head in the order of the file.
func reorder(to, from []float32, width, head int) {
	rows := len(from) / width
	for row := range rows {
		at := row/head*head + int(layout.FileRow(int64(row%head), int64(head)))
		copy(to[at*width:(at+1)*width], from[row*width:(row+1)*width])
	}
}
