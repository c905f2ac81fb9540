package model

import (
	"slices"
	"strings"
)

// Fill adds zero additions to an adapter for the layers that it lacks, for instance because of PEFT's
// layers_to_transform or a pattern in target_modules. Their A and B stay zero in training, since the gradient of each
// is a multiple of the other. An addition to a fused matrix becomes one to each of its parts. A module with only A or
// only B remains an error of [Weights.NewAdapter].
func (a *PEFT) Fill(c Config) {
	a.unfuse(c)
	a.divide(c)
	have := make(map[string]bool, len(a.Tensors))
	for _, t := range a.Tensors {
		have[t.Name] = true
	}
	specs := a.LoRA.specs(c)
	for i := 0; i+1 < len(specs); i += 2 { // A and B of one projection
		if have[specs[i].name] || have[specs[i+1].name] {
			continue
		}
		for _, s := range specs[i : i+2] {
			a.Tensors = append(a.Tensors, Tensor{s.name, s.shape, make([]float32, s.len())})
		}
	}
}

// fusedInput is PEFT's name of in_proj_q, in_proj_k and in_proj_v together.
const fusedInput = "in_proj_qkv"

// unfuse replaces an addition to in_proj_qkv by three with the same A.
func (a *PEFT) unfuse(c Config) {
	var out []Tensor
	for _, t := range a.Tensors {
		if !c.Arch.Delta || !strings.Contains(t.Name, "."+fusedInput+".") || len(t.Shape) != 2 {
			out = append(out, t)
			continue
		}
		for _, p := range deltaInputs(c)[:3] {
			part := Tensor{strings.Replace(t.Name, fusedInput, p.name, 1), slices.Clone(t.Shape), slices.Clone(t.Data)}
			if rank := t.Shape[1]; !isA(t.Name) && len(t.Data) >= (p.col+p.out)*rank {
				part.Shape[0], part.Data = p.out, slices.Clone(t.Data[p.col*rank:(p.col+p.out)*rank])
			}
			out = append(out, part)
		}
	}
	a.Tensors = out
}
