package main

// shape is the dimensions in a model's config.json.
type shape struct {
	name                                            string
	qwen                                            bool // Qwen3: norms on the heads of q and k; else Llama
	vocab, dim, layers, heads, kvHeads, headDim, ff int
	theta, eps                                      float64
	// of a model with weights of its own, and its file if it is one
	dir, gguf string
}

// shapes lists the measured models: examples/tiny (0.9 million parameters), one of 9.4 million, and four real
// ones.
func shapes() []shape {
	return []shape{
		{name: "tiny", qwen: true, vocab: 768, dim: 128, layers: 4, heads: 4, kvHeads: 2, headDim: 32, ff: 384,
			theta: 10000, eps: 1e-6},
		{name: "9m", vocab: 6144, dim: 256, layers: 8, heads: 8, kvHeads: 4, headDim: 32, ff: 1024, theta: 10000,
			eps: 1e-5},
		{name: "135m", vocab: 49152, dim: 576, layers: 30, heads: 9, kvHeads: 3, headDim: 64, ff: 1536, theta: 100000,
			eps: 1e-5},
		{name: "0.6b", qwen: true, vocab: 151936, dim: 1024, layers: 28, heads: 16, kvHeads: 8, headDim: 128, ff: 3072,
			theta: 1e6, eps: 1e-6},
		{name: "1b", vocab: 128256, dim: 2048, layers: 16, heads: 32, kvHeads: 8, headDim: 64, ff: 8192, theta: 500000,
			eps: 1e-5},
		{name: "3b", vocab: 128256, dim: 3072, layers: 28, heads: 24, kvHeads: 8, headDim: 128, ff: 8192, theta: 500000,
			eps: 1e-5},
	}
}

// small reports whether a piece of work takes well below a second.
func (s shape) small() bool { return s.name == "tiny" || s.name == "9m" }

// large reports whether a piece of work takes seconds.
func (s shape) large() bool { return s.name == "1b" || s.name == "3b" }

// long reports whether the shape is measured with long sequences too.
func (s shape) long() bool { return s.dir == "" && (s.name == "135m" || s.name == "0.6b") }

// title is the shape's name in the table.
func (s shape) title() string {
	if s.dir != "" {
		return s.name
	}
	switch s.name {
	case "135m":
		return "SmolLM2-135M"
	case "0.6b":
		return "Qwen3-0.6B"
	case "1b":
		return "Llama-3.2-1B"
	case "3b":
		return "Llama-3.2-3B"
	case "tiny":
		return "examples/tiny"
	}
	return "Llama, 9.4M"
}

// config returns config.json.
func (s shape) config() map[string]any {
	c := map[string]any{
		"architectures": []string{"LlamaForCausalLM"}, "model_type": "llama", "dtype": "bfloat16", "hidden_act": "silu",
		"vocab_size": s.vocab, "hidden_size": s.dim, "num_hidden_layers": s.layers, "num_attention_heads": s.heads,
		"num_key_value_heads": s.kvHeads,
		"head_dim":            s.headDim, "intermediate_size": s.ff, "max_position_embeddings": 8192,
		"rms_norm_eps":        s.eps,
		"tie_word_embeddings": true,
		"rope_theta":          s.theta, "rope_parameters": map[string]any{"rope_type": "default",
			"rope_theta": s.theta},
		"attention_bias": false,
		"bos_token_id":   0, "eos_token_id": 1,
	}
	if s.qwen {
		c["architectures"], c["model_type"] = []string{"Qwen3ForCausalLM"}, "qwen3"
	}
	return c
}

// tensor is a parameter's name and shape.
type tensor struct {
	name  string
	shape []int
}

// bytes is the tensor's size in bf16.
func (t tensor) bytes() int {
	n := 2
	for _, d := range t.shape {
		n *= d
	}
	return n
}

// tensors lists the parameters by their Hugging Face names; the head is the embedding.
func (s shape) tensors() []tensor {
	q, kv := s.heads*s.headDim, s.kvHeads*s.headDim
	list := []tensor{{"model.embed_tokens.weight", []int{s.vocab, s.dim}}, {"model.norm.weight", []int{s.dim}}}
	for l := range s.layers {
		at := layerName(l)
		list = append(list,
			tensor{at + "input_layernorm.weight", []int{s.dim}},
			tensor{at + "post_attention_layernorm.weight", []int{s.dim}},
			tensor{at + "self_attn.q_proj.weight", []int{q, s.dim}},
			tensor{at + "self_attn.k_proj.weight", []int{kv, s.dim}},
			tensor{at + "self_attn.v_proj.weight", []int{kv, s.dim}},
			tensor{at + "self_attn.o_proj.weight", []int{s.dim, q}},
			tensor{at + "mlp.gate_proj.weight", []int{s.ff, s.dim}},
			tensor{at + "mlp.up_proj.weight", []int{s.ff, s.dim}},
			tensor{at + "mlp.down_proj.weight", []int{s.dim, s.ff}})
		if s.qwen {
			list = append(list, tensor{at + "self_attn.q_norm.weight", []int{s.headDim}},
				tensor{at + "self_attn.k_norm.weight", []int{s.headDim}})
		}
	}
	return list
}
