package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// gpt-oss differs from Qwen3-MoE (Hugging Face transformers 5.24, models/gpt_oss/modeling_gpt_oss.py):
//
//   - each query head has a sink, a score that joins its softmax and has no value;
//   - o, the routers and the experts have biases, as q, k and v have;
//   - the experts' gate and up are clamped, see nn.Clamp;
//   - every second layer, the first among them, attends to a window;
//   - files have the experts of a layer in one tensor, most of them in MXFP4, see stacked.go.

// hfClamp is the keys of gpt-oss beside those of hfExperts, with the defaults of transformers.
type hfClamp struct {
	Alpha float64 `json:"swiglu_alpha"`
	Limit float64 `json:"swiglu_limit"`
}

// gptOSS reads the keys of gpt-oss.
func (h *hfConfig) gptOSS(c *Config, data []byte) error {
	t := hfClamp{1.702, 7}
	if err := json.Unmarshal(data, &t); err != nil {
		return err
	}
	switch {
	case !(t.Alpha > 0) || !(t.Limit > 0) || math.IsInf(t.Alpha, 0) || math.IsInf(t.Limit, 0):
		return fmt.Errorf("swiglu_alpha = %v, swiglu_limit = %v must be positive", t.Alpha, t.Limit)
	case !h.AttnBias:
		return errors.New("attention_bias = false is not supported for gpt-oss")
	}
	c.Clamp = nn.Clamp{Alpha: float32(t.Alpha), Limit: float32(t.Limit)}
	if len(h.LayerTypes) == 0 {
		for l := range h.count() {
			h.LayerTypes = append(h.LayerTypes, []string{"sliding_attention", "full_attention"}[l%2])
		}
	}
	err := h.experts(c, data, hfExperts{Used: 4, FF: h.Intermediate, Step: 1})
	if err == nil && c.dense() {
		err = errors.New("layers without experts (num_local_experts, mlp_only_layers) are not supported for gpt-oss")
	}
	c.Experts.Normed, c.ExpertFF = true, c.FF // whatever Qwen3-MoE's keys say
	c.MXFP4 = h.mxfp4()
	return err
}

// sinksName is the name of the sinks of a layer's heads below it.
const sinksName = "self_attn.sinks"
