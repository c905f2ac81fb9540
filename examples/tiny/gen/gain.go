package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
)

// llamaGain is by what the inputs of the small Llama's linears are raised: a power of two.
//
// Why: a LoRA's output B·A·x grows with the width of the model and with the learning rate, and the guide's rate, 1e-5, is chosen for
// a model that is 24 times as wide. On this one nothing moves in a run's time. So x is made larger and the frozen weights smaller,
// and the model computes the same numbers to the last bit, since a power of two only changes exponents; what an adapter adds
// counts llamaGain times as much, as if the rate of B were that much higher. A model of ordinary width needs no such thing.
const llamaGain = 32

// writeGained writes the weights of folder o.from with the gain into o.out.
func writeGained(o options) error {
	if o.from == "" {
		return errors.New("gen: llama-gain needs -from, the folder of the weights to raise")
	}
	return scaleLinears(filepath.Join(o.from, "model.safetensors"), filepath.Join(o.out, "model.safetensors"), llamaGain)
}

// scaleLinears writes the weights of the file from to the file to, with gain on the inputs of all linears but the head.
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

// factor is by what a tensor is multiplied. The norms before attention and MLP raise what q, k, v, gate and up read. Queries, keys and
// gates keep their size, as their function is not linear; values and up are passed on raised to o and down, which take it back.
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
