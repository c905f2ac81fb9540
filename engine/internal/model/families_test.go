package model

import (
	"fmt"
	"strings"
	"testing"
)

// What the rows of families say about config.json: defaults, the kinds of layers, and what is refused by key and value.
func TestFamilyKeys(t *testing.T) {
	type keys = map[string]any
	of := func(class string, changes keys) keys {
		all := keys{"architectures": []string{class}, "num_hidden_layers": 4}
		if class == "Lfm2ForCausalLM" {
			all["intermediate_size"], all["rms_norm_eps"], all["rope_theta"] = 72, nil, nil
			all["block_multiple_of"], all["tie_word_embeddings"] = 16, nil
		}
		for k, v := range changes {
			all[k] = v
		}
		return all
	}
	kinds := func(c Config) any { return fmt.Sprint(c.Unrotated, c.Sliding, c.Window) }
	yarn := func(c Config) any { return fmt.Sprintf("%+v %v %v %v", *c.RoPE.YaRN, c.RoPE.Scale, c.Warm, c.WarmFrom) }
	slide, full := "sliding_attention", "full_attention"
	mixed := []string{slide, full, slide, full}
	long := func(c Config) any { return fmt.Sprint(c.RoPE.Divide, c.RoPE.Dim, c.RoPE.Scale, c.MaxPos) }
	phiKeys := func(changes keys) keys {
		scaling := keys{"type": "longrope", "short_factor": []float64{1, 1.5}, "long_factor": []float64{2, 3}}
		for k, v := range changes {
			scaling[k] = v
		}
		return keys{"rope_scaling": scaling, "partial_rotary_factor": 0.25, "original_max_position_embeddings": 64}
	}
	mixers := func(c Config) any { return fmt.Sprint(c.Linear, c.Conv.Taps, c.FF, c.Eps, c.RoPE.Theta, c.Tied) }
	const lfm, moe, oss = "Lfm2ForCausalLM", "Qwen3MoeForCausalLM", "GptOssForCausalLM"
	clamp := func(c Config) any { return c.Clamp }
	experts := func(c Config) any { return fmt.Sprintf("%+v %d %v", c.Experts, c.ExpertFF, c.Sparse) }
	const hybrid, smol, phi = "GraniteMoeHybridForCausalLM", "SmolLM3ForCausalLM", "Phi3ForCausalLM"
	dense := keys{"num_local_experts": 0, "layer_types": []string{"attention", "attention", "attention", "attention"}}
	with := func(key string, value any) keys {
		all := of(hybrid, dense)
		all[key] = value
		return all
	}
	for _, tt := range []struct {
		name    string
		changes keys
		got     func(Config) any
		want    string // of got, or part of the error
	}{
		{"smollm3: every fourth", of(smol, nil), kinds, "[false false false true] [] 0"},
		{"smollm3: theta", of(smol, keys{"rope_theta": nil}), func(c Config) any { return c.RoPE.Theta }, "2e+06"},
		{"smollm3: a list", of(smol, keys{"no_rope_layers": []int{1, 0, 1, 1}}), kinds,
			"[false true false false] [] 0"},
		{"smollm3: another length", of(smol, keys{"no_rope_layers": []int{1}}), kinds, "no_rope_layers has 1 layers"},
		{"smollm3: an unused window", of(smol, keys{"sliding_window": 64}), kinds, "[false false false true] [] 0"},
		{"smollm3: a window", of(smol, keys{"sliding_window": 64, "use_sliding_window": true}), kinds,
			"[false false false true] [false false false true] 64"},
		{"llama: the interval is not read", of("LlamaForCausalLM", keys{"no_rope_layer_interval": 2}), kinds,
			"[] [] 0"},
		{"ministral: types", of("MinistralForCausalLM", keys{"sliding_window": 64, "layer_types": mixed}), kinds,
			"[] [true false true false] 64"},
		{"ministral: no types", of("MinistralForCausalLM", keys{"sliding_window": 64}), kinds,
			"[] [true true true true] 64"},
		{"ministral: fewer types", of("MinistralForCausalLM", keys{"sliding_window": 64, "layer_types": mixed[:2]}),
			kinds, "layer_types has 2 kinds"},
		{"granite: factors", of("GraniteForCausalLM", keys{"embedding_multiplier": 12, "logits_scaling": 4,
			"residual_multiplier": 0.5, "attention_multiplier": 0.25}), func(c Config) any {
			return []any{c.EmbedScale, c.LogitScale, c.ResidualScale, c.QueryScalar}
		}, "[12 0.25 0.5 16]"},
		{"granite: no factors", of("GraniteForCausalLM", nil), func(c Config) any { return c.QueryScalar }, "1"},
		{"granite: a bad factor", of("GraniteForCausalLM", keys{"attention_multiplier": 0}), kinds,
			"attention_multiplier = 0"},
		{"granite: biases", of("GraniteForCausalLM", keys{"mlp_bias": true}), kinds, "mlp_bias = true"},
		{"llama: factors", of("LlamaForCausalLM", keys{"logits_scaling": 4}), kinds, "logits_scaling = 4"},
		{"granite 4: no rotation", of(hybrid, dense), kinds, "[true true true true] [] 0"},
		{"granite 4: rotation", with("position_embedding_type", "rope"), kinds, "[] [] 0"},
		{"granite 4: another", with("position_embedding_type", "alibi"), kinds, `position_embedding_type = "alibi"`},
		{"granite 4: width", with("shared_intermediate_size", 80), func(c Config) any { return c.FF }, "80"},
		{"granite 4: experts", with("num_local_experts", 64), kinds, "num_local_experts = 64"},
		{"granite 4: unsaid experts", with("num_local_experts", nil), kinds, "num_local_experts = 8"},
		{"granite 4: unsaid layers", with("layer_types", nil), kinds, "layer_types is missing"},
		{"granite 4: mamba", with("layer_types", []string{"mamba", "mamba", "attention", "mamba"}), kinds,
			`layer_types has "mamba"`},
		{"phi: one part of a head", of(phi, keys{"partial_rotary_factor": 0.5}), long, "[] 8 0 128"},
		{"phi: as saved by transformers 5", of(phi, keys{"rope_parameters": keys{"partial_rotary_factor": 0.5}}), long,
			"[] 8 0 128"},
		{"phi: longrope", of(phi, phiKeys(nil)), long, "[1 1.5] 4 1.0801234497346435 64"},
		{"phi: both lists alike", of(phi, phiKeys(keys{"long_factor": []int{2, 3}, "short_factor": []int{2, 3}})),
			long, "[2 3] 4 1.0801234497346435 128"},
		{"phi: a factor", of(phi, phiKeys(keys{"factor": 8})), long, "[1 1.5] 4 1.224744871391589 64"},
		{"phi: a factor of cosines", of(phi, phiKeys(keys{"attention_factor": 3})), long, "[1 1.5] 4 3 64"},
		{"phi: the older name", of(phi, phiKeys(keys{"type": "su"})), long, "[1 1.5] 4 1.0801234497346435 64"},
		{"phi: a short list", of(phi, phiKeys(keys{"short_factor": []int{1}})), long, "short_factor of rope_type " +
			"longrope has 1 numbers, want 2"},
		{"phi: no list", of(phi, phiKeys(keys{"long_factor": nil})), long, "long_factor of rope_type longrope has 0"},
		{"phi: a bad list", of(phi, phiKeys(keys{"short_factor": []int{1, 0}})), long, "must be 2 positive numbers"},
		{"phi: a window", of(phi, keys{"sliding_window": 64}), kinds, "[] [true true true true] 64"},
		{"lfm2: no kinds", of(lfm, nil), mixers, "[false false false false] 3 48 1e-05 1e+06 true"},
		{"lfm2: a list", of(lfm, keys{"full_attn_idxs": []int{1}}), mixers,
			"[true false true true] 3 48 1e-05 1e+06 true"},
		{"lfm2: 350M's width", of(lfm, keys{"block_ff_dim": 6656, "block_multiple_of": 256, "norm_eps": 0.1,
			"tie_embedding": false, "rope_parameters": keys{"rope_theta": 7}}), mixers,
			"[false false false false] 3 4608 0.1 7 false"},
		{"lfm2: a factor", of(lfm, keys{"block_ffn_dim_multiplier": 2.5}), mixers,
			"[false false false false] 3 128 1e-05 1e+06 true"},
		{"lfm2: the width itself", of(lfm, keys{"block_auto_adjust_ff_dim": false, "conv_L_cache": 4}), mixers,
			"[false false false false] 4 72 1e-05 1e+06 true"},
		{"lfm2: no width", of(lfm, keys{"block_multiple_of": 0}), mixers, "block_multiple_of = 0"},
		{"lfm2: biases", of(lfm, keys{"conv_bias": true}), mixers, "conv_bias = true"},
		{"lfm2: another kind", of(lfm, keys{"layer_types": mixed}), mixers, `layer_types has "sliding_attention"`},
		{"lfm2: fewer kinds", of(lfm, keys{"layer_types": []string{"conv"}}), mixers, "layer_types has 1 kinds"},
		{"lfm2: many taps", of(lfm, keys{"conv_L_cache": 9}), mixers, "conv_L_cache = 9"},
		{"lfm2: experts", of("Lfm2MoeForCausalLM", nil), mixers, `"Lfm2MoeForCausalLM"`},
		{"qwen3 moe: the defaults", of(moe, keys{"num_attention_heads": 2}), experts,
			"{Experts:128 Used:8 Normed:false} 768 [true true true true]"},
		{"qwen3 moe: some layers", of(moe, keys{"num_local_experts": 6, "num_experts_per_tok": 2,
			"norm_topk_prob": true, "decoder_sparse_step": 2, "mlp_only_layers": []int{1}}), experts,
			"{Experts:6 Used:2 Normed:true} 768 [false false false true]"},
		{"qwen3 moe: no layer", of(moe, keys{"num_experts": 0}), experts, "{Experts:0 Used:0 Normed:false} 0 []"},
		{"qwen3 moe: two numbers", of(moe, keys{"num_experts": 4, "num_local_experts": 8}), experts,
			"num_experts = 4 and num_local_experts = 8"},
		{"qwen3 moe: too many used", of(moe, keys{"num_experts": 4}), experts, "num_experts_per_tok = 8"},
		{"qwen3 moe: too many", of(moe, keys{"num_experts": 5000}), experts, "num_experts = 5000"},
		{"qwen3 moe: no width", of(moe, keys{"moe_intermediate_size": 0}), experts, "moe_intermediate_size = 0"},
		{"qwen3 moe: no step", of(moe, keys{"decoder_sparse_step": 0}), experts, "decoder_sparse_step = 0"},
		{"qwen3: experts", keys{"num_experts": 4}, experts, "num_experts = 4 is not supported"},
		{"gpt-oss: one default", of(oss, keys{"num_local_experts": 5}), experts,
			"{Experts:5 Used:4 Normed:true} 48 [true true true true]"},
		{"gpt-oss: windows", of(oss, keys{"max_position_embeddings": 4096}), kinds,
			"[] [true false true false] 128"},
		{"gpt-oss: other windows", of(oss, keys{"sliding_window": 64,
			"layer_types": []string{full, full, slide, full}}), kinds, "[] [false false true false] 64"},
		{"gpt-oss: rope", of(oss, keys{"rope_theta": nil}), yarn,
			"{Factor:32 Fast:32 Slow:1 OriginalMax:4096 Whole:false} 1.3465735902799727 0 0"},
		{"gpt-oss: clamp", of(oss, keys{"swiglu_limit": 9.5}), clamp, "{1.702 9.5}"},
		{"gpt-oss: no clamp", of(oss, keys{"swiglu_limit": nil}), clamp, "{1.702 7}"},
		{"gpt-oss: a bad clamp", of(oss, keys{"swiglu_limit": 0}), clamp, "swiglu_limit = 0"},
		{"gpt-oss: no biases", of(oss, keys{"attention_bias": false}), clamp, "attention_bias = false"},
		{"gpt-oss: no experts", of(oss, keys{"num_local_experts": 0}), clamp, "num_local_experts"},
		{"gpt-oss: another norm", of(oss, keys{"norm_topk_prob": false, "moe_intermediate_size": 7}), experts,
			"{Experts:128 Used:4 Normed:true} 48 [true true true true]"},
		{"gpt-oss: mxfp4", of(oss, keys{"quantization_config": keys{"quant_method": "mxfp4"}}), clamp, "{1.702 7}"},
		{"gpt-oss: awq", of(oss, keys{"quantization_config": keys{"quant_method": "awq"}}), clamp,
			"quantization_config is not supported"},
		{"llama: mxfp4", keys{"quantization_config": keys{"quant_method": "mxfp4"}}, clamp,
			"quantization_config is not supported"},
		{"ministral 3: rope", of("Ministral3ForCausalLM", nil), yarn,
			"{Factor:16 Fast:32 Slow:1 OriginalMax:16384 Whole:true} 1 0.1 16384"},
		{"yarn: what it leaves out", keys{"rope_scaling": keys{"rope_type": "yarn", "factor": 4, "truncate": false}},
			yarn, "{Factor:4 Fast:32 Slow:1 OriginalMax:128 Whole:false} 1.138629436111989 0 0"},
		{"yarn: bad", keys{"rope_scaling": keys{"rope_type": "yarn", "factor": 4, "beta_slow": -1}}, yarn, "beta_slow"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := parseConfig(edited(t, tt.changes))
			got := fmt.Sprint(err)
			if err == nil {
				got = fmt.Sprint(tt.got(c))
			}
			if got != tt.want && (err == nil || !strings.Contains(got, tt.want)) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// A model of text inside another one has its own keys, and of the outer ones those that count for it.
func TestWrapped(t *testing.T) {
	type keys = map[string]any
	wrap := func(class string, text, outer keys) keys {
		all := keys{"architectures": []string{class}, "text_config": text}
		for k, v := range outer {
			all[k] = v
		}
		return all
	}
	sizes := func(changes keys) keys {
		all := keys{"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
			"vocab_size": 64}
		for k, v := range changes {
			all[k] = v
		}
		return all
	}
	const gemma, mistral = "Gemma3ForConditionalGeneration", "Mistral3ForConditionalGeneration"
	for _, tt := range []struct {
		name    string
		changes keys
		want    string
	}{
		{"gemma: defaults", wrap(gemma, keys{"hidden_size": 2560, "num_hidden_layers": 2, "intermediate_size": 96},
			nil), "gemma3_text 262208 2560 8 4 256 131072 true [3 4] true"},
		{"mistral", wrap(mistral, sizes(keys{"model_type": "mistral", "sliding_window": nil}), nil),
			"mistral 64 32 4 4 8 0 true [3 4] true"},
		{"ministral 3", wrap(mistral, sizes(keys{"model_type": "ministral3", "eos_token_id": 7}),
			keys{"tie_word_embeddings": nil, "dtype": "float32"}), "ministral3 64 32 4 4 128 262144 true [7] false"},
		{"the text's own head", wrap(mistral, sizes(keys{"tie_word_embeddings": false}),
			keys{"tie_word_embeddings": nil}), "mistral 64 32 4 4 8 0 false [3 4] true"},
		{"two heads", wrap(gemma, sizes(keys{"tie_word_embeddings": false}), nil), "tie_word_embeddings = true and in"},
		{"another text", wrap(mistral, sizes(keys{"model_type": "llama"}), nil), `model_type = "llama"`},
		{"quantized", wrap(mistral, sizes(nil), keys{"quantization_config": keys{"quant_method": "fp8"}}),
			"quantization_config is not supported"},
		{"no text", keys{"architectures": []string{mistral}}, "text_config"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := parseConfig(edited(t, tt.changes))
			got := fmt.Sprint(err)
			if err == nil {
				got = fmt.Sprint(c.Arch.Type, " ", c.Vocab, c.Dim, c.Heads, c.KVHeads, c.HeadDim, c.MaxPos,
					c.Tied, c.EOS, c.BF16)
			}
			if got != tt.want && (err == nil || !strings.Contains(got, tt.want)) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	for stored, want := range map[string]string{"language_model.model.norm.weight": "model.norm.weight",
		"model.language_model.norm.weight": "model.norm.weight", "language_model.lm_head.weight": HeadName,
		"vision_tower.x": "", "model.multi_modal_projector.x": "", "lm_head.weight": HeadName} {
		if got, _ := TextName(stored); got != want {
			t.Errorf("%s is %q, want %q", stored, got, want)
		}
	}
}

// A head of its own is written to every key that ties it.
func TestUntied(t *testing.T) {
	for _, key := range []string{"tie_word_embeddings", "tie_embedding"} {
		data, err := Untied(edited(t, map[string]any{"architectures": []string{"Lfm2ForCausalLM"}, key: true}))
		if err != nil {
			t.Fatal(err)
		}
		if c, err := parseConfig(data); err != nil || c.Tied {
			t.Errorf("%s: tied %v, %v", key, c.Tied, err)
		}
	}
}
