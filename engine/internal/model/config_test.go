package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// edited returns a valid config.json with some keys replaced; a nil value removes the key.
func edited(t testing.TB, changes map[string]any) []byte {
	t.Helper()
	c := map[string]any{"architectures": []string{"Qwen3ForCausalLM"}, "vocab_size": 64, "hidden_size": 32,
		"num_hidden_layers":   1,
		"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 48,
		"rms_norm_eps": 1e-6,
		"rope_theta":   1e6, "max_position_embeddings": 128, "tie_word_embeddings": true, "torch_dtype": "bfloat16",
		"eos_token_id": []int{3, 4}, "bos_token_id": 1}
	for k, v := range changes {
		if c[k] = v; v == nil {
			delete(c, k)
		}
	}
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestParseConfig(t *testing.T) {
	base := Config{Arch: architectures[2], Vocab: 64, Dim: 32, Layers: 1, Heads: 4, KVHeads: 2, HeadDim: 16, FF: 48,
		Eps:  1e-6,
		RoPE: nn.RoPEConfig{Dim: 16, Theta: 1e6}, MaxPos: 128, Tied: true, BF16: true, EOS: []int{3, 4}, BOS: []int{1}}
	for _, tt := range []struct {
		name    string
		changes map[string]any
		want    func(*Config)
	}{
		{"qwen3", nil, func(*Config) {}},
		{"llama", map[string]any{"architectures": []string{"LlamaForCausalLM"}, "head_dim": nil, "eos_token_id": 3,
			"bos_token_id": nil}, func(c *Config) {
			c.Arch, c.HeadDim, c.RoPE.Dim, c.EOS, c.BOS = architectures[0], 8, 8, []int{3}, nil
		}},
		{"qwen2 with an unused window", map[string]any{"architectures": []string{"Qwen2ForCausalLM"},
			"sliding_window": 4096, "use_sliding_window": false},
			func(c *Config) { c.Arch = architectures[1] }},
		{"a window as long as the context", map[string]any{"sliding_window": 128, "use_sliding_window": true,
			"layer_types": []string{"sliding_attention"}}, func(*Config) {}},
		{"a window above all layers", map[string]any{"sliding_window": 64, "use_sliding_window": true,
			"max_window_layers": 1}, func(*Config) {}},
		{"mistral", map[string]any{"architectures": []string{"MistralForCausalLM"}, "head_dim": nil,
			"sliding_window": 128}, func(c *Config) { c.Arch, c.HeadDim, c.RoPE.Dim = architectures[3], 8, 8 }},
		{"model_type alone", map[string]any{"architectures": nil, "model_type": "qwen3"}, func(*Config) {}},
		{"cut products", map[string]any{"pretraining_tp": 2}, func(*Config) {}},
		{"qwen3 without head_dim", map[string]any{"head_dim": nil},
			func(c *Config) { c.HeadDim, c.RoPE.Dim = 128, 128 }},
		{"f16", map[string]any{"torch_dtype": "float16", "tie_word_embeddings": nil},
			func(c *Config) { c.BF16, c.Tied = false, false }},
		{"new dtype key", map[string]any{"torch_dtype": nil, "dtype": "float32"}, func(c *Config) { c.BF16 = false }},
		{"old llama3 scaling", map[string]any{"rope_scaling": map[string]any{"rope_type": "llama3", "factor": 8,
			"low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 8192}},
			func(c *Config) {
				c.RoPE.Llama3 = &nn.Llama3Scaling{Factor: 8, LowFactor: 1, HighFactor: 4, OriginalMax: 8192}
			}},
		{"linear scaling", map[string]any{"rope_scaling": map[string]any{"type": "linear", "factor": 2}},
			func(c *Config) { c.RoPE.Linear = 2 }},
		{"rope_parameters", map[string]any{"rope_theta": nil,
			"rope_parameters": map[string]any{"rope_type": "default", "rope_theta": 500}},
			func(c *Config) { c.RoPE.Theta = 500 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := base
			tt.want(&want)
			got, err := parseConfig(edited(t, tt.changes))
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, %v\nwant %+v", got, err, want)
			}
		})
	}
}

// gemma is the changes that make a configuration one of Gemma 3, and one more.
func gemma(key string, value any) map[string]any {
	return map[string]any{"architectures": []string{"Gemma3ForCausalLM"}, key: value}
}

// Keys that Gemma 3's files leave out have transformers' defaults; the older pattern of layers counts like layer_types.
func TestParseGemma(t *testing.T) {
	changes := gemma("num_hidden_layers", 7)
	changes["head_dim"], changes["tie_word_embeddings"], changes["rope_theta"] = nil, nil, nil
	changes["sliding_window_pattern"] = 3
	c, err := parseConfig(edited(t, changes))
	if err != nil {
		t.Fatal(err)
	}
	if c.HeadDim != 256 || !c.Tied || c.RoPE.Theta != 1e6 || c.LocalRoPE.Theta != 10000 || c.Window != 4096 ||
		c.QueryScalar != 256 || fmt.Sprint(c.Sliding) != "[true true false true true false true]" {
		t.Errorf("read as %+v", c)
	}
	changes["sliding_window_pattern"], changes["sliding_window"] = nil, 512
	changes["rope_scaling"] = map[string]any{"rope_type": "linear", "factor": 8}
	if c, err = parseConfig(edited(t, changes)); err != nil {
		t.Fatal(err)
	}
	if c.Window != 512 || c.RoPE.Linear != 8 || c.LocalRoPE.Linear != 0 ||
		fmt.Sprint(c.Sliding) != "[true true true true true false true]" {
		t.Errorf("read as %+v", c)
	}
}

// Unsupported settings are refused by the name of their key.
func TestParseConfigRefuses(t *testing.T) {
	for _, tt := range []struct {
		key     string
		changes map[string]any
	}{
		{"architectures", map[string]any{"architectures": []string{"MixtralForCausalLM"}}},
		{"architectures", map[string]any{"architectures": nil}},
		{"num_experts", map[string]any{"num_experts": 8}},
		{"hidden_act", map[string]any{"hidden_act": "gelu"}},
		{"attention_bias", map[string]any{"attention_bias": true}},
		{"mlp_bias", map[string]any{"mlp_bias": true}},
		{"use_sliding_window", map[string]any{"use_sliding_window": true, "sliding_window": 64}},
		{"use_sliding_window", map[string]any{"use_sliding_window": true, "sliding_window": 64,
			"max_window_layers": 0}},
		{"sliding_window", map[string]any{"architectures": []string{"MistralForCausalLM"}, "sliding_window": -1}},
		{"full_attention", map[string]any{
			"rope_parameters": map[string]any{"full_attention": map[string]any{"rope_type": "default"}}}},
		{"MistralForCausalLM", map[string]any{"architectures": nil, "model_type": "gemma2"}},
		{"text_config", map[string]any{"architectures": []string{"Gemma3ForConditionalGeneration"}}},
		{"use_bidirectional_attention", gemma("use_bidirectional_attention", true)},
		{"hidden_activation", gemma("hidden_activation", "gelu")},
		{"attn_logit_softcapping", gemma("attn_logit_softcapping", 50)},
		{"final_logit_softcapping", gemma("final_logit_softcapping", 30)},
		{"query_pre_attn_scalar", gemma("query_pre_attn_scalar", -1)},
		{"sliding_window", gemma("sliding_window", 0)},
		{"sliding_window_pattern", gemma("sliding_window_pattern", 0)},
		{"layer_types", gemma("layer_types", []string{"sliding_attention", "full_attention"})},
		{"layer_types", gemma("layer_types", []string{"chunked_attention"})},
		{"rope_local_base_freq", gemma("rope_local_base_freq", -1)},
		{"rope_parameters", gemma("rope_parameters", map[string]any{"rope_type": "default"})},
		{"rope_type", gemma("rope_scaling", map[string]any{"rope_type": "yarn", "factor": 4})},
		{"num_hidden_layers", gemma("num_hidden_layers", 1<<20)},
		{"sliding_window", map[string]any{"architectures": []string{"LlamaForCausalLM"}, "sliding_window": 96}},
		{"layer_types", map[string]any{"layer_types": []string{"sliding_attention"}, "sliding_window": 64}},
		{"layer_types", map[string]any{"layer_types": []string{"chunked_attention"}}},
		{"quantization_config", map[string]any{"quantization_config": map[string]any{"bits": 4}}},
		{"rope_type", map[string]any{"rope_scaling": map[string]any{"rope_type": "dynamic", "factor": 4}}},
		{"yarn", map[string]any{"rope_scaling": map[string]any{"rope_type": "yarn"}}},
		{"llama3", map[string]any{"rope_scaling": map[string]any{"rope_type": "llama3", "factor": 4}}},
		{"factor", map[string]any{"rope_scaling": map[string]any{"rope_type": "linear"}}},
		{"partial_rotary_factor", map[string]any{"partial_rotary_factor": 0.5}},
		{"partial_rotary_factor", map[string]any{"rope_parameters": map[string]any{"partial_rotary_factor": 0.5}}},
		{"partial_rotary_factor", map[string]any{"rope_parameters": map[string]any{"partial_rotary_factor": 0.5,
			"rope_type": "longrope"}}},
		{"torch_dtype", map[string]any{"torch_dtype": "float8"}},
		{"vocab_size", map[string]any{"vocab_size": 0}},
		{"hidden_size", map[string]any{"hidden_size": -32}},
		{"num_key_value_heads", map[string]any{"num_key_value_heads": 3}},
		{"head_dim", map[string]any{"head_dim": 15}},
		{"rms_norm_eps", map[string]any{"rms_norm_eps": 0}},
		{"num_hidden_layers", map[string]any{"num_hidden_layers": "two"}},
	} {
		t.Run(tt.key, func(t *testing.T) {
			if c, err := parseConfig(edited(t, tt.changes)); err == nil || !strings.Contains(err.Error(), tt.key) {
				t.Errorf("%v: got %+v, %v; want an error that names %s", tt.changes, c, err, tt.key)
			}
		})
	}
}

func TestLoadConfigMissing(t *testing.T) {
	dir := t.TempDir()
	if _, err := LoadConfig(dir); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), dir) {
		t.Errorf("empty folder: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadConfig(dir); err == nil || !strings.Contains(err.Error(), "config.json") {
		t.Errorf("broken JSON: %v", err)
	}
}

// FuzzParseConfig: any bytes give an error or a config that the rest of the package can divide by.
func FuzzParseConfig(f *testing.F) {
	f.Add(edited(f, nil))
	f.Add(edited(f, map[string]any{"rope_scaling": map[string]any{"rope_type": "llama3", "factor": 8,
		"low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 8192}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parseConfig(data)
		if err == nil && (c.check() != nil || c.RoPE.Check() != nil || c.Heads/c.KVHeads < 1) {
			t.Errorf("accepted %+v", c)
		}
	})
}
