package model

import (
	"fmt"
	"math"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// Gemma 3 differs from the other families (Hugging Face transformers 5.23, models/gemma3/modeling_gemma3.py):
//
//   - embeddings are multiplied by sqrt(D), rounded to the weights' type;
//   - a norm multiplies by 1+w, so its stored weight is around zero;
//   - the results of attention and of the MLP are normed before they are added;
//   - the MLP's activation is the tanh approximation of GELU;
//   - layers of two kinds alternate: sliding ones attend to a window and have a RoPE of their own.

// gemma reads the keys that other families do not have.
func (h *hfConfig) gemma(c *Config) (err error) {
	c.QueryScalar = 256 // the defaults are as in transformers
	if h.QueryScalar != nil {
		c.QueryScalar = *h.QueryScalar
	}
	if !(c.QueryScalar > 0) {
		return fmt.Errorf("query_pre_attn_scalar = %v must be positive", c.QueryScalar)
	}
	c.Window = 4096
	if h.Sliding != nil {
		c.Window = *h.Sliding
	}
	if c.Window < 1 {
		return fmt.Errorf("sliding_window = %d must be positive", c.Window)
	}
	if c.Sliding, err = h.slidingLayers(); err != nil {
		return err
	}
	return h.gemmaRoPE(c)
}

// slidingLayers tells the kind of each layer, by layer_types or by the older pattern.
func (h *hfConfig) slidingLayers() ([]bool, error) {
	sliding := make([]bool, min(max(0, h.Layers), 1<<16)) // check refuses other numbers
	if len(h.LayerTypes) > 0 {
		if len(h.LayerTypes) != len(sliding) {
			return nil, fmt.Errorf("layer_types has %d kinds for num_hidden_layers = %d", len(h.LayerTypes), h.Layers)
		}
		for l, kind := range h.LayerTypes {
			if sliding[l] = kind == "sliding_attention"; !sliding[l] && kind != "full_attention" {
				return nil, fmt.Errorf("layer_types has %q; supported are sliding_attention and full_attention", kind)
			}
		}
		return sliding, nil
	}
	pattern := 6
	if h.Pattern != nil {
		pattern = *h.Pattern
	}
	switch {
	case pattern < 1:
		return nil, fmt.Errorf("sliding_window_pattern = %d must be positive", pattern)
	case h.OldPattern != nil && *h.OldPattern != pattern:
		return nil, fmt.Errorf("_sliding_window_pattern = %d is not what transformers takes (%d); write layer_types "+
			"or sliding_window_pattern", *h.OldPattern, pattern)
	}
	for l := range sliding {
		sliding[l] = (l+1)%pattern != 0
	}
	return sliding, nil
}

// gemmaRoPE reads the rotations of both kinds of layers. As in transformers, the keys of rope_scaling replace those of
// rope_parameters' full_attention.
func (h *hfConfig) gemmaRoPE(c *Config) (err error) {
	c.RoPE = nn.RoPEConfig{Dim: c.HeadDim, Theta: 1e6}
	c.LocalRoPE = nn.RoPEConfig{Dim: c.HeadDim, Theta: 10000}
	if h.Theta != nil {
		c.RoPE.Theta = *h.Theta
	}
	if h.LocalTheta != nil {
		c.LocalRoPE.Theta = *h.LocalTheta
	}
	full, sliding := &hfRoPE{}, (*hfRoPE)(nil)
	if p := h.RopeParams; p != nil {
		if full, sliding = p.Full, p.Sliding; full == nil || sliding == nil {
			return fmt.Errorf("rope_parameters needs full_attention and sliding_attention")
		}
	}
	if s := h.RopeScaling; s != nil && s.Type == "" && s.OldType != "" {
		return fmt.Errorf("rope_scaling has type = %q and no rope_type, which releases of transformers read in "+
			"different ways; write rope_type", s.OldType)
	}
	if full, err = full.with(h.RopeScaling); err != nil {
		return err
	}
	if c.RoPE, err = full.config(c.RoPE); err != nil {
		return err
	}
	if c.LocalRoPE, err = sliding.config(c.LocalRoPE); err != nil {
		return err
	}
	if !(c.LocalRoPE.Theta > 0) {
		return fmt.Errorf("rope_local_base_freq = %v must be positive", c.LocalRoPE.Theta)
	}
	return nil
}

// embedScale is the factor of embeddings.
func (c Config) embedScale(k *kernel.Set) float32 {
	switch {
	case c.EmbedScale > 0:
		return c.EmbedScale
	case !c.Arch.Gemma:
		return 1
	}
	scale := []float32{float32(math.Sqrt(float64(c.Dim)))}
	if c.BF16 {
		k.RoundBF16(scale, scale)
	}
	return scale[0]
}

// normOffset is added to the stored weights of norms.
func (c Config) normOffset() float32 {
	if c.Arch.Gemma || c.Arch.Delta {
		return 1
	}
	return 0
}

// changesSums reports whether what a layer adds to the residual stream is normed or scaled before.
func (c Config) changesSums() bool { return c.Arch.Gemma || c.ResidualScale > 0 }

// normNames are the names of a layer's norms: before attention, after it, before the MLP and after it. Those after are
// empty where there are none.
func (c Config) normNames() (attn, afterAttn, mlp, afterMLP string) {
	if c.Arch.Gemma {
		return "input_layernorm.weight", "post_attention_layernorm.weight", "pre_feedforward_layernorm.weight",
			"post_feedforward_layernorm.weight"
	}
	if c.Arch.Conv {
		return "operator_norm.weight", "", "ffn_norm.weight", ""
	}
	return "input_layernorm.weight", "", "post_attention_layernorm.weight", ""
}

// headNorms are the names of the norms of each query and each key, and finalNorm is that of the last hidden state.
func (c Config) headNorms() (query, key string) {
	if c.Arch.Conv {
		return "self_attn.q_layernorm.weight", "self_attn.k_layernorm.weight"
	}
	return "self_attn.q_norm.weight", "self_attn.k_norm.weight"
}

func (c Config) finalNorm() string {
	if c.Arch.Conv {
		return "model.embedding_norm.weight"
	}
	return "model.norm.weight"
}

// angles is the rotation of layer l; nil is none.
func (p *pass) angles(l int) *nn.RoPETable {
	switch c := p.w.Config; {
	case c.unrotated(l):
		return nil
	case p.local != nil && c.slides(l):
		return p.local
	}
	return p.table
}

// residual adds rows a to b-1 of x to out, which is y or, if there is a norm w after it, y normed, times a family's
// factor.
func (p *pass) residual(out, y, x nn.Rows, w, inv []float32, a, b int) {
	if w != nil {
		nn.RMSNorm(p.K, out.Slice(a, b), y.Slice(a, b), w, p.w.Config.Eps, inv[a:b])
	}
	if scale := p.w.Config.ResidualScale; scale > 0 {
		p.K.Scale(out.Slice(a, b).Data, scale)
	}
	p.K.Add(out.Slice(a, b).Data, x.Slice(a, b).Data)
}

// residualBackward returns the gradient of y, given the gradient of out: itself, or in dy through the factor and the
// norm.
func (p *pass) residualBackward(dy, dout, y nn.Rows, w, inv []float32, a, b int, on nn.Products) nn.Rows {
	if w == nil && p.w.Config.ResidualScale == 0 {
		return dout
	}
	on.Rows(a, b, func(a, b int, _ *kernel.Scratch) {
		if w == nil {
			copy(dy.Slice(a, b).Data, dout.Slice(a, b).Data)
			p.K.Scale(dy.Slice(a, b).Data, p.w.Config.ResidualScale)
			return
		}
		for t := a; t < b; t++ {
			nn.RMSNormBackward(p.K, dy.Row(t), dout.Row(t), y.Row(t), w, inv[t])
		}
	})
	return dy
}

// afterNorm returns the place of what a norm w follows, or where there is none of the result.
func afterNorm(w []float32, y, out nn.Rows) nn.Rows {
	if w != nil {
		return y
	}
	return out
}
