// Package layout lists the tensors of a model: their names in a GGUF file and in a Hugging Face folder, their shapes,
// and how llama.cpp's converter changes their values. Package modeldir reads by it and package modelfile writes by it.
package layout

import (
	"fmt"
	"math"
	"strings"
)

// These are model_types.
const (
	Gemma3   = "gemma3_text"
	Qwen3MoE = "qwen3_moe"
	Qwen35   = "qwen3_5_text"
	LFM2     = "lfm2"
	Granite4 = "granitemoehybrid"
	GptOss   = "gpt_oss"
)

// Model has the numbers that decide a model's tensors.
type Model struct {
	Kind                                               string // model_type
	Vocab, Dim, Layers, Heads, KVHeads, HeadDim, Inner int64  // Inner is the width inside the MLP
	Permuted                                           bool   // rows of q and k are reordered, see FileRow
	Tied                                               bool   // the head is the embedding
	Experts, ExpertInner                               int64  // matrices in place of each of the MLP's; 0: none

	// Recurrent layers of Qwen3.5 and LFM2 have no attention, but a delta rule or a convolution of so many taps.
	Recurrent []bool // by layer; nil: none is
	Taps      int64
	Delta     Delta
}

// Tensor is a tensor of a model.
type Tensor struct {
	File, Folder string // its names
	Shape        []int64
	Head         int64   // rows of a head, if the rows of each head are reordered; else 0
	Layer        int64   // -1: of none
	One          bool    // the file has 1 more: the family multiplies by 1+w after a norm
	Decay        bool    // the file has −exp of it
	Stored       []int64 // its shape in the folder, if that is another
	Row          int64   // of the folder's tensor, at which it begins
	Tile         *Tile   // the file has value heads in another order; nil: it does not

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
		{File: "output_norm.weight", Folder: "model.norm.weight", Shape: []int64{m.Dim}, Layer: -1, One: m.one()},
	}
	if m.Kind == LFM2 {
		list[1].File, list[1].Folder = "token_embd_norm.weight", "model.embedding_norm.weight"
	}
	if !m.Tied {
		list = append(list, Tensor{File: "output.weight", Folder: "lm_head.weight", Shape: []int64{m.Vocab, m.Dim},
			Layer: -1})
	}
	return list
}

// one reports whether norms multiply by 1+w.
func (m Model) one() bool { return m.Kind == Gemma3 || m.Kind == Qwen35 }

// Layer lists the tensors of layer n: the norms before attention and MLP, the matrices, and the rest.
func (m Model) Layer(n int64) []Tensor {
	norms := []Tensor{m.norm("attn_norm", "input_layernorm", m.Dim),
		m.norm("ffn_norm", "post_attention_layernorm", m.Dim)}
	rest := []Tensor{m.norm("attn_q_norm", "self_attn.q_norm", m.HeadDim),
		m.norm("attn_k_norm", "self_attn.k_norm", m.HeadDim)}
	switch m.Kind {
	case "qwen3", Qwen3MoE:
	case "qwen2":
		rest = biases(m.matrices(n)[:3])
	case GptOss:
		norms[1].File = "post_attention_norm.weight"
		rest = append(biases(m.matrices(n)), Tensor{File: "attn_sinks.weight", Folder: "self_attn.sinks",
			Shape: []int64{m.Heads}})
	case Gemma3:
		norms[1].Folder = "pre_feedforward_layernorm.weight"
		rest = append(rest, m.norm("post_attention_norm", "post_attention_layernorm", m.Dim),
			m.norm("post_ffw_norm", "post_feedforward_layernorm", m.Dim))
	case Qwen35:
		if norms[1].File = "post_attention_norm.weight"; m.recurrent(n) {
			rest = m.deltaVectors()
		}
	case LFM2:
		norms[0].Folder, norms[1].Folder = "operator_norm.weight", "ffn_norm.weight"
		rest[0].Folder, rest[1].Folder = "self_attn.q_layernorm.weight", "self_attn.k_layernorm.weight"
		if m.recurrent(n) {
			rest = []Tensor{m.taps("shortconv.conv", "conv.conv", m.Dim)}
		}
	default:
		rest = nil
	}
	return inLayer(n, append(append(norms, m.matrices(n)...), rest...))
}

