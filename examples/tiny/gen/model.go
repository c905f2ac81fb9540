package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
)

// chatTemplate is ChatML and nothing else.
const chatTemplate = `{%- for message in messages %}
{{- '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\n' }}
{%- endif %}`

// writeModel writes the model folder's files but the weights, which the run of
// pretrain.yaml makes.
func writeModel(o options) error {
	return writeFolder(o.out, newTokenizer(o.seed), solver)
}

// solver is the shape of the model that solves word problems.
var solver = shape{layers: 4, inner: 384, context: 512, vocab: vocabSize}

// solverOf writes a folder like the model's for another family.
func solverOf(family map[string]any) func(options) error {
	return func(o options) error {
		s := solver
		s.family = family
		return writeFolder(o.out, newTokenizer(o.seed), s)
	}
}

// modelOf writes the model folder of a course.
func modelOf(of func() (course, error), s shape) func(options) error {
	return func(o options) error {
		c, err := of()
		if err != nil {
			return err
		}
		tokenizer, err := c.tokenizer(o.seed)
		if err != nil {
			return err
		}
		s.vocab = c.vocab
		return writeFolder(o.out, tokenizer, s)
	}
}

// A shape has the dimensions in which the example's models differ.
type shape struct {
	layers, inner, context, vocab int            // inner is the width of the MLP
	family                        map[string]any // what config.json has for a family that is not Qwen3
}

// writeFolder writes a model folder without weights.
func writeFolder(out string, tokenizer map[string]any, s shape) error {
	end, err := tokenID(tokenizer, "<|im_end|>")
	if err != nil {
		return err
	}
	pad, err := tokenID(tokenizer, "<|endoftext|>")
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		tree map[string]any
	}{
		{"tokenizer.json", tokenizer},
		{"tokenizer_config.json", tokenizerConfig(s)},
		{"config.json", modelConfig(s, end, pad)},
		{"generation_config.json", generationConfig(end, pad)},
	} {
		if err := writeJSON(filepath.Join(out, f.name), f.tree); err != nil {
			return err
		}
	}
	return nil
}

func tokenizerConfig(s shape) map[string]any {
	return map[string]any{
		"tokenizer_class":              "PreTrainedTokenizerFast",
		"chat_template":                chatTemplate,
		"bos_token":                    nil,
		"eos_token":                    "<|im_end|>",
		"pad_token":                    "<|endoftext|>",
		"unk_token":                    nil,
		"model_max_length":             s.context,
		"clean_up_tokenization_spaces": false,
	}
}

// modelConfig describes a Qwen3 model of up to a million parameters.
func modelConfig(s shape, end, pad int) map[string]any {
	config := map[string]any{
		"architectures":           []string{"Qwen3ForCausalLM"},
		"model_type":              "qwen3",
		"vocab_size":              s.vocab,
		"hidden_size":             128,
		"intermediate_size":       s.inner,
		"num_hidden_layers":       s.layers,
		"num_attention_heads":     4,
		"num_key_value_heads":     2,
		"head_dim":                32,
		"hidden_act":              "silu",
		"rms_norm_eps":            1e-6,
		"rope_theta":              10000.0,
		"max_position_embeddings": s.context,
		"initializer_range":       0.06,
		"tie_word_embeddings":     true,
		"attention_bias":          false,
		"attention_dropout":       0.0,
		"use_sliding_window":      false,
		"use_cache":               true,
		"torch_dtype":             "bfloat16",
		"bos_token_id":            nil,
		"eos_token_id":            end,
		"pad_token_id":            pad,
	}
	maps.Copy(config, s.family)
	return config
}

// deltaNet has three layers of a gated delta net and one of attention, as four layers of Qwen3.5 do.
func deltaNet() map[string]any {
	const delta = "linear_attention"
	return map[string]any{
		"architectures":          []string{"Qwen3_5ForCausalLM"},
		"model_type":             "qwen3_5_text",
		"attn_output_gate":       true,
		"layer_types":            []string{delta, delta, delta, "full_attention"},
		"linear_conv_kernel_dim": 4,
		"linear_key_head_dim":    32,
		"linear_num_key_heads":   4,
		"linear_value_head_dim":  32,
		"linear_num_value_heads": 4,
		"partial_rotary_factor":  0.25,
	}
}

// mixture has eight experts in each layer, of which a token uses two, as Qwen3-MoE has 128 and 8.
func mixture() map[string]any {
	return map[string]any{
		"architectures":         []string{"Qwen3MoeForCausalLM"},
		"model_type":            "qwen3_moe",
		"num_experts":           8,
		"num_experts_per_tok":   2,
		"moe_intermediate_size": 128,
		"decoder_sparse_step":   1,
		"norm_topk_prob":        true,
		"mlp_only_layers":       []int{},
	}
}

func generationConfig(end, pad int) map[string]any {
	return map[string]any{
		"do_sample":    true,
		"temperature":  1.0,
		"eos_token_id": []int{end, pad},
		"pad_token_id": pad,
	}
}

// writeJSON writes the tree with sorted keys, indented.
func writeJSON(path string, tree map[string]any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(tree); err != nil {
		return fmt.Errorf("gen: %s: %w", path, err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		return fmt.Errorf("gen: %w", err)
	}
	return nil
}
