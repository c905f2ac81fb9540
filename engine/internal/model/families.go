package model

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

// Arch is a family: the differences that the numbers of Config do not express. What a family has for a key that its
// config.json leaves out, and what it calls its tensors, is in its row of architectures.
type Arch struct {
	Name    string // architectures[0] of config.json
	Type    string // model_type
	QKVBias bool   // q, k and v have biases
	Bias    bool   // and so have o, routers and experts
	QKNorm  bool   // RMSNorm on every head of q and k before RoPE
	Gemma   bool   // see gemma.go
	Delta   bool   // see deltaconfig.go
	Conv    bool   // see conv.go
	Scaled  bool   // see granite.go
	Experts bool   // see expertconfig.go
	Sinks   bool   // see gptoss.go

	NoRoPE  bool // some layers may not rotate
	Windows windows

	Keys     []string // of refusedKeys, those that it reads
	Defaults string   // keys that config.json may leave out, and their values in transformers

	QKV          string // the matrix that has q, k and v; without it they are q_proj, k_proj and v_proj
	GateUp, Down string // see mlpNames
	Router       string // of experts; "" is mlp.gate
}

// windows says which layers slide if sliding_window is narrower than the context.
type windows uint8

const (
	noWindows    windows = iota
	allSlide             // every layer
	typesSlide           // those that layer_types names, or all without that key
	chosenWindow         // those that layer_types names, if use_sliding_window switches them on
)

// architectures are the families this package computes, with the defaults of transformers 5.24.
var architectures = []Arch{
	{Name: "LlamaForCausalLM", Type: "llama"},
	{Name: "Qwen2ForCausalLM", Type: "qwen2", QKVBias: true},
	{Name: "Qwen3ForCausalLM", Type: "qwen3", QKNorm: true, Defaults: `{"head_dim": 128}`},
	{Name: "MistralForCausalLM", Type: "mistral", Windows: allSlide},
	{Name: "Gemma3ForCausalLM", Type: "gemma3_text", QKNorm: true, Gemma: true,
		Keys: []string{"sliding_window_pattern"}, Defaults: `{"vocab_size": 262208, "hidden_size": 2304,
			"intermediate_size": 9216, "num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4,
			"head_dim": 256, "max_position_embeddings": 131072, "tie_word_embeddings": true, "eos_token_id": 1,
			"bos_token_id": 2}`},
	{Name: "Qwen3_5ForCausalLM", Type: "qwen3_5_text", QKNorm: true, Delta: true,
		Keys: []string{"partial_rotary_factor"}, Defaults: `{"head_dim": 256}`},
	{Name: "SmolLM3ForCausalLM", Type: "smollm3", Windows: chosenWindow, NoRoPE: true, Keys: []string{"no_rope_layers"},
		Defaults: `{"rope_theta": 2000000, "tie_word_embeddings": true, "no_rope_layer_interval": 4}`},
	{Name: "GraniteForCausalLM", Type: "granite", Scaled: true,
		Keys: []string{"residual_multiplier", "embedding_multiplier", "attention_multiplier", "logits_scaling"}},
	{Name: "GraniteMoeHybridForCausalLM", Type: "granitemoehybrid", Scaled: true, NoRoPE: true,
		Keys: []string{"residual_multiplier", "embedding_multiplier", "attention_multiplier", "logits_scaling",
			"num_local_experts"},
		Defaults: `{"num_local_experts": 8, "shared_intermediate_size": 1024, "position_embedding_type": "none"}`,
		GateUp:   "shared_mlp/input_linear", Down: "shared_mlp/output_linear"},
	{Name: "Phi3ForCausalLM", Type: "phi3", Windows: allSlide, QKV: "qkv_proj", GateUp: "mlp/gate_up_proj",
		Down: "mlp/down_proj", Keys: []string{"partial_rotary_factor"}, Defaults: `{"rms_norm_eps": 1e-5,
			"max_position_embeddings": 4096, "original_max_position_embeddings": 4096}`},
	{Name: "Lfm2ForCausalLM", Type: "lfm2", QKNorm: true, Conv: true, GateUp: "feed_forward/w1,w3",
		Down: "feed_forward/w2", Defaults: `{"vocab_size": 65536, "hidden_size": 2560, "intermediate_size": 12288,
			"num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "rope_theta": 1000000,
			"max_position_embeddings": 128000, "tie_word_embeddings": true, "eos_token_id": 2, "bos_token_id": 1}`},
	{Name: "MinistralForCausalLM", Type: "ministral", Windows: typesSlide},
	{Name: "Ministral3ForCausalLM", Type: "ministral3", Windows: allSlide, Defaults: `{"head_dim": 128,
		"rms_norm_eps": 1e-5, "max_position_embeddings": 262144, "rope_parameters": {"rope_type": "yarn",
			"rope_theta": 1000000, "factor": 16, "original_max_position_embeddings": 16384, "mscale": 1,
			"mscale_all_dim": 1, "llama_4_scaling_beta": 0.1}}`},
	{Name: "Qwen3MoeForCausalLM", Type: "qwen3_moe", QKNorm: true, Experts: true,
		Keys: []string{"num_experts", "num_local_experts"}, Defaults: `{"intermediate_size": 6144}`},
	{Name: "GptOssForCausalLM", Type: "gpt_oss", QKVBias: true, Bias: true, Experts: true, Sinks: true,
		Windows: typesSlide, Router: "mlp.router", Keys: []string{"num_experts", "num_local_experts"},
		Defaults: `{"vocab_size": 201088, "hidden_size": 2880, "intermediate_size": 2880, "num_hidden_layers": 36,
			"num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "sliding_window": 128,
			"rms_norm_eps": 1e-5, "max_position_embeddings": 131072, "rope_theta": 150000, "attention_bias": true,
			"rope_parameters": {"rope_type": "yarn", "factor": 32, "truncate": false,
				"original_max_position_embeddings": 4096}}`},
}

