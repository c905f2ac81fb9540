package modeldir

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
)

// source is a tensor of the model and where it comes from.
type source struct {
	from  string // its name in the file
	to    string // its name in the folder
	shape []int64
	heads int64  // of q and k whose rows the converter reordered; 0: none
	fused string // the tensor that may have its rows instead, from row first on; "": none
	first int64
	one   bool // the file has 1 more: a norm of Gemma
}

// wanted lists the tensors of a model.
func (s *shape) wanted() []source {
	list := []source{{from: "token_embd.weight", to: "model.embed_tokens.weight", shape: []int64{s.vocab, s.dim}},
		{from: "output_norm.weight", to: "model.norm.weight", shape: []int64{s.dim}}}
	if !s.tied {
		list = append(list, source{from: "output.weight", to: "lm_head.weight", shape: []int64{s.vocab, s.dim}})
	}
	for n := range s.layers {
		list = append(list, s.layer(n)...)
	}
	for i, w := range list {
		list[i].one = s.kind == gemmaKind && strings.HasSuffix(w.from, "norm.weight")
	}
	return list
}

// layer lists the tensors of layer n.
func (s *shape) layer(n int64) []source {
	q, kv := s.heads*s.headDim, s.kvHeads*s.headDim
	qHeads, kHeads := int64(0), int64(0)
	if s.permuted {
		qHeads, kHeads = s.heads, s.kvHeads
	}
	list := []source{
		{from: "attn_norm.weight", to: "input_layernorm.weight", shape: []int64{s.dim}},
		{from: "ffn_norm.weight", to: "post_attention_layernorm.weight", shape: []int64{s.dim}},
		{from: "attn_q.weight", to: "self_attn.q_proj.weight", shape: []int64{q, s.dim}, heads: qHeads,
			fused: "attn_qkv.weight"},
		{from: "attn_k.weight", to: "self_attn.k_proj.weight", shape: []int64{kv, s.dim}, heads: kHeads,
			fused: "attn_qkv.weight", first: q},
		{from: "attn_v.weight", to: "self_attn.v_proj.weight", shape: []int64{kv, s.dim}, fused: "attn_qkv.weight",
			first: q + kv},
		{from: "attn_output.weight", to: "self_attn.o_proj.weight", shape: []int64{s.dim, q}},
		{from: "ffn_gate.weight", to: "mlp.gate_proj.weight", shape: []int64{s.ff, s.dim}},
		{from: "ffn_up.weight", to: "mlp.up_proj.weight", shape: []int64{s.ff, s.dim}},
		{from: "ffn_down.weight", to: "mlp.down_proj.weight", shape: []int64{s.dim, s.ff}},
	}
	switch s.kind {
	case "qwen2":
		const fused = "attn_qkv.bias"
		list = append(list,
			source{from: "attn_q.bias", to: "self_attn.q_proj.bias", shape: []int64{q}, fused: fused},
			source{from: "attn_k.bias", to: "self_attn.k_proj.bias", shape: []int64{kv}, fused: fused, first: q},
			source{from: "attn_v.bias", to: "self_attn.v_proj.bias", shape: []int64{kv}, fused: fused, first: q + kv})
	case "qwen3":
		list = append(list, source{from: "attn_q_norm.weight", to: "self_attn.q_norm.weight",
			shape: []int64{s.headDim}},
			source{from: "attn_k_norm.weight", to: "self_attn.k_norm.weight", shape: []int64{s.headDim}})
	case gemmaKind:
		norm := func(from, to string, width int64) {
			list = append(list, source{from: from + ".weight", to: to + ".weight", shape: []int64{width}})
		}
		list[1].to = "pre_feedforward_layernorm.weight"
		norm("attn_q_norm", "self_attn.q_norm", s.headDim)
		norm("attn_k_norm", "self_attn.k_norm", s.headDim)
		norm("post_attention_norm", "post_attention_layernorm", s.dim)
		norm("post_ffw_norm", "post_feedforward_layernorm", s.dim)
	}
	for i := range list {
		list[i].from = fmt.Sprintf("blk.%d.%s", n, list[i].from)
		if list[i].fused != "" {
			list[i].fused = fmt.Sprintf("blk.%d.%s", n, list[i].fused)
		}
		list[i].to = fmt.Sprintf("model.layers.%d.%s", n, list[i].to)
	}
	return list
}

// weights finds all tensors of the model in the file, and refuses one that is missing, has another shape or is left
// over.
func weights(ctx context.Context, f *gguf.File, s shape) ([]safetensors.Part, error) {
	var parts []safetensors.Part
	have, used := map[string]gguf.Tensor{}, map[string]bool{"rope_freqs.weight": true}
	for _, t := range f.Tensors {
		have[t.Name] = t
	}
	for _, w := range s.wanted() {
		r, err := s.find(have, w)
		if err != nil {
			return nil, err
		}
		used[r.tensor.Name] = true
		part := safetensors.Part{Name: w.to, DType: safetensors.BF16,
			Write: func(to io.Writer) error { return r.write(ctx, f, to) }}
		for _, d := range w.shape {
			part.Shape = append(part.Shape, int(d))
		}
		parts = append(parts, part)
	}
	for _, t := range f.Tensors {
		weight := strings.HasSuffix(t.Name, ".weight") || strings.HasSuffix(t.Name, ".bias")
		if weight && !used[t.Name] {
			return nil, fmt.Errorf("tensor %s does not belong to the architecture %s; the model is of another kind, "+
				"which is not supported", t.Name, s.kind)
		}
	}
	return parts, nil
}

// find finds the rows of a tensor of the model: a tensor of the file, or a part of one that has q, k and v one after
// another.
func (s *shape) find(have map[string]gguf.Tensor, w source) (rows, error) {
	r := rows{width: w.shape[len(w.shape)-1], n: 1, heads: w.heads, one: w.one}
	if len(w.shape) == 2 {
		r.n = w.shape[0]
	}
	shape, ok := w.shape, false
	r.tensor, ok = have[w.from]
	if fused, there := have[w.fused]; !ok && there {
		ok, r.tensor, r.at = true, fused, w.first
		shape = slices.Clone(w.shape)
		if shape[0] = (s.heads + 2*s.kvHeads) * s.headDim; len(shape) == 2 {
			r.at *= r.width
		}
	}
	switch {
	case !ok:
		return r, fmt.Errorf("tensor %s is missing; the file is incomplete: download it again", w.from)
	case !slices.Equal(r.tensor.Shape, shape):
		return r, fmt.Errorf("tensor %s has the shape %v; the metadata say %v", r.tensor.Name, r.tensor.Shape, shape)
	}
	return r, nil
}
