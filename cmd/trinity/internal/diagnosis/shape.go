package diagnosis

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
)

// shape is the dimensions of a model that people train, by its config.json on the hub. The head is the embedding.
type shape struct {
	name                                            string
	qwen                                            bool // Qwen3: norms on the heads of q and k; else Llama
	vocab, dim, layers, heads, kvHeads, headDim, ff int
}

var shapes = []shape{
	{"SmolLM2-135M", false, 49152, 576, 30, 9, 3, 64, 1536},
	{"Qwen3-0.6B", true, 151936, 1024, 28, 16, 8, 128, 3072},
	{"Llama-3.2-1B", false, 128256, 2048, 16, 32, 8, 64, 8192},
	{"Llama-3.2-3B", false, 128256, 3072, 28, 24, 8, 128, 8192},
	{"Qwen3-4B", true, 151936, 2560, 36, 32, 8, 128, 9728},
}

// folder writes a model folder of the shape: config.json, and with weights random ones in bf16.
func (s shape) folder(dir string, weights bool) error {
	arch, kind := "LlamaForCausalLM", "llama"
	if s.qwen {
		arch, kind = "Qwen3ForCausalLM", "qwen3"
	}
	config, err := json.Marshal(map[string]any{"architectures": []string{arch}, "model_type": kind,
		"dtype": "bfloat16", "hidden_act": "silu", "vocab_size": s.vocab, "hidden_size": s.dim,
		"num_hidden_layers": s.layers, "num_attention_heads": s.heads, "num_key_value_heads": s.kvHeads,
		"head_dim": s.headDim, "intermediate_size": s.ff, "max_position_embeddings": 32768, "rms_norm_eps": 1e-6,
		"rope_theta": 1e6, "tie_word_embeddings": true, "attention_bias": false, "bos_token_id": 0, "eos_token_id": 1})
	if err != nil {
		return err
	}
	err = errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "config.json"), config, 0o600))
	if err != nil || !weights {
		return err
	}
	return safetensors.Write(filepath.Join(dir, "model.safetensors"), s.tensors(), map[string]string{"format": "pt"})
}

// tensors are the parameters by their Hugging Face names. The matrices share one memory: for the speed only the mixture
// of their bits counts.
func (s shape) tensors() (list []safetensors.Tensor) {
	normal := noise(s.vocab * s.dim) // the largest
	add := func(name string, dims ...int) {
		n := dims[0]
		if len(dims) > 1 {
			n *= dims[1]
			list = append(list, safetensors.Tensor{Name: name, DType: safetensors.BF16, Shape: dims,
				Data: normal[:2*n]})
			return
		}
		ones := make([]float32, n)
		for i := range ones {
			ones[i] = 1
		}
		list = append(list, safetensors.FromBF16(name, dims, ones))
	}
	q, kv := s.heads*s.headDim, s.kvHeads*s.headDim
	add("model.embed_tokens.weight", s.vocab, s.dim)
	add("model.norm.weight", s.dim)
	for l := range s.layers {
		at := fmt.Sprintf("model.layers.%d.", l)
		add(at+"input_layernorm.weight", s.dim)
		add(at+"post_attention_layernorm.weight", s.dim)
		add(at+"self_attn.q_proj.weight", q, s.dim)
		add(at+"self_attn.k_proj.weight", kv, s.dim)
		add(at+"self_attn.v_proj.weight", kv, s.dim)
		add(at+"self_attn.o_proj.weight", s.dim, q)
		add(at+"mlp.gate_proj.weight", s.ff, s.dim)
		add(at+"mlp.up_proj.weight", s.ff, s.dim)
		add(at+"mlp.down_proj.weight", s.dim, s.ff)
		if s.qwen {
			add(at+"self_attn.q_norm.weight", s.headDim)
			add(at+"self_attn.k_norm.weight", s.headDim)
		}
	}
	return list
}

// noise is n normal numbers of deviation 0.02 in bf16, of which 65,536 are drawn and repeated.
func noise(n int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	block := make([]byte, 0, 2<<16)
	for range 1 << 16 {
		block = binary.LittleEndian.AppendUint16(block, uint16(math.Float32bits(float32(0.02*rng.NormFloat64()))>>16))
	}
	data := make([]byte, 2*n)
	for at := 0; at < len(data); at += len(block) {
		copy(data[at:], block)
	}
	return data
}
