package model

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// Qwen3.5 differs from Qwen3 (Hugging Face transformers 5.24, models/qwen3_5/modeling_qwen3_5.py):
//
//   - most layers have a gated delta rule (nn.Delta) for attention; what a sequence keeps in them is an nn.Memory;
//   - the attention of the others is multiplied by the logistic of a gate, which q_proj computes beside each query;
//   - queries and keys are rotated in a part of each head;
//   - a norm multiplies by 1+w, except the norm of a delta rule;
//   - config.json has the model of text inside, beside one of images, and so has the name of each tensor.

// hfText is the keys of Qwen3.5's config.json beside those of hfConfig.
type hfText struct {
	Every      *int  `json:"full_attention_interval"`
	Keys       *int  `json:"linear_num_key_heads"`
	Values     *int  `json:"linear_num_value_heads"`
	KeyDim     *int  `json:"linear_key_head_dim"`
	ValueDim   *int  `json:"linear_value_head_dim"`
	Taps       *int  `json:"linear_conv_kernel_dim"`
	OutputGate *bool `json:"attn_output_gate"`
}

// delta reads the keys of Qwen3.5.
func (h *hfConfig) delta(c *Config, data []byte) error {
	var t hfText
	if err := json.Unmarshal(data, &t); err != nil {
		return err
	}
	if t.OutputGate != nil && !*t.OutputGate {
		return errors.New("attn_output_gate = false is not supported")
	}
	or := func(v *int, otherwise int) int {
		if v != nil {
			return *v
		}
		return otherwise
	}
	c.Delta = nn.Delta{Keys: or(t.Keys, 16), Values: or(t.Values, 32), KeyDim: or(t.KeyDim, 128),
		ValueDim: or(t.ValueDim, 128), Taps: or(t.Taps, 4), Eps: c.Eps}
	every := or(t.Every, 4)
	c.Linear = make([]bool, min(max(0, h.Layers), 1<<16)) // check refuses other numbers
	if n := len(h.LayerTypes); every < 1 || n > 0 && n != len(c.Linear) {
		return fmt.Errorf("full_attention_interval = %d, layer_types of %d kinds do not fit num_hidden_layers = %d",
			every, n, h.Layers)
	}
	for l := range c.Linear {
		c.Linear[l] = (l+1)%every != 0
		if len(h.LayerTypes) == 0 {
			continue
		}
		kind := h.LayerTypes[l]
		if c.Linear[l] = kind == "linear_attention"; !c.Linear[l] && kind != "full_attention" {
			return fmt.Errorf("layer_types has %q; supported are linear_attention and full_attention", kind)
		}
	}
	return h.deltaRoPE(c)
}

func (h *hfConfig) deltaRoPE(c *Config) (err error) {
	c.RoPE = nn.RoPEConfig{Theta: 10000}
	if h.Theta != nil {
		c.RoPE.Theta = *h.Theta
	}
	if c.RoPE.Dim, err = h.rotated(c, h.RopeParams, 0.25); err != nil {
		return err
	}
	if c.RoPE, err = h.RopeParams.config(c.RoPE); err != nil {
		return err
	}
	if c.RoPE.Linear != 0 || c.RoPE.Llama3 != nil || h.RopeScaling != nil {
		return fmt.Errorf("a scaled rotation (rope_type, rope_scaling) is not supported for %s", c.Arch.Name)
	}
	return nil
}

// checkDelta tests the numbers of the delta rules.
func (c Config) checkDelta() error {
	d := c.Delta
	for _, n := range []int{d.Keys, d.Values, d.KeyDim, d.ValueDim} {
		if n < 1 || n > 1<<16 {
			return fmt.Errorf("linear_num_key_heads, linear_num_value_heads and their head_dims are %+v; not sizes", d)
		}
	}
	switch {
	case d.Values%d.Keys != 0:
		return fmt.Errorf("linear_num_value_heads = %d is not a multiple of linear_num_key_heads = %d", d.Values,
			d.Keys)
	case d.Taps < 1 || d.Taps > 8:
		return fmt.Errorf("linear_conv_kernel_dim = %d is not supported; supported are 1 to 8", d.Taps)
	case len(c.Linear) != c.Layers:
		return fmt.Errorf("num_hidden_layers = %d is not a number of layers", c.Layers)
	}
	return nil
}