// mlpNames are the matrix that has gate and up, or both of them, and the one after, and their folders below a layer.
func (a Arch) mlpNames() (at string, gateUp []string, afterAt, down string) {
	first, second := cmp.Or(a.GateUp, "mlp/gate_proj,up_proj"), cmp.Or(a.Down, "mlp/down_proj")
	return path.Dir(first) + ".", strings.Split(path.Base(first), ","), path.Dir(second) + ".", path.Base(second)
}

// arch returns the family by architectures, or by model_type if that is missing. transformers goes by model_type, so
// the two must agree.
func (h *hfConfig) arch() (Arch, error) {
	var names []string
	for _, a := range architectures {
		named := len(h.Architectures) == 1 && h.Architectures[0] == a.Name
		if named && h.ModelType != "" && h.ModelType != a.Type {
			return Arch{}, fmt.Errorf("architectures = %q and model_type = %q name different models; correct one of "+
				"them", h.Architectures, h.ModelType)
		}
		if named || len(h.Architectures) == 0 && h.ModelType == a.Type {
			return a, nil
		}
		names = append(names, a.Name)
	}
	for _, w := range wrappers {
		names = append(names, w.Name)
	}
	return Arch{}, fmt.Errorf("architectures = %q, model_type = %q is not supported; supported are %s", h.Architectures,
		h.ModelType, strings.Join(names, ", "))
}

// readKeys returns the keys of config.json, raw and as they are read.
func readKeys(data []byte) (all map[string]json.RawMessage, h *hfConfig, err error) {
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, nil, err
	}
	h = &hfConfig{}
	return all, h, json.Unmarshal(data, h)
}

// onto reads the keys of config.json over a family's defaults.
func (h *hfConfig) onto(defaults string, data []byte) (*hfConfig, error) {
	if defaults == "" {
		return h, nil
	}
	over := &hfConfig{}
	if err := json.Unmarshal([]byte(defaults), over); err != nil {
		return nil, err
	}
	return over, json.Unmarshal(data, over)
}
