package model

import (
	"errors"
	"fmt"
	"math"
)

// Granite multiplies embeddings, scores, what a layer adds to the residual stream, and the last hidden state (Hugging
// Face transformers 5.24, models/granite/modeling_granite.py). The dense models of Granite 4.0 have the class of those
// with Mamba layers and experts, and one matrix for gate and up (models/granitemoehybrid).

// granite reads the keys of Granite.
func (h *hfConfig) granite(c *Config) error {
	for _, f := range []struct {
		key   string
		value float64
		to    *float32
	}{{"embedding_multiplier", h.EmbedFactor, &c.EmbedScale}, {"residual_multiplier", h.AddFactor, &c.ResidualScale},
		{"logits_scaling", h.LogitDivisor, &c.LogitScale}} {
		if f.value < 0 || math.IsInf(f.value, 0) {
			return fmt.Errorf("%s = %v must be positive", f.key, f.value)
		}
		*f.to = float32(f.value)
	}
	if c.LogitScale > 0 {
		c.LogitScale = 1 / c.LogitScale
	}
	c.QueryScalar = 1 // transformers' default of the factor
	if m := h.ScoreFactor; m != nil {
		if !(*m > 0) {
			return fmt.Errorf("attention_multiplier = %v must be positive", *m)
		}
		c.QueryScalar = 1 / (*m * *m)
	}
	if c.Arch.GateUp == "" {
		return nil
	}
	return h.hybrid(c)
}

// hybrid reads the keys of Granite 4.0, whose class has parts that are not computed.
func (h *hfConfig) hybrid(c *Config) error {
	if h.Experts != 0 {
		return fmt.Errorf("num_local_experts = %d is not supported; choose one of the dense models, without experts",
			h.Experts)
	}
	if len(h.LayerTypes) != h.count() {
		return errors.New("layer_types is missing or has another length than num_hidden_layers; without it all " +
			"layers are Mamba layers, which are not supported")
	}
	for l, t := range h.LayerTypes {
		if t != "attention" && t != "full_attention" {
			return fmt.Errorf("layer_types has %q, which is not supported; choose one of the dense models", t)
		}
		h.LayerTypes[l] = "full_attention"
	}
	if h.Positions != "rope" && h.Positions != "none" {
		return fmt.Errorf("position_embedding_type = %q is not supported; supported are rope and null", h.Positions)
	}
	c.FF = h.SharedFF
	return nil
}
