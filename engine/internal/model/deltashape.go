package model

import (
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// linear reports whether layer l has no attention, and place counts the layers of its kind before it.
func (c Config) linear(l int) bool { return c.Linear != nil && c.Linear[l] }
func (c Config) place(l int) (n int) {
	for i := range l {
		if c.linear(i) == c.linear(l) {
			n++
		}
	}
	return n
}

// fullLayers is the number of layers with attention.
func (c Config) fullLayers() (n int) {
	for l := range c.Layers {
		if !c.linear(l) {
			n++
		}
	}
	return n
}

// Memory is the shape of what a sequence keeps beside its pages; without layers if that is nothing.
func (c Config) Memory() nn.MemoryShape {
	if !c.Arch.Delta {
		return nn.MemoryShape{}
	}
	return nn.MemoryShape{Delta: c.Delta, Layers: c.Layers - c.fullLayers()}
}

// MemoryBytes is the size of what a sequence keeps beside its pages.
func (c Config) MemoryBytes() int64 {
	if !c.Arch.Delta {
		return 0
	}
	return int64(c.Memory().Bytes())
}

// qWidth is the width of q_proj: each head's query and, with an output gate, its gate.
func (c Config) qWidth() int {
	if c.Arch.Delta {
		return 2 * c.QDim()
	}
	return c.QDim()
}

// outWidth is the width of what leaves a layer's mixer.
func (c Config) outWidth(l int) int {
	if c.linear(l) {
		return c.linearOut()
	}
	return c.QDim()
}

// linearIn and linearOut are the widths of what a layer without attention projects, and of what leaves its mixer.
func (c Config) linearIn() int {
	if c.Arch.Conv {
		return 3 * c.Dim
	}
	return c.Delta.Width()
}

func (c Config) linearOut() int {
	if c.Arch.Conv {
		return c.Dim
	}
	return c.Delta.Values * c.Delta.ValueDim
}

// channels is the width of a layer's convolution.
func (c Config) channels() int {
	if c.Arch.Conv {
		return c.Dim
	}
	return c.Delta.Channels()
}

// mixerInputs are the projections of a mixer's input that a LoRA may be added to.
func (c Config) mixerInputs(l int) []projection {
	if c.linear(l) && c.Arch.Delta {
		return deltaInputs(c)
	}
	return storedInputs(c, l)
}

// deltaInputs are the projections of a delta rule that a LoRA may be added to.
func deltaInputs(c Config) []projection {
	d := c.Delta
	kd, vd := d.Keys*d.KeyDim, d.Values*d.ValueDim
	return []projection{{"in_proj_q", kd, 0}, {"in_proj_k", kd, kd}, {"in_proj_v", vd, 2 * kd},
		{"in_proj_z", vd, d.Channels()}, {"in_proj_b", d.Values, d.Channels() + vd},
		{"in_proj_a", d.Values, d.Channels() + vd + d.Values}}
}

// storedInputs are the projections of a mixer's input as files have them.
func storedInputs(c Config, l int) []projection {
	switch {
	case !c.linear(l):
		return attnInputs(c)
	case c.Arch.Conv:
		return []projection{{"in_proj", 3 * c.Dim, 0}}
	}
	d := c.Delta
	vd := d.Values * d.ValueDim
	z := d.Channels()
	return []projection{{"in_proj_qkv", z, 0}, {"in_proj_z", vd, z}, {"in_proj_b", d.Values, z + vd},
		{"in_proj_a", d.Values, z + vd + d.Values}}
}

// mixerVectors lists the parameters of a layer without attention outside its linears.
func mixerVectors(c Config) []spec {
	if c.Arch.Conv {
		return []spec{{convName, []int{c.Dim, 1, c.Conv.Taps}}}
	}
	d := c.Delta
	return []spec{{"linear_attn.conv1d.weight", []int{d.Channels(), 1, d.Taps}}, {"linear_attn.A_log", []int{d.Values}},
		{"linear_attn.dt_bias", []int{d.Values}}, {"linear_attn.norm.weight", []int{d.ValueDim}}}
}

// KeepsPrecision reports whether a parameter stays float32 beside weights in bf16.
func KeepsPrecision(name string) bool {
	return strings.HasSuffix(name, ".linear_attn.A_log") || strings.HasSuffix(name, ".linear_attn.norm.weight")
}

// withoutDelta returns list without the names of a delta rule.
func withoutDelta(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(n string) bool { return slices.Contains(deltaModules, n) })
}

// mixer and outName are where the linears of layer l's mixer are, and the last of them.
func (c Config) mixer(l int) string {
	switch {
	case !c.linear(l):
		return "self_attn."
	case c.Arch.Conv:
		return "conv."
	}
	return "linear_attn."
}

func (c Config) outName(l int) string {
	if c.linear(l) || c.Arch.Conv {
		return "out_proj"
	}
	return "o_proj"
}

// inputs is the most projections of a mixer's input that a LoRA is added to.
func (c Config) inputs() int {
	if c.Arch.Delta {
		return 6
	}
	return 3
}

// headAt is the column of query head h, or of key head h-Heads, in what a layer projects.
func (c Config) headAt(h int) int {
	switch {
	case h >= c.Heads:
		return c.qWidth() + (h-c.Heads)*c.HeadDim
	case c.Arch.Delta:
		return 2 * h * c.HeadDim
	}
	return h * c.HeadDim
}
