package hubtest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
)

// The shape of TinyLlama: some thousand parameters.
const (
	width   = 16
	inner   = 32
	heads   = 2
	kvHeads = 1
	layers  = 2
)

// specials are Llama 3's tokens after the 256 bytes of TinyLlama's vocabulary.
var specials = []string{"<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>",
	"<|eot_id|>"}

// TinyLlama is the repository of a random model with the configuration keys, the special tokens and the splitting of
// Llama 3.2, and a vocabulary of bytes. About one token in twenty that it draws ends the turn.
func TinyLlama() Repo {
	n := 256 + len(specials)
	return Repo{Files: map[string][]byte{
		"config.json": encode(map[string]any{
			"architectures": []string{"LlamaForCausalLM"}, "model_type": "llama", "vocab_size": n, "hidden_size": width,
			"intermediate_size": inner, "num_hidden_layers": layers, "num_attention_heads": heads,
			"num_key_value_heads": kvHeads,
			"head_dim":            width / heads, "hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 500000.0,
			"max_position_embeddings": 131072,
			"rope_scaling": map[string]any{"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
				"original_max_position_embeddings": 8192, "rope_type": "llama3"},
			"tie_word_embeddings": false, "attention_bias": false, "mlp_bias": false, "torch_dtype": "float32",
			"bos_token_id": 256, "eos_token_id": 257,
			"attention_dropout": 0.0, "initializer_range": 0.02, "pretraining_tp": 1, "use_cache": true,
			"transformers_version": "4.45.0",
		}),
		"generation_config.json": encode(map[string]any{"bos_token_id": 256, "eos_token_id": 257, "do_sample": true,
			"temperature": 0.6, "top_p": 0.9}),
		"tokenizer.json": encode(tokenizer()),
		"tokenizer_config.json": encode(map[string]any{"tokenizer_class": "PreTrainedTokenizerFast",
			"bos_token": specials[0], "eos_token": specials[1], "model_max_length": 131072}),
		"model.safetensors": weights(n),
		"LICENSE.txt":       []byte("Made for tests.\n"),
	}}
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // of values written above
	}
	return data
}

// tokenizer is Llama 3's pipeline over a vocabulary of bytes.
func tokenizer() map[string]any {
	vocab := map[string]int{}
	for b := range 256 {
		vocab[string(byteRune(byte(b)))] = b
	}
	var added []map[string]any
	for i, s := range specials {
		added = append(added, map[string]any{"id": 256 + i, "content": s, "single_word": false, "lstrip": false,
			"rstrip": false, "normalized": false, "special": true})
	}
	bos := map[string]any{"SpecialToken": map[string]any{"id": specials[0], "type_id": 0}}
	text := map[string]any{"Sequence": map[string]any{"id": "A", "type_id": 0}}
	return map[string]any{
		"version": "1.0", "added_tokens": added, "normalizer": nil,
		"pre_tokenizer": map[string]any{"type": "Sequence", "pretokenizers": []any{
			map[string]any{"type": "Split", "behavior": "Isolated", "invert": false, "pattern": map[string]any{
				"Regex": `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ` +
					`?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`}},
			map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false},
		}},
		"post_processor": map[string]any{"type": "TemplateProcessing", "single": []any{bos, text},
			"pair": []any{bos, text},
			"special_tokens": map[string]any{specials[0]: map[string]any{"id": specials[0], "ids": []int{256},
				"tokens": []string{specials[0]}}}},
		"decoder": map[string]any{"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true,
			"use_regex": true},
		"model": map[string]any{"type": "BPE", "dropout": nil, "unk_token": nil, "continuing_subword_prefix": nil,
			"end_of_word_suffix": nil,
			"fuse_unk":           false, "byte_fallback": false, "ignore_merges": true, "vocab": vocab,
			"merges": []string{}},
	}
}

// byteRune is the letter by which byte-level vocabularies write a byte: itself if it is visible, else one after
// U+0100.
func byteRune(b byte) rune {
	visible := func(b int) bool { return b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE }
	if visible(int(b)) {
		return rune(b)
	}
	n := 0
	for i := range int(b) {
		if !visible(i) {
			n++
		}
	}
	return rune(256 + n)
}

// weights is a safetensors file of random parameters. The first feature of every embedding and of
// the head's row for the end of a turn is large, which makes the model stop.
func weights(vocab int) []byte {
	shapes := []struct {
		name  string
		shape []int
	}{{"model.embed_tokens.weight", []int{vocab, width}}, {"model.norm.weight", []int{width}}, {
		"lm_head.weight", []int{vocab, width}}}
	add := func(name string, shape ...int) {
		shapes = append(shapes, struct {
			name  string
			shape []int
		}{name, shape})
	}
	for l := range layers {
		at := fmt.Sprintf("model.layers.%d.", l)
		add(at+"input_layernorm.weight", width)
		add(at+"post_attention_layernorm.weight", width)
		add(at+"self_attn.q_proj.weight", width, width)
		add(at+"self_attn.k_proj.weight", width/heads*kvHeads, width)
		add(at+"self_attn.v_proj.weight", width/heads*kvHeads, width)
		add(at+"self_attn.o_proj.weight", width, width)
		add(at+"mlp.gate_proj.weight", inner, width)
		add(at+"mlp.up_proj.weight", inner, width)
		add(at+"mlp.down_proj.weight", width, inner)
	}
	header, data := map[string]any{}, []byte{}
	r := rand.New(rand.NewPCG(3, 2))
	for _, s := range shapes {
		begin, n := len(data), 1
		for _, d := range s.shape {
			n *= d
		}
		for i := range n {
			x := float32(0.1 * r.NormFloat64())
			switch {
			case len(s.shape) == 1:
				x = 1
			case s.name == "model.embed_tokens.weight" && i%width == 0:
				x = 1
			case s.name == "lm_head.weight" && i == (vocab-1)*width:
				x = 0.7
			}
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
		}
		header[s.name] = map[string]any{"dtype": "F32", "shape": s.shape, "data_offsets": []int{begin, len(data)}}
	}
	head := encode(header)
	head = append(head, bytes.Repeat([]byte(" "), (8-len(head)%8)%8)...)
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head...), data...)
}
