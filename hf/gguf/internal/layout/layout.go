// Package layout lists the tensors of a model: their names in a GGUF file and in a Hugging Face folder, their shapes,
// and how llama.cpp's converter changes their values. Package modeldir reads by it and package modelfile writes by it.
package layout

import (
	"fmt"
	"math"
	"strings"
)

// Gemma3 and Qwen3MoE are model_types.
const (
	Gemma3   = "gemma3_text"
	Qwen3MoE = "qwen3_moe"
)

// Model has the numbers that decide a model's tensors.
type Model struct {
	Kind                                               string // model_type
	Vocab, Dim, Layers, Heads, KVHeads, HeadDim, Inner int64  // Inner is the width inside the MLP
	Permuted                                           bool   // rows of q and k are reordered, see FileRow
	Tied                                               bool   // the head is the embedding
	Experts, ExpertInner                               int64  // of Qwen3MoE: matrices in place of each of the MLP's
}

// Tensor is a tensor of a model.
type Tensor struct {
	File, Folder string // its names
	Shape        []int64
	Head         int64 // rows of a head, if the rows of each head are reordered; else 0
	Layer        int64 // -1: of none
	One          bool  // the file has 1 more: Gemma multiplies by 1+w after a norm

	// Fused is the tensor of a file that may have the rows instead, from row First on of FusedRows; "": none.
	Fused            string
	First, FusedRows int64
	// Stack is how many matrices of the shape File has one after another, of which this is number At; 0: it is alone.
	Stack, At int64
}

// Outer lists the embedding, the last norm and the head, if the head is not the embedding.
func (m Model) Outer() []Tensor {
	list := []Tensor{
		{File: "token_embd.weight", Folder: "model.embed_tokens.weight", Shape: []int64{m.Vocab, m.Dim}, Layer: -1},
		{File: "output_norm.weight", Folder: "model.norm.weight", Shape: []int64{m.Dim}, Layer: -1,
			One: m.Kind == Gemma3},
	}
	if !m.Tied {
		list = append(list, Tensor{File: "output.weight", Folder: "lm_head.weight", Shape: []int64{m.Vocab, m.Dim},
			Layer: -1})
	}
	return list
}

// Layer lists the tensors of layer n: the norms before attention and MLP, the matrices, and the rest.
func (m Model) Layer(n int64) []Tensor {
	norms := []Tensor{m.norm("attn_norm", "input_layernorm", m.Dim),
		m.norm("ffn_norm", "post_attention_layernorm", m.Dim)}
	var rest []Tensor
	switch m.Kind {
	case "qwen2":
		for _, w := range m.matrices()[:3] {
			w.File, w.Folder = bias(w.File), bias(w.Folder)
			w.Fused, w.Shape, w.Head = bias(w.Fused), w.Shape[:1], 0
			rest = append(rest, w)
		}
	case "qwen3", Gemma3, Qwen3MoE:
		rest = []Tensor{m.norm("attn_q_norm", "self_attn.q_norm", m.HeadDim),
			m.norm("attn_k_norm", "self_attn.k_norm", m.HeadDim)}
	}
	if m.Kind == Gemma3 {
		norms[1].Folder = "pre_feedforward_layernorm.weight"
		rest = append(rest, m.norm("post_attention_norm", "post_attention_layernorm", m.Dim),
			m.norm("post_ffw_norm", "post_feedforward_layernorm", m.Dim))
	}
	return inLayer(n, append(append(norms, m.matrices()...), rest...))
}

// Matrices lists the matrices of layer n, which an adapter may be on.
func (m Model) Matrices(n int64) []Tensor { return inLayer(n, m.matrices()) }

func (m Model) norm(file, folder string, width int64) Tensor {
	return Tensor{File: file + ".weight", Folder: folder + ".weight", Shape: []int64{width}, One: m.Kind == Gemma3}
}

func (m Model) matrices() []Tensor {
	q, kv, head := m.Heads*m.HeadDim, m.KVHeads*m.HeadDim, int64(0)
	if m.Permuted {
		head = m.HeadDim
	}
	const fused = "attn_qkv.weight"
	matrix := func(file, folder string, out, in int64) Tensor {
		return Tensor{File: file + ".weight", Folder: folder + ".weight", Shape: []int64{out, in}}
	}
	list := []Tensor{
		matrix("attn_q", "self_attn.q_proj", q, m.Dim),
		matrix("attn_k", "self_attn.k_proj", kv, m.Dim),
		matrix("attn_v", "self_attn.v_proj", kv, m.Dim),
		matrix("attn_output", "self_attn.o_proj", m.Dim, q),
		matrix("ffn_gate", "mlp.gate_proj", m.Inner, m.Dim),
		matrix("ffn_up", "mlp.up_proj", m.Inner, m.Dim),
		matrix("ffn_down", "mlp.down_proj", m.Dim, m.Inner),
	}
	if m.Experts > 0 {
		list = append(list[:4], matrix("ffn_gate_inp", "mlp.gate", m.Experts, m.Dim))
		for e := range m.Experts {
			at := fmt.Sprintf("mlp.experts.%d.", e)
			for _, w := range []Tensor{matrix("ffn_gate_exps", at+"gate_proj", m.ExpertInner, m.Dim),
				matrix("ffn_up_exps", at+"up_proj", m.ExpertInner, m.Dim),
				matrix("ffn_down_exps", at+"down_proj", m.Dim, m.ExpertInner)} {
				w.Stack, w.At = m.Experts, e
				list = append(list, w)
			}
			for i, w := range list[len(list)-3:][:2] {
				w.Fused, w.First, w.FusedRows = "ffn_gate_up_exps.weight", int64(i)*m.ExpertInner, 2*m.ExpertInner
				list[len(list)-3+i] = w
			}
		}
	}
	list[0].Head, list[1].Head = head, head
	for i, first := range []int64{0, q, q + kv} {
		list[i].Fused, list[i].First, list[i].FusedRows = fused, first, q+2*kv
	}
	return list
}

func bias(name string) string { return strings.TrimSuffix(name, ".weight") + ".bias" }

// inLayer gives tensors their layer.
func inLayer(n int64, list []Tensor) []Tensor {
	file := func(name string) string { return fmt.Sprintf("blk.%d.%s", n, name) }
	for i := range list {
		w := &list[i]
		w.File, w.Folder, w.Layer = file(w.File), fmt.Sprintf("model.layers.%d.%s", n, w.Folder), n
		if w.Fused != "" {
			w.Fused = file(w.Fused)
		}
	}
	return list
}

// FileRow is the place in a file of row i of a head of d rows. The converter writes row p·d/2+i as row 2i+p, because
// llama.cpp's RoPE turns neighbouring elements, and Hugging Face's the halves of a head.
func FileRow(i, d int64) int64 { return 2*(i%(d/2)) + i/(d/2) }

// Llama3 is RoPE's scaling of Llama 3.1: long wavelengths are divided by Factor, short ones stay.
type Llama3 struct {
	Factor, Low, High, Original float64
}

// Divisor is the divisor of frequency i of a head, as in rope_freqs.weight. The formula follows transformers'
// _compute_llama3_parameters.
func (l Llama3) Divisor(theta float64, i, headDim int64) float64 {
	wave := 2 * math.Pi * math.Pow(theta, 2*float64(i)/float64(headDim))
	switch {
	case wave < l.Original/l.High:
		return 1
	case wave > l.Original/l.Low:
		return l.Factor
	}
	t := (l.Original/wave - l.Low) / (l.High - l.Low)
	return 1 / (float64((1-t)/l.Factor) + t)
}