// Matrices lists the matrices of layer n, which an adapter may be on.
func (m Model) Matrices(n int64) []Tensor { return inLayer(n, m.matrices(n)) }

func (m Model) norm(file, folder string, width int64) Tensor {
	return Tensor{File: file + ".weight", Folder: folder + ".weight", Shape: []int64{width}, One: m.one()}
}

func matrix(file, folder string, out, in int64) Tensor {
	return Tensor{File: file + ".weight", Folder: folder + ".weight", Shape: []int64{out, in}}
}

func (m Model) matrices(n int64) []Tensor {
	switch {
	case !m.recurrent(n):
		return append(m.attention(), m.mlp()...)
	case m.Kind == LFM2:
		return append([]Tensor{matrix("shortconv.in_proj", "conv.in_proj", 3*m.Dim, m.Dim),
			matrix("shortconv.out_proj", "conv.out_proj", m.Dim, m.Dim)}, m.mlp()...)
	}
	return append(m.deltaMatrices(), m.mlp()...)
}

func (m Model) attention() []Tensor {
	q, kv, head := m.Heads*m.HeadDim, m.KVHeads*m.HeadDim, int64(0)
	if m.Permuted {
		head = m.HeadDim
	}
	wide, out := q, "self_attn.o_proj"
	switch m.Kind {
	case Qwen35:
		wide = 2 * q // each query has a gate behind it
	case LFM2:
		out = "self_attn.out_proj"
	}
	const fused = "attn_qkv.weight"
	list := []Tensor{
		matrix("attn_q", "self_attn.q_proj", wide, m.Dim),
		matrix("attn_k", "self_attn.k_proj", kv, m.Dim),
		matrix("attn_v", "self_attn.v_proj", kv, m.Dim),
		matrix("attn_output", out, m.Dim, q),
	}
	list[0].Head, list[1].Head = head, head
	for i, first := range []int64{0, wide, wide + kv} {
		list[i].Fused, list[i].First, list[i].FusedRows = fused, first, wide+2*kv
	}
	return list
}

// mlp lists the matrices of the MLP, or of the experts in its place.
func (m Model) mlp() []Tensor {
	if m.Experts > 0 {
		return m.experts()
	}
	gate, up, down := "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"
	switch m.Kind {
	case LFM2:
		gate, up, down = "feed_forward.w1", "feed_forward.w3", "feed_forward.w2"
	case Granite4:
		gate, up, down = "shared_mlp.input_linear", "shared_mlp.input_linear", "shared_mlp.output_linear"
	}
	list := []Tensor{matrix("ffn_gate", gate, m.Inner, m.Dim), matrix("ffn_up", up, m.Inner, m.Dim),
		matrix("ffn_down", down, m.Dim, m.Inner)}
	if gate == up {
		list[1].Row, list[0].Stored = m.Inner, []int64{2 * m.Inner, m.Dim}
		list[1].Stored = list[0].Stored
	}
	return list
}

// experts lists the router and the matrices of each expert.
func (m Model) experts() []Tensor {
	list := []Tensor{matrix("ffn_gate_inp", "mlp.gate", m.Experts, m.Dim)}
	if m.Kind == GptOss {
		list[0].Folder = "mlp.router.weight"
	}
	for e := range m.Experts {
		at := fmt.Sprintf("mlp.experts.%d.", e)
		for i, w := range []Tensor{matrix("ffn_gate_exps", at+"gate_proj", m.ExpertInner, m.Dim),
			matrix("ffn_up_exps", at+"up_proj", m.ExpertInner, m.Dim),
			matrix("ffn_down_exps", at+"down_proj", m.Dim, m.ExpertInner)} {
			if w.Stack, w.At = m.Experts, e; i < 2 {
				w.Fused, w.First, w.FusedRows = "ffn_gate_up_exps.weight", int64(i)*m.ExpertInner, 2*m.ExpertInner
			}
			list = append(list, w)
		}
	}
	return list
}

func bias(name string) string { return strings.TrimSuffix(name, ".weight") + ".bias" }

// biases are those of matrices.
func biases(of []Tensor) (list []Tensor) {
	for _, w := range of {
		w.File, w.Folder, w.Shape, w.Head = bias(w.File), bias(w.Folder), w.Shape[:1], 0
		if w.Fused != "" {
			w.Fused = bias(w.Fused)
		}
		list = append(list, w)
	}
	return list
}

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
