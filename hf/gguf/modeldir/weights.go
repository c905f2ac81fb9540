package modeldir

import (
	"encoding/binary"
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
	heads int64 // of q and k whose rows the converter reordered; 0: none
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
		{from: "attn_q.weight", to: "self_attn.q_proj.weight", shape: []int64{q, s.dim}, heads: qHeads},
		{from: "attn_k.weight", to: "self_attn.k_proj.weight", shape: []int64{kv, s.dim}, heads: kHeads},
		{from: "attn_v.weight", to: "self_attn.v_proj.weight", shape: []int64{kv, s.dim}},
		{from: "attn_output.weight", to: "self_attn.o_proj.weight", shape: []int64{s.dim, q}},
		{from: "ffn_gate.weight", to: "mlp.gate_proj.weight", shape: []int64{s.ff, s.dim}},
		{from: "ffn_up.weight", to: "mlp.up_proj.weight", shape: []int64{s.ff, s.dim}},
		{from: "ffn_down.weight", to: "mlp.down_proj.weight", shape: []int64{s.dim, s.ff}},
	}
	switch s.kind {
	case "qwen2":
		list = append(list, source{from: "attn_q.bias", to: "self_attn.q_proj.bias", shape: []int64{q}},
			source{from: "attn_k.bias", to: "self_attn.k_proj.bias", shape: []int64{kv}},
			source{from: "attn_v.bias", to: "self_attn.v_proj.bias", shape: []int64{kv}})
	case "qwen3":
		list = append(list, source{from: "attn_q_norm.weight", to: "self_attn.q_norm.weight",
			shape: []int64{s.headDim}},
			source{from: "attn_k_norm.weight", to: "self_attn.k_norm.weight", shape: []int64{s.headDim}})
	}
	for i := range list {
		list[i].from = fmt.Sprintf("blk.%d.%s", n, list[i].from)
		list[i].to = fmt.Sprintf("model.layers.%d.%s", n, list[i].to)
	}
	return list
}

// weights finds all tensors of the model in the file, and refuses one that is missing, has another shape or is left
// over. It reads Llama 3's scaling into s.
func weights(f *gguf.File, s shape) ([]safetensors.Part, error) {
	var parts []safetensors.Part
	have := map[string]gguf.Tensor{}
	for _, t := range f.Tensors {
		have[t.Name] = t
	}
	for _, w := range s.wanted() {
		t, ok := have[w.from]
		if !ok {
			return nil, fmt.Errorf("tensor %s is missing; the file is incomplete, or its parts are in several files",
				w.from)
		}
		if !slices.Equal(t.Shape, w.shape) {
			return nil, fmt.Errorf("tensor %s has the shape %v; the metadata say %v", w.from, t.Shape, w.shape)
		}
		delete(have, w.from)
		part := safetensors.Part{Name: w.to, DType: safetensors.BF16,
			Write: func(to io.Writer) error { return writeRows(f, t, w.heads, to) }}
		for _, d := range w.shape {
			part.Shape = append(part.Shape, int(d))
		}
		parts = append(parts, part)
	}
	delete(have, "rope_freqs.weight")
	for name := range have {
		if strings.HasSuffix(name, ".weight") || strings.HasSuffix(name, ".bias") {
			return nil, fmt.Errorf("tensor %s does not belong to the architecture %s; the model is of another kind",
				name,
				s.kind)
		}
	}
	return parts, nil
}

// writeRows writes a tensor in bf16, a row at a time.
func writeRows(f *gguf.File, t gguf.Tensor, heads int64, to io.Writer) error {
	width := t.Shape[len(t.Shape)-1]
	rows := t.Len() / width
	row, out := make([]float32, width), make([]byte, 2*width)
	for i := range rows {
		if err := f.Floats(t, row, permuted(i, rows, heads)*width); err != nil {
			return err
		}
		for k, x := range row {
			binary.LittleEndian.PutUint16(out[2*k:], gguf.ToBF16(x))
		}
		if _, err := to.Write(out); err != nil {
			return err
		}
	}
	return nil
}

// permuted is the row of the file that is row i of the folder. The converter writes row p·D/2+i of a head of width D as
// row 2i+p, as llama.cpp's RoPE turns neighbouring elements and Hugging Face's the halves of a head.
func permuted(i, rows, heads int64) int64 {
	if heads == 0 {
		return i
	}
	d := rows / heads
	head, in := i/d, i%d
	return head*d + 2*(in%(d/2)) + in/(d/2)
}
