package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
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
	r.raw, r.keys = slices.Clone(b), len(all)
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
	if string(b) == "null" {
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
	return Arch{}, fmt.Errorf("architectures = %q, model_type = %q is not supported; supported are %s", h.Architectures,
		h.ModelType, strings.Join(names, ", "))
}

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
	case len(h.Quantization) > 0 && string(h.Quantization) != "null":
		return errors.New("quantization_config is not supported; use the unquantized model")
	}
	if a.Gemma || a.Delta {
		return nil
	}
	return h.refuseSliding(a)
}

// refuseSliding returns an error if some token would not attend to all tokens before it. A window as long as the
// model's context is allowed.
func (h *hfConfig) refuseSliding(a Arch) error {
	const supported = "only full attention is computed; choose a model without a sliding window"
	for _, t := range h.LayerTypes {
		if t != "full_attention" && (t != "sliding_attention" || !h.wide()) {
			return fmt.Errorf("layer_types = %q is not supported; %s", h.LayerTypes, supported)
		}
	}
	// has a window for the upper layers that is unused unless it is switched on
	qwen := strings.HasPrefix(a.Type, "qwen")
	switch {
	case h.wide() || len(h.LayerTypes) > 0 && a.Type != "mistral": // transformers reads no layer_types of Mistral
		return nil
	case qwen && h.UseSliding && (h.WindowLayers == nil || *h.WindowLayers < h.Layers):
		return fmt.Errorf("use_sliding_window = true with sliding_window = %d is not supported; %s", *h.Sliding,
			supported)
	case !qwen:
		return fmt.Errorf("sliding_window = %d is not supported for %s; %s", *h.Sliding, a.Name, supported)
	}
	return nil
}

// wide reports whether no window is narrower than the model's context.
func (h *hfConfig) wide() bool { return h.Sliding == nil || h.MaxPos > 0 && *h.Sliding >= h.MaxPos }

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

// defaultWindow sets the window that transformers takes where sliding_window is missing and a family's layers may
// slide.
func (h *hfConfig) defaultWindow(a Arch) {
	if a.Type == "mistral" || strings.HasPrefix(a.Type, "qwen") && !a.Delta && h.UseSliding {
		window := 4096
		h.Sliding = &window
	}
}

// rope reads rope_scaling, or rope_parameters if there is none, and rope_theta if that names no theta. So does
// transformers: rope_scaling, the older key, replaces rope_parameters as a whole.
func (h *hfConfig) rope(headDim int) (nn.RoPEConfig, error) {
	r := nn.RoPEConfig{Dim: headDim, Theta: 10000}
	if h.Theta != nil {
		r.Theta = *h.Theta
	}
	s := h.RopeScaling
	if s == nil || s.keys == 0 {
		s = h.RopeParams
	}
	if s != nil && len(s.nested) > 0 {
		return r, fmt.Errorf("rope_parameters for each kind of layer (%s) are not supported",
			strings.Join(s.nested, ", "))
	}
	return s.config(r)
}

// config is r with what s says, which may be nil.
func (s *hfRoPE) config(r nn.RoPEConfig) (nn.RoPEConfig, error) {
	if s == nil {
		return r, nil
	}
	if s.Theta != nil {
		r.Theta = *s.Theta
	}
	if s.Partial != 0 && s.Partial != 1 {
		return r, fmt.Errorf("partial_rotary_factor = %v is not supported", s.Partial)
	}
	typ := s.Type
	if typ == "" {
		typ = s.OldType
	}
	switch typ {
	case "default", "":
		return r, nil
	case "linear":
		if r.Linear = s.Factor; s.Factor <= 0 {
			return r, fmt.Errorf("rope_scaling factor = %v must be positive", s.Factor)
		}
	case "llama3":
		r.Llama3 = &nn.Llama3Scaling{Factor: s.Factor, LowFactor: s.LowFactor, HighFactor: s.HighFactor,
			OriginalMax: s.OriginalMax}
	default:
		return r, fmt.Errorf("rope_type = %q is not supported; supported are default, linear, llama3", typ)
	}
	return r, r.Check()
}
