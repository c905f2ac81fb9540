package modelfile

import (
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
)

// typeOf is the type that a tensor is stored as: vectors, convolutions and routers as F32, as llama.cpp expects,
// matrices by kind. A row that is no multiple of the type's block takes another one.
func (s Shape) typeOf(t tensor, kind Kind) gguf.Type {
	router := strings.HasSuffix(t.name, ".ffn_gate_inp.weight")
	if len(t.shape) < 2 || router || strings.HasSuffix(t.name, ".bias") || s.Recurrent != nil && t.width() == s.Taps {
		return gguf.F32
	}
	switch kind {
	case F16:
		return gguf.F16
	case BF16:
		return gguf.BF16
	case Q8:
		return fits(gguf.Q8_0, t.width())
	case q4KM:
		return s.mixed(t)
	}
	return gguf.F32
}

// mixed is the type of a matrix in Q4_K_M: the rule of llama-quantize (llama_tensor_get_type_impl of llama-quant.cpp).
// The head, which may be the embedding, and in about half of the layers attn_v and ffn_down have Q6_K.
func (s Shape) mixed(t tensor) gguf.Type {
	want := gguf.Q4_K
	switch {
	case t.name == "output.weight" || s.Tied && t.name == "token_embd.weight":
		if want = gguf.Q6_K; t.width()%256 != 0 {
			want = gguf.Q8_0
		}
	case strings.Contains(t.name, ".ffn_down") && moreBits(t.layer, s.Layers):
		want = gguf.Q6_K
	case !strings.HasSuffix(t.name, ".attn_v.weight"):
	case moreBits(t.layer, s.Layers):
		want = gguf.Q6_K
	case s.Layers == 80 && (s.arch() == "qwen2" || s.arch() == "llama" && s.Heads != s.KVHeads):
		want = gguf.Q5_K // llama.cpp's "70B", whose attn_v is small
	}
	return fits(want, t.width())
}

// moreBits selects the first and the last eighth of the layers, and every third between.
func moreBits(layer, layers int) bool {
	return layer < layers/8 || layer >= 7*layers/8 || (layer-layers/8)%3 == 2
}

// fits is the type, or what llama-quantize takes for rows of that width.
func fits(t gguf.Type, width int) gguf.Type {
	if width%256 != 0 {
		switch t {
		case gguf.Q4_K:
			t = gguf.Q5_0
		case gguf.Q5_K:
			t = gguf.Q5_1
		case gguf.Q6_K:
			t = gguf.Q8_0
		}
	}
	if _, block := t.Bytes(0); int64(width)%block != 0 {
		return gguf.F16
	}
	return t
}
