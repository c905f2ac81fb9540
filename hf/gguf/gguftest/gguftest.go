// Package gguftest makes small GGUF files for tests: models of random weights, as llama.cpp's converter would write
// them from a Hugging Face folder, together with the tensors of that folder.
package gguftest

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
)

// The shape of the models.
const (
	Width   = 64
	Inner   = 96
	Layers  = 2
	Heads   = 4
	KVHeads = 2
	HeadDim = 16
	Context = 512
	Window  = 24 // of gemma3
	Experts = 6  // of qwen3moe; 2 a token
)

// Model is a model to write. Arch must be set.
type Model struct {
	Arch       string      // llama, qwen2, qwen3, qwen3moe or gemma3
	Tied       bool        // without output.weight
	Fused      bool        // q, k and v are one tensor, and so are gate and up of experts
	Type       gguf.Type   // of the matrices; F32 is the zero value
	RoPE       []float32   // rope_freqs.weight
	Vocabulary []gguf.Pair // nil: Bytes
	Keys       []gguf.Pair // replace keys of the same name, or are added; a nil value removes
	Only       func(tensor string) bool
	Seed       uint64
}

// Tensor is a tensor of the Hugging Face folder.
type Tensor struct {
	Name  string
	Shape []int64
	Data  []float32
}

// Tensors are the tensors of the Hugging Face folder.
func (m Model) Tensors() []Tensor {
	r := rand.New(rand.NewPCG(m.Seed, 5))
	var list []Tensor
	add := func(name string, shape ...int64) {
		t := Tensor{Name: name, Shape: shape, Data: make([]float32, gguf.Tensor{Shape: shape}.Len())}
		for i := range t.Data {
			if t.Data[i] = float32(r.NormFloat64() * 0.05); strings.Contains(name, "norm") && m.Arch != "gemma3" {
				t.Data[i]++
			}
		}
		list = append(list, t)
	}
	vocab := int64(m.tokens())
	add("model.embed_tokens.weight", vocab, Width)
	add("model.norm.weight", Width)
	if !m.Tied {
		add("lm_head.weight", vocab, Width)
	}
	for n := range Layers {
		at := fmt.Sprintf("model.layers.%d.", n)
		add(at+"input_layernorm.weight", Width)
		add(at+"post_attention_layernorm.weight", Width)
		if m.Arch == "gemma3" {
			add(at+"pre_feedforward_layernorm.weight", Width)
			add(at+"post_feedforward_layernorm.weight", Width)
		}
		for _, p := range []struct {
			name string
			out  int64
		}{{"q_proj", Heads * HeadDim}, {"k_proj", KVHeads * HeadDim}, {"v_proj", KVHeads * HeadDim}} {
			add(at+"self_attn."+p.name+".weight", p.out, Width)
			if m.Arch == "qwen2" {
				add(at+"self_attn."+p.name+".bias", p.out)
			}
		}
		if m.Arch == "qwen3" || m.Arch == "qwen3moe" || m.Arch == "gemma3" {
			add(at+"self_attn.q_norm.weight", HeadDim)
			add(at+"self_attn.k_norm.weight", HeadDim)
		}
		add(at+"self_attn.o_proj.weight", Width, Heads*HeadDim)
		mlps := []string{"mlp."}
		if m.Arch == "qwen3moe" {
			add(at+"mlp.gate.weight", Experts, Width)
			mlps = nil
			for e := range Experts {
				mlps = append(mlps, fmt.Sprintf("mlp.experts.%d.", e))
			}
		}
		for _, mlp := range mlps {
			add(at+mlp+"gate_proj.weight", Inner, Width)
			add(at+mlp+"up_proj.weight", Inner, Width)
			add(at+mlp+"down_proj.weight", Width, Inner)
		}
	}
	return list
}

