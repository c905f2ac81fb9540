package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// LFM2 differs from Qwen3 (Hugging Face transformers 5.24, models/lfm2/modular_lfm2.py):
//
//   - most layers have a gated short convolution (nn.ShortConv) for attention; a sequence's pages keep what it needs of
//     the positions before;
//   - the names of norms, of attention's last linear and of the MLP's are its own;
//   - the width of the MLP follows from intermediate_size by a rule.

// hfConv is the keys of LFM2's config.json beside those of hfConfig.
type hfConv struct {
	Eps       float32  `json:"norm_eps"`
	Taps      int      `json:"conv_L_cache"`
	Bias      bool     `json:"conv_bias"`
	FF        int      `json:"block_ff_dim"`
	Adjust    bool     `json:"block_auto_adjust_ff_dim"`
	Factor    *float64 `json:"block_ffn_dim_multiplier"`
	Multiple  int      `json:"block_multiple_of"`
	Attention []int    `json:"full_attn_idxs"`
	Tied      *bool    `json:"tie_embedding"`
}

// convolutions reads the keys of LFM2.
func (h *hfConfig) convolutions(c *Config, data []byte) error {
	one := 1.0
	t := hfConv{Eps: 1e-5, Taps: 3, FF: h.Intermediate, Adjust: true, Factor: &one, Multiple: 256}
	if err := json.Unmarshal(data, &t); err != nil {
		return err
	}
	if t.Bias {
		return errors.New("conv_bias = true is not supported")
	}
	if t.Multiple < 1 || t.FF < 1 || t.FF > 1<<24 || t.Factor != nil && !(*t.Factor > 0 && *t.Factor < 1<<10) {
		return fmt.Errorf("block_multiple_of = %d, intermediate_size or block_ff_dim = %d and "+
			"block_ffn_dim_multiplier do not give a width", t.Multiple, t.FF)
	}
	if t.Tied != nil {
		c.Tied = *t.Tied
	}
	c.Eps, c.FF, c.Conv = t.Eps, t.width(), nn.ShortConv{Dim: c.Dim, Taps: t.Taps}
	c.Linear = make([]bool, h.count())
	if n := len(h.LayerTypes); n > 0 && n != len(c.Linear) {
		return fmt.Errorf("layer_types has %d kinds for num_hidden_layers = %d", n, h.Layers)
	}
	for l := range c.Linear {
		if len(h.LayerTypes) == 0 {
			c.Linear[l] = t.Attention != nil && !slices.Contains(t.Attention, l)
			continue
		}
		kind := h.LayerTypes[l]
		if c.Linear[l] = kind == "conv"; !c.Linear[l] && kind != "full_attention" {
			return fmt.Errorf("layer_types has %q; supported are conv and full_attention", kind)
		}
	}
	return h.rope(c)
}

// width is that of the MLP, as Lfm2MLP computes it.
func (t hfConv) width() int {
	if !t.Adjust {
		return t.FF
	}
	n := int(float64(2*t.FF) / 3)
	if t.Factor != nil {
		n = int(*t.Factor * float64(n))
		n = (n + t.Multiple - 1) / t.Multiple * t.Multiple
	}
	return n
}

// checkConv tests the numbers of the convolutions.
func (c Config) checkConv() error {
	if c.Conv.Taps < 1 || c.Conv.Taps > 8 {
		return fmt.Errorf("conv_L_cache = %d is not supported; supported are 1 to 8", c.Conv.Taps)
	}
	if len(c.Linear) != c.Layers {
		return fmt.Errorf("num_hidden_layers = %d is not a number of layers", c.Layers)
	}
	return nil
}

// conv packs the weights [D,1,Taps] of a convolution as [Taps,D].
func (p packer) conv(at string) []float32 {
	stored := p.vector(at + convName)
	w := make([]float32, len(stored))
	for i, v := range stored {
		w[i%p.c.Conv.Taps*p.c.Dim+i/p.c.Conv.Taps] = v
	}
	return w
}

// storedConv is the opposite of conv.
func storedConv(c Config, w []float32) []float32 {
	stored := make([]float32, len(w))
	for i := range stored {
		stored[i] = w[i%c.Conv.Taps*c.Dim+i/c.Conv.Taps]
	}
	return stored
}

// convName is the name of a convolution's weights below a layer.
const convName = "conv.conv.weight"

// convChannels is the number of channels in one part of a convolution's work.
const convChannels = 512

// eachConv runs f for parts of the channels of n stretches or trees, in parallel.
func (p recurrent) eachConv(l, n int, f func(ws *nn.Workspace, i, from, to int)) {
	dim := p.w.Config.Dim
	parts := (dim + convChannels - 1) / convChannels
	for i := range p.stretches {
		p.stretches[i].Layer = p.w.Config.place(l)
	}
	p.P.Run(n*parts, func(i int, _ *kernel.Scratch) {
		ws := p.ws.Get()
		from := i % parts * convChannels
		f(ws, i/parts, from, min(from+convChannels, dim))
		p.ws.Put(ws)
	})
}

// convolve computes the convolution of layer l.
func (p recurrent) convolve(l int) {
	c, w, rows := p.w.Config, p.w.layers[l].conv, p.convRows(l)
	p.eachConv(l, len(p.stretches), func(ws *nn.Workspace, i, from, to int) {
		if s := p.stretches[i]; s.From < s.To {
			c.Conv.Forward(p.K, ws, w, rows, c.Pages(), s, p.prev, from, to)
		}
	})
}

// convolveBackward computes the gradient of the rows that enter the convolution of layer l.
func (p recurrent) convolveBackward(l int) {
	c, w, rows := p.w.Config, p.w.layers[l].conv, p.convRows(l)
	p.eachConv(l, len(p.roots), func(ws *nn.Workspace, i, from, to int) {
		c.Conv.Backward(p.K, ws, w, rows, p.back.conv(), p.stretches, p.prev, p.roots[i], from, to)
	})
}

func (p recurrent) convRows(l int) nn.ConvRows {
	return nn.ConvRows{In: p.layers[l].delta.In, Y: p.layers[l].delta.Y}
}

func (d *backBuffers) conv() nn.ConvGrads {
	return nn.ConvGrads{DY: d.dmixed, DIn: d.ddelta, DConv: d.dconv}
}

// convTask puts the gradient of a convolution's weights on the list.
func (p recurrent) convTask(l int, out []float32) {
	if out == nil {
		return
	}
	p.back.tasks = append(p.back.tasks, gradTask{run: func(*kernel.Set, *kernel.Scratch) {
		p.w.Config.Conv.Grad(out, p.convRows(l), p.back.conv(), p.prev)
	}})
}
