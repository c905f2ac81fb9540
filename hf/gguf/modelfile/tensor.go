package modelfile

import (
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
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

	constant []float32
}

// elements is how many there are.
func (t tensor) elements() int64 { return gguf.Tensor{Shape: t.shape}.Len() }

// width is the length of a row.
func (t tensor) width() int { return int(t.shape[len(t.shape)-1]) }

// tensors lists the tensors of a model in the order of the file.
func (s Shape) tensors() []tensor {
	vocab, dim := int64(s.Vocab), int64(s.Dim)
	list := []tensor{{name: "token_embd.weight", from: "model.embed_tokens.weight", shape: []int64{vocab, dim},
		layer: -1}}
	if s.Llama3 != nil {
		list = append(list, tensor{name: "rope_freqs.weight", shape: []int64{int64(s.HeadDim / 2)}, layer: -1,
			constant: s.divisors()})
	}
	for n := range s.Layers {
		list = append(list, s.layer(n)...)
	}
	list = append(list, tensor{name: "output_norm.weight", from: "model.norm.weight", shape: []int64{dim}, layer: -1})
	if !s.Tied {
		list = append(list, tensor{name: "output.weight", from: "lm_head.weight", shape: []int64{vocab, dim},
			layer: -1})
	}
	for i, t := range list {
		list[i].one = s.oneMore(t)
	}
	return list
}

// linear is a matrix that an adapter may be on.
type linear struct {
	from, to string // within a layer, without .weight
	out, in  int
	head     int
}

// linears lists the matrices of a layer.
func (s Shape) linears() []linear {
	q, kv, head := s.Heads*s.HeadDim, s.KVHeads*s.HeadDim, 0
	if s.permuted() {
		head = s.HeadDim
	}
	return []linear{
		{"self_attn.q_proj", "attn_q", q, s.Dim, head},
		{"self_attn.k_proj", "attn_k", kv, s.Dim, head},
		{"self_attn.v_proj", "attn_v", kv, s.Dim, 0},
		{"self_attn.o_proj", "attn_output", s.Dim, q, 0},
		{"mlp.gate_proj", "ffn_gate", s.FF, s.Dim, 0},
		{"mlp.up_proj", "ffn_up", s.FF, s.Dim, 0},
		{"mlp.down_proj", "ffn_down", s.Dim, s.FF, 0},
	}
}

// layer lists the tensors of layer n.
func (s Shape) layer(n int) []tensor {
	var list []tensor
	add := func(to, from string, head int, shape ...int64) {
		list = append(list, tensor{name: fmt.Sprintf("blk.%d.%s", n, to),
			from: fmt.Sprintf("model.layers.%d.%s", n, from), shape: shape, head: head, layer: n})
	}
	add("attn_norm.weight", "input_layernorm.weight", 0, int64(s.Dim))
	for _, l := range s.linears() {
		add(l.to+".weight", l.from+".weight", l.head, int64(l.out), int64(l.in))
	}
	before := "post_attention_layernorm.weight"
	if s.Family == gemmaKind {
		before = "pre_feedforward_layernorm.weight"
	}
	add("ffn_norm.weight", before, 0, int64(s.Dim))
	switch s.Family {
	case "qwen2":
		for _, l := range s.linears()[:3] {
			add(l.to+".bias", l.from+".bias", 0, int64(l.out))
		}
	case "qwen3", gemmaKind:
		add("attn_q_norm.weight", "self_attn.q_norm.weight", 0, int64(s.HeadDim))
		add("attn_k_norm.weight", "self_attn.k_norm.weight", 0, int64(s.HeadDim))
	}
	if s.Family == gemmaKind {
		add("post_attention_norm.weight", "post_attention_layernorm.weight", 0, int64(s.Dim))
		add("post_ffw_norm.weight", "post_feedforward_layernorm.weight", 0, int64(s.Dim))
	}
	return list
}

// reorder puts the rows of each head in the order of the file: row p·D/2+i becomes row 2i+p.
func reorder(to, from []float32, width, head int) {
	rows := len(from) / width
	for row := range rows {
		at, in := row/head*head, row%head
		at += 2*(in%(head/2)) + in/(head/2)
		copy(to[at*width:(at+1)*width], from[row*width:(row+1)*width])
	}
}
