package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
)

// llamaGain is the factor on the inputs of the small Llama's linear layers, a power of two.
//
// Why: a LoRA's output B·A·x grows with the width of the model and with the learning rate. The guide's rate, 1e-5, is
// meant for a model 24 times as wide; on this one it has no effect within a run. So x is scaled up and the frozen
// weights are scaled down. A power of two only changes exponents, so the model computes the same numbers to the last
// bit, but an adapter's contribution is llamaGain times as large, as if B's learning rate were. A model of ordinary
// width does not need this.
const llamaGain = 32

// writeGained writes the weights of folder o.from, rescaled, to o.out.
func writeGained(o options) error {
	if o.from == "" {
		return errors.New("gen: llama-gain needs -from, the folder of the weights to raise")
	}
	return scaleLinears(filepath.Join(o.from, "model.safetensors"), filepath.Join(o.out, "model.safetensors"),
		llamaGain)
}

// scaleLinears copies a weights file and scales the inputs of all linear layers but the head by gain.
func scaleLinears(from, to string, gain float32) error {
	f, err := safetensors.Open(from)
	if err != nil {
		return fmt.Errorf("gen: %w", err)
	}
	defer f.Close()
	var out []safetensors.Tensor
	for _, t := range f.Tensors() {
		data, err := t.Floats()
		if err != nil {
			return fmt.Errorf("gen: %s: %w", from, err)
		}
		scaled := make([]float32, len(data))
		for i, x := range data {
			scaled[i] = x * factor(t.Name, gain)
		}
		s, err := safetensors.FromFloats(t.Name, t.DType, t.Shape, scaled)
		if err != nil {
			return fmt.Errorf("gen: %s: %w", from, err)
		}
		out = append(out, s)
	}
	return safetensors.Write(to, out, f.Metadata())
}

// factor is the factor on a tensor. The norms before attention and MLP scale up the inputs of q, k, v, gate and up.
// Queries, keys and gates must keep their size, because they enter nonlinear functions, so q, k and gate scale down.
// Values and up stay scaled up until o and down, which scale down.
func factor(name string, gain float32) float32 {
	switch layer, weight := strings.CutPrefix(name, "model.layers."); {
	case !weight:
		return 1
	case strings.HasSuffix(layer, "layernorm.weight"):
		return gain
	case strings.HasSuffix(layer, "v_proj.weight"), strings.HasSuffix(layer, "up_proj.weight"):
		return 1
	default: // q, k, gate; o, down
		return 1 / gain
	}
}
