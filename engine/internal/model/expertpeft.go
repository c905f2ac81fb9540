package model

import (
	"slices"
	"strings"
)

// besideExperts is the key of PEFT's rank_pattern for the matrices that are not of experts. These have r itself, which
// peft 0.21 expects where it fuses the additions to gate and up of all experts (_convert_peft_config_moe).
const besideExperts = `self_attn\..*|mlp\.(gate|up|down)_proj|lm_head`

// ofExpert reports whether a factor is added to an expert.
func ofExpert(name string) bool { return strings.Contains(name, ".mlp.experts.") }

// onExperts reports whether a LoRA is on experts of a model.
func (l LoRA) onExperts(c Config) bool {
	at := slices.Index(c.Sparse, true)
	if at < 0 {
		return false
	}
	modules := l.ModulesOn(c)
	return slices.ContainsFunc(targets(c, at)[2:4], func(t target) bool { return len(t.of(modules).outs) > 0 })
}

// divide gives the factors of experts the rank that they have in a LoRA of the whole's rank on a model, and the whole
// the least rank for which that is enough: zeros fill A and B, and B takes the ratio of the scales.
func (a *PEFT) divide(c Config) {
	isOne := func(t Tensor) bool { return ofExpert(t.Name) }
	if c.Sparse == nil || !slices.ContainsFunc(a.Tensors, isOne) {
		return
	}
	of, old, experts := target{share: c.Experts.Used}, a.LoRA, a.experts
	if of.rank(old.Rank) != experts.Rank {
		a.LoRA.Rank = max(old.Rank, experts.Rank*c.Experts.Used)
		a.LoRA.Alpha *= float64(a.LoRA.Rank) / float64(old.Rank)
	}
	a.experts.Rank, a.experts.Alpha = of.rank(a.LoRA.Rank), a.LoRA.Alpha
	for i, t := range a.Tensors {
		from, to := old, a.LoRA
		if isOne(t) {
			from, to = experts, a.experts
		}
		if len(t.Shape) == 2 && t.Shape[1-factorAxis(t.Name)] == from.Rank {
			a.Tensors[i] = widen(t, from.Rank, to.Rank, from.scale()/to.scale())
		}
	}
}

func (l LoRA) scale() float64 { return l.Alpha / float64(l.Rank) }
