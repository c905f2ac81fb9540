package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
)

// rope reads rope_scaling, or rope_parameters if there is none, and rope_theta if that names no theta. So does
// transformers: rope_scaling, the older key, replaces rope_parameters as a whole.
func (h *hfConfig) rope(c *Config) (err error) {
	c.RoPE = nn.RoPEConfig{Dim: c.HeadDim, Theta: 10000}
	if h.Theta != nil {
		c.RoPE.Theta = *h.Theta
	}
	s := h.RopeScaling
	if s == nil || s.keys == 0 {
		s = h.RopeParams
	}
	if slices.Contains(c.Arch.Keys, "partial_rotary_factor") {
		if c.RoPE.Dim, err = h.rotated(c, s, 1); err != nil {
			return err
		}
	}
	if s == nil {
		return nil
	}
	if len(s.nested) > 0 {
		return fmt.Errorf("rope_parameters for each kind of layer (%s) are not supported", strings.Join(s.nested, ", "))
	}
	s.OriginalMax = cmp.Or(h.OriginalMax, s.OriginalMax, float64(h.MaxPos)) // in transformers' order
	if len(s.Short) > 0 || s.kind() == "longrope" {
		return h.longRoPE(c, s)
	}
	if c.RoPE, err = s.config(c.RoPE); err != nil || s.Warm == 0 {
		return err
	}
	if c.Warm, c.WarmFrom = s.Warm, s.OriginalMax; !(s.Warm > 0) || !(s.OriginalMax >= 1) {
		return fmt.Errorf("llama_4_scaling_beta = %v with original_max_position_embeddings = %v is not supported",
			s.Warm, s.OriginalMax)
	}
	return nil
}

// rotated reads how much of each head is rotated, and takes it out of s, which may be nil.
func (h *hfConfig) rotated(c *Config, s *hfRoPE, otherwise float64) (dim int, err error) {
	part := otherwise
	if h.Partial != nil {
		part = *h.Partial
	}
	if s != nil && s.Partial != 0 {
		part, s.Partial = s.Partial, 0
	}
	dim = int(float64(c.HeadDim) * part)
	if dim < 2 || dim%2 != 0 || dim > c.HeadDim {
		return 0, fmt.Errorf("partial_rotary_factor = %v of head_dim = %d is not supported", part, c.HeadDim)
	}
	return dim, nil
}

// whole refuses to rotate a part of each head, for families in which that is not computed.
func (s *hfRoPE) whole() error {
	if s.Partial != 0 && s.Partial != 1 {
		return fmt.Errorf("partial_rotary_factor = %v is not supported", s.Partial)
	}
	return nil
}

// kind is the type of scaling.
func (s *hfRoPE) kind() string { return cmp.Or(s.Type, s.OldType) }

// config is r with what s says, which may be nil.
func (s *hfRoPE) config(r nn.RoPEConfig) (nn.RoPEConfig, error) {
	if s == nil {
		return r, nil
	}
	if s.Theta != nil {
		r.Theta = *s.Theta
	}
	if err := s.whole(); err != nil {
		return r, err
	}
	switch typ := s.kind(); typ {
	case "default", "":
		return r, nil
	case "linear":
		if r.Linear = s.Factor; s.Factor <= 0 {
			return r, fmt.Errorf("rope_scaling factor = %v must be positive", s.Factor)
		}
	case "llama3":
		r.Llama3 = &nn.Llama3Scaling{Factor: s.Factor, LowFactor: s.LowFactor, HighFactor: s.HighFactor,
			OriginalMax: s.OriginalMax}
	case "yarn":
		s.yarn(&r)
	default:
		return r, fmt.Errorf("rope_type = %q is not supported; supported are default, linear, llama3, yarn, "+
			"longrope", typ)
	}
	return r, r.Check()
}

// yarn reads the keys of rope_type yarn.
func (s *hfRoPE) yarn(r *nn.RoPEConfig) {
	r.YaRN = &nn.YaRNScaling{Factor: s.Factor, Fast: 32, Slow: 1, OriginalMax: s.OriginalMax,
		Whole: s.Truncate == nil || *s.Truncate}
	if s.Fast != nil && *s.Fast != 0 {
		r.YaRN.Fast = *s.Fast
	}
	if s.Slow != nil && *s.Slow != 0 {
		r.YaRN.Slow = *s.Slow
	}
	switch {
	case s.Attention != nil:
		r.Scale = *s.Attention
	case s.MScale != 0 && s.MScaleAll != 0:
		r.Scale = r.YaRN.Attention(s.MScale) / r.YaRN.Attention(s.MScaleAll)
	default:
		r.Scale = r.YaRN.Attention(1)
	}
}

// warm is the factor of a position's queries: Ministral 3's get_llama_4_attn_scale.
func (c Config) warm(pos int) float32 {
	if c.Warm == 0 {
		return 1
	}
	windows := float32(math.Floor(float64(pos) / c.WarmFrom))
	return 1 + float32(float32(c.Warm)*float32(elementary.Log(float64(1+windows))))
}