// Write writes the model to a file.
func (m Model) Write(tb testing.TB, path string) {
	tb.Helper()
	if err := os.WriteFile(path, m.Bytes(tb), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// Bytes is the file of the model.
func (m Model) Bytes(tb testing.TB) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := gguf.Encode(&b, m.Pairs(), m.Parts(tb)); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// Split writes the model into n files PREFIX-00001-of-….gguf and returns the path of the first.
func (m Model) Split(tb testing.TB, prefix string, n int) string {
	tb.Helper()
	parts := m.Parts(tb)
	for i := range n {
		keys := []gguf.Pair{{Key: "split.no", Value: uint16(i)}, {Key: "split.count", Value: uint16(n)},
			{Key: "split.tensors.count", Value: int32(len(parts))}}
		if i == 0 {
			keys = append(m.Pairs(), keys...)
		}
		var b bytes.Buffer
		if err := gguf.Encode(&b, keys, parts[i*len(parts)/n:(i+1)*len(parts)/n]); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(gguf.SplitName(prefix, i+1, n), b.Bytes(), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return gguf.SplitName(prefix, 1, n)
}

// Pairs are the metadata.
func (m Model) Pairs() []gguf.Pair {
	a := m.Arch + "."
	pairs := []gguf.Pair{{Key: "general.architecture", Value: m.Arch}, {Key: "general.type", Value: "model"},
		{Key: a + "block_count", Value: uint32(Layers)}, {Key: a + "context_length", Value: uint32(Context)},
		{Key: a + "embedding_length", Value: uint32(Width)}, {Key: a + "feed_forward_length", Value: uint32(Inner)},
		{Key: a + "attention.head_count", Value: uint32(Heads)},
		{Key: a + "attention.head_count_kv", Value: uint32(KVHeads)},
		{Key: a + "attention.key_length", Value: uint32(HeadDim)},
		{Key: a + "attention.value_length", Value: uint32(HeadDim)},
		{Key: a + "attention.layer_norm_rms_epsilon", Value: float32(1e-5)},
		{Key: a + "rope.freq_base", Value: float32(10000)}, {Key: a + "rope.dimension_count", Value: uint32(HeadDim)}}
	if m.Arch == "gemma3" {
		pairs = append(pairs, gguf.Pair{Key: a + "attention.sliding_window", Value: uint32(Window)})
	}
	if m.Arch == "qwen3moe" {
		pairs = append(pairs, gguf.Pair{Key: a + "expert_count", Value: uint32(Experts)},
			gguf.Pair{Key: a + "expert_used_count", Value: uint32(2)},
			gguf.Pair{Key: a + "expert_feed_forward_length", Value: uint32(Inner)})
	}
	pairs = append(pairs, m.vocabulary()...)
	for _, k := range m.Keys {
		pairs = slices.DeleteFunc(pairs, func(p gguf.Pair) bool { return p.Key == k.Key })
		if k.Value != nil {
			pairs = append(pairs, k)
		}
	}
	return pairs
}

func (m Model) vocabulary() []gguf.Pair {
	if m.Vocabulary == nil {
		return Bytes()
	}
	return m.Vocabulary
}

// tokens is how many tokens there are.
func (m Model) tokens() int {
	for _, p := range m.vocabulary() {
		if list, ok := p.Value.([]string); ok && p.Key == "tokenizer.ggml.tokens" {
			return len(list)
		}
	}
	return 0
}

// Parts are the tensors as the file has them.
func (m Model) Parts(tb testing.TB) []gguf.Part {
	tb.Helper()
	var parts []gguf.Part
	add := func(name string, id gguf.Type, shape []int64, data []float32) {
		if m.Only != nil && !m.Only(name) {
			return
		}
		parts = append(parts, gguf.Part{Name: name, Type: id, Shape: shape, Write: func(w io.Writer) error {
			return write(w, id, data)
		}})
	}
	if m.RoPE != nil {
		add("rope_freqs.weight", gguf.F32, []int64{int64(len(m.RoPE))}, m.RoPE)
	}
	var fused Tensor
	stacks := map[string][]float32{}
	for _, t := range m.Tensors() {
		name, id := m.name(t.Name), m.Type
		if len(t.Shape) == 1 {
			id = gguf.F32
		}
		data := t.Data
		if m.Arch == "gemma3" && strings.HasSuffix(name, "norm.weight") {
			data = slices.Clone(data)
			for i := range data {
				data[i]++
			}
		}
		if m.Arch == "llama" && (strings.Contains(name, "attn_q.") || strings.Contains(name, "attn_k.")) {
			data = permute(t)
		}
		if of, expert, ok := strings.Cut(name, "mlp.experts."); ok {
			number, part, _ := strings.Cut(expert, ".")
			part, shape := strings.Replace(part, "_proj", "_exps", 1), append([]int64{Experts}, t.Shape...)
			last := number == fmt.Sprint(Experts-1)
			if m.Fused && !strings.HasPrefix(part, "down") {
				last = last && strings.HasPrefix(part, "up")
				part, shape[1] = "gate_up_exps.weight", 2*shape[1]
			}
			part = of + "ffn_" + part
			if stacks[part] = append(stacks[part], data...); last {
				add(part, id, shape, stacks[part])
			}
			continue
		}
		if m.Fused && (strings.Contains(name, "attn_q.w") || strings.Contains(name, "attn_k.w") ||
			strings.Contains(name, "attn_v.w")) {
			fused.Data = append(fused.Data, data...)
			if strings.Contains(name, "attn_v.") {
				add(strings.Replace(name, "attn_v", "attn_qkv", 1), id, []int64{(Heads + 2*KVHeads) * HeadDim, Width},
					fused.Data)
				fused = Tensor{}
			}
			continue
		}
		add(name, id, t.Shape, data)
	}
	return parts
}

// write stores values and writes them.
func write(w io.Writer, id gguf.Type, data []float32) error {
	block, size := map[gguf.Type]int{gguf.Q8_0: 32}[id], map[gguf.Type]int{gguf.F32: 4, gguf.F16: 2, gguf.BF16: 2,
		gguf.Q8_0: 34}[id]
	raw := make([]byte, len(data)/max(block, 1)*size)
	if err := gguf.Narrow(id, raw, data); err != nil {
		return err
	}
	_, err := w.Write(raw)
	return err
}

// permute reorders the rows of q or k as convert_hf_to_gguf.py does: each head is a view of (2, D/2) rows whose axes
// are swapped.
func permute(t Tensor) []float32 {
	var out []float32
	cols := int(t.Shape[1])
	for head := range int(t.Shape[0]) / HeadDim {
		for i := range HeadDim / 2 {
			for half := range 2 {
				row := head*HeadDim + half*HeadDim/2 + i
				out = append(out, t.Data[row*cols:(row+1)*cols]...)
			}
		}
	}
	return out
}

// name is Name, with Gemma's norms.
func (m Model) name(hf string) string {
	if m.Arch == "gemma3" {
		hf = strings.NewReplacer("post_attention_layernorm", "post_attention_norm",
			"pre_feedforward_layernorm", "ffn_norm", "post_feedforward_layernorm", "post_ffw_norm").Replace(hf)
	}
	return Name(hf)
}

// Name is the name in a GGUF file of a tensor of a Hugging Face folder.
func Name(hf string) string {
	return strings.NewReplacer("model.layers.", "blk.", "self_attn.q_proj", "attn_q", "self_attn.k_proj", "attn_k",
		"self_attn.v_proj", "attn_v", "self_attn.o_proj", "attn_output", "self_attn.q_norm", "attn_q_norm",
		"self_attn.k_norm", "attn_k_norm", "mlp.gate.", "ffn_gate_inp.",
		"mlp.gate_proj", "ffn_gate", "mlp.up_proj", "ffn_up", "mlp.down_proj",
		"ffn_down", "input_layernorm", "attn_norm", "post_attention_layernorm", "ffn_norm", "model.embed_tokens",
		"token_embd", "model.norm", "output_norm", "lm_head", "output").Replace(hf)
}
