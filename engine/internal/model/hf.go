package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// hfConfig is the part of config.json that is read. Other keys that change the computation are in refusedKeys.
type hfConfig struct {
	Architectures []string        `json:"architectures"`
	ModelType     string          `json:"model_type"`
	VocabSize     int             `json:"vocab_size"`
	Hidden        int             `json:"hidden_size"`
	Layers        int             `json:"num_hidden_layers"`
	Heads         int             `json:"num_attention_heads"`
	KVHeads       int             `json:"num_key_value_heads"`
	HeadDim       int             `json:"head_dim"`
	Intermediate  int             `json:"intermediate_size"`
	Eps           *float32        `json:"rms_norm_eps"`
	Theta         *float64        `json:"rope_theta"`
	RopeScaling   *hfRoPE         `json:"rope_scaling"`
	RopeParams    *hfRoPE         `json:"rope_parameters"` // transformers 5 writes theta and scaling here
	MaxPos        int             `json:"max_position_embeddings"`
	OriginalMax   float64         `json:"original_max_position_embeddings"` // of Phi, beside rope_scaling
	Partial       *float64        `json:"partial_rotary_factor"`
	Tied          *bool           `json:"tie_word_embeddings"`
	TorchDType    string          `json:"torch_dtype"`
	DType         string          `json:"dtype"`
	Act           string          `json:"hidden_act"`
	Activation    string          `json:"hidden_activation"` // of Gemma
	AttnBias      bool            `json:"attention_bias"`
	MLPBias       bool            `json:"mlp_bias"`
	UseSliding    bool            `json:"use_sliding_window"`
	Sliding       *int            `json:"sliding_window"`
	WindowLayers  *int            `json:"max_window_layers"` // layers from here on slide
	LayerTypes    []string        `json:"layer_types"`
	Quantization  json.RawMessage `json:"quantization_config"`
	Pattern       *int            `json:"sliding_window_pattern"`  // every so many layers one is not sliding
	OldPattern    *int            `json:"_sliding_window_pattern"` // transformers writes it and does not read it
	LocalTheta    *float64        `json:"rope_local_base_freq"`
	QueryScalar   *float64        `json:"query_pre_attn_scalar"`
	Bidirectional bool            `json:"use_bidirectional_attention"`
	NoRoPE        []int           `json:"no_rope_layers"` // by layer: 1 is rotated, 0 is not
	NoRoPEEvery   int             `json:"no_rope_layer_interval"`
	EmbedFactor   float64         `json:"embedding_multiplier"`
	AddFactor     float64         `json:"residual_multiplier"`
	ScoreFactor   *float64        `json:"attention_multiplier"`
	LogitDivisor  float64         `json:"logits_scaling"`
	Experts       int             `json:"num_local_experts"`
	SharedFF      int             `json:"shared_intermediate_size"`
	Positions     string          `json:"position_embedding_type"`
	EOS           tokenIDs        `json:"eos_token_id"`
	BOS           tokenIDs        `json:"bos_token_id"`
}

// hfRoPE is rope_scaling, or rope_parameters.
type hfRoPE struct {
	Type        string   `json:"rope_type"`
	OldType     string   `json:"type"`
	Theta       *float64 `json:"rope_theta"`
	Factor      float64  `json:"factor"`
	LowFactor   float64  `json:"low_freq_factor"`
	HighFactor  float64  `json:"high_freq_factor"`
	OriginalMax float64  `json:"original_max_position_embeddings"`
	Partial     float64  `json:"partial_rotary_factor"`
	Attention   *float64 `json:"attention_factor"` // of cosines and sines
	Fast        *float64 `json:"beta_fast"`
	Slow        *float64 `json:"beta_slow"`
	MScale      float64  `json:"mscale"`
	MScaleAll   float64  `json:"mscale_all_dim"`
	Truncate    *bool    `json:"truncate"`
	Warm        float64  `json:"llama_4_scaling_beta"`

	Short []float32 `json:"short_factor"` // of longrope
	Long  []float32 `json:"long_factor"`

	raw    json.RawMessage
	keys   int      // how many there are
	nested []string // keys that hold another object
	// Of Gemma, where each kind of layer has its own.
	Full    *hfRoPE `json:"full_attention"`
	Sliding *hfRoPE `json:"sliding_attention"`
}

func (r *hfRoPE) UnmarshalJSON(b []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(b, &all); err != nil {
		return err
	}
	*r = hfRoPE{raw: slices.Clone(b), keys: len(all)}
	for key, v := range all {
		if v[0] == '{' {
			r.nested = append(r.nested, key)
		}
	}
	slices.Sort(r.nested)
	return r.read(b)
}

func (r *hfRoPE) read(b []byte) error {
	type plain hfRoPE
	return json.Unmarshal(b, (*plain)(r))
}

// with returns r with the keys of over in place of its own.
func (r hfRoPE) with(over *hfRoPE) (*hfRoPE, error) {
	if over == nil {
		return &r, nil
	}
	return &r, r.read(over.raw)
}

// tokenIDs is one id, a list of ids or null.
type tokenIDs []int

func (t *tokenIDs) UnmarshalJSON(b []byte) error {
	var one int
	if *t = nil; string(b) == "null" {
		return nil
	}
	if json.Unmarshal(b, &one) == nil {
		*t = tokenIDs{one}
		return nil
	}
	return json.Unmarshal(b, (*[]int)(t))
}

// refusedKeys are keys of unsupported features of models with a supported architecture.
var refusedKeys = []string{"num_experts", "num_local_experts", "attn_logit_softcapping", "final_logit_softcapping",
	"logit_scale", "residual_multiplier", "embedding_multiplier", "attention_multiplier", "logits_scaling",
	"partial_rotary_factor",
	"no_rope_layers", "sliding_window_pattern"}

// refuse returns an error if the keys that are read ask for an unsupported feature.
func (h *hfConfig) refuse(a Arch) error {
	switch {
	case a.Gemma && h.Bidirectional:
		return errors.New("use_bidirectional_attention = true is not supported")
	case a.Gemma && h.Activation != "" && h.Activation != "gelu_pytorch_tanh":
		return fmt.Errorf("hidden_activation = %q is not supported; supported is gelu_pytorch_tanh", h.Activation)
	case !a.Gemma && h.Act != "" && h.Act != "silu":
		return fmt.Errorf("hidden_act = %q is not supported; supported is silu", h.Act)
	case h.AttnBias && !a.QKVBias:
		return fmt.Errorf("attention_bias = true is not supported for %s", a.Name)
	case h.MLPBias:
		return errors.New("mlp_bias = true is not supported")
	case len(h.Quantization) > 0 && string(h.Quantization) != "null" && !(a.Sinks && h.mxfp4()):
		return errors.New("quantization_config is not supported; use the unquantized model")
	}
	return nil
}

// mxfp4 reports whether the files have experts in MXFP4, which are read.
func (h *hfConfig) mxfp4() bool {
	var q struct {
		Method string `json:"quant_method"`
	}
	return json.Unmarshal(h.Quantization, &q) == nil && q.Method == "mxfp4"
}

// bf16 reads dtype, or the older torch_dtype if it is missing.
func (h *hfConfig) bf16() (bool, error) {
	key, t := "dtype", h.DType
	if t == "" {
		key, t = "torch_dtype", h.TorchDType
	}
	switch t {
	case "bfloat16":
		return true, nil
	case "float32", "float16", "":
		return false, nil
	}
	return false, fmt.Errorf("%s = %q is not supported; supported are bfloat16, float16, float32", key, t)
}
