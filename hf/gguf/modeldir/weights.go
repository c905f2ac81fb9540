package modeldir

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf/internal/layout"
	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
)

// layout describes the model's tensors.
func (s *shape) layout() layout.Model {
	return layout.Model{Kind: s.kind, Vocab: s.vocab, Dim: s.dim, Layers: s.layers, Heads: s.heads, KVHeads: s.kvHeads,
		HeadDim: s.headDim, Inner: s.ff, Permuted: s.permuted, Tied: s.tied, Experts: s.experts,
		ExpertInner: s.expertFF, Recurrent: s.recurrent, Taps: s.taps, Delta: s.delta}
}

// wanted lists the tensors of a model.
func (s *shape) wanted() []layout.Tensor {
	m := s.layout()
	list := m.Outer()
	for n := range s.layers {
		list = append(list, m.Layer(n)...)
	}
	return list
}

// weights finds all tensors of the model in the file, and refuses one that is missing, has another shape or is left
// over.
func weights(ctx context.Context, f *gguf.File, s *shape) ([]safetensors.Part, error) {
	var parts []safetensors.Part
	stacked := map[string]rows{}
	have, used := map[string]gguf.Tensor{}, map[string]bool{"rope_freqs.weight": true}
	for _, t := range f.Tensors {
		have[t.Name] = t
	}
	for _, w := range s.wanted() {
		r, err := find(have, w)
		if err != nil {
			return nil, err
		}
		used[r.tensor.Name] = true
		if w.Stack > 0 && s.kind == layout.GptOss { // it is a part of a tensor in the folder, too
			stacked[w.Folder] = r
			continue
		}
		part := safetensors.Part{Name: w.Folder, DType: safetensors.BF16,
			Write: func(to io.Writer) error { return r.write(ctx, f, to) }}
		if w.Decay {
			part.DType = safetensors.F32
		}
		if w.Stored == nil {
			w.Stored = w.Shape
		}
		for _, d := range w.Stored {
			part.Shape = append(part.Shape, int(d))
		}
		parts = append(parts, part)
	}
	for _, k := range s.stacks(stacked) {
		parts = append(parts, k.parts(ctx, f, s.mxfp4)...)
	}
	for _, t := range f.Tensors {
		weight := strings.HasSuffix(t.Name, ".weight") || strings.HasSuffix(t.Name, ".bias")
		if weight && !used[t.Name] && !s.beyond(t.Name) {
			return nil, fmt.Errorf("tensor %s does not belong to the architecture %s; the model is of another kind, "+
				"which is not supported", t.Name, s.kind)
		}
	}
	return parts, nil
}

// find finds the rows of a tensor of the model: a tensor of the file, or a part of one that has q, k and v or experts
// one after another.
func find(have map[string]gguf.Tensor, w layout.Tensor) (rows, error) {
	r := rows{width: w.Shape[len(w.Shape)-1], n: 1, head: w.Head, one: w.One, decay: w.Decay, tile: w.Tile}
	if len(w.Shape) == 2 {
		r.n = w.Shape[0]
	}
	shape, ok := w.Shape, false
	r.tensor, ok = have[w.File]
	if fused, there := have[w.Fused]; !ok && there {
		ok, r.tensor, r.at = true, fused, w.First
		shape = slices.Clone(w.Shape)
		if shape[0] = w.FusedRows; len(shape) == 2 {
			r.at *= r.width
		}
	}
	if w.Stack > 0 {
		r.at += w.At * gguf.Tensor{Shape: shape}.Len()
		shape = append([]int64{w.Stack}, shape...)
	}
	switch {
	case !ok:
		return r, fmt.Errorf("tensor %s is missing; the file is incomplete: download it again", w.File)
	case !slices.Equal(r.tensor.Shape, shape):
		return r, fmt.Errorf("tensor %s has the shape %v; the metadata say %v", r.tensor.Name, r.tensor.Shape, shape)
	}
	return r, nil
}
