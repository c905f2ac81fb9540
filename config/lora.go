package config

import "slices"

// LoRA says which weights are trained, whichever section configures it. Rank 0 means all weights.
type LoRA struct {
	Rank         int
	Alpha        float64 // the adapter's output is scaled by Alpha / Rank
	TrainAttn    bool
	TrainMLP     bool
	TrainUnembed bool
	Modules      []string // the linear layers that get an adapter, by their Hugging Face names
	Picked       bool     // Modules are not whole groups of a model with Llama's names
}

// grouped are Llama's names of the layers in some groups.
func grouped(attention, mlp, unembed bool) (list []string) {
	if attention {
		list = append(list, attentionModules()...)
	}
	if mlp {
		list = append(list, mlpModules()...)
	}
	if unembed {
		list = append(list, "lm_head")
	}
	return list
}

// tinkerAlpha is the alpha of adapters made through the Tinker API, which has no key for it.
const tinkerAlpha = 32

func attentionModules() []string { return []string{"q_proj", "k_proj", "v_proj", "o_proj"} }
func mlpModules() []string       { return []string{"gate_proj", "up_proj", "down_proj"} }

// LoRA resolves what is trained: section model.tinker when it is enabled, else model.lora_configs[0], else all weights.
func (c *Config) LoRA() LoRA {
	t := &c.Model.Tinker
	switch {
	case t.Enable && t.Rank > 0:
		return LoRA{Rank: t.Rank, Alpha: tinkerAlpha, TrainAttn: t.TrainAttn, TrainMLP: t.TrainMLP,
			TrainUnembed: t.TrainUnembed, Modules: grouped(t.TrainAttn, t.TrainMLP, t.TrainUnembed)}
	case !t.Enable && len(c.Model.LoRAConfigs) > 0:
		l := c.Model.LoRAConfigs[0]
		out := l.parts()
		out.Rank, out.Alpha = l.LoRARank, l.LoRAAlpha
		return out
	}
	return LoRA{TrainAttn: true, TrainMLP: true, TrainUnembed: true}
}

// StartAdapter is the PEFT folder whose adapter the run begins with; empty: a fresh one.
func (c *Config) StartAdapter() string {
	if c.Model.Tinker.Enable || len(c.Model.LoRAConfigs) == 0 {
		return ""
	}
	return c.Model.LoRAConfigs[0].Path
}

// parts turns target_modules less exclude_modules into flags and names: Llama's first, in its order, then those of
// other families, which only the model can check. all-linear is every linear layer of a block, not the output layer, as
// in PEFT.
func (l *LoRAConfig) parts() (out LoRA) {
	var named []string
	for _, name := range l.TargetModules {
		if name == "all-linear" {
			named = append(named, grouped(true, true, false)...)
			continue
		}
		named = append(named, name)
	}
	for _, name := range append(grouped(true, true, true), named...) {
		if !slices.Contains(named, name) || slices.Contains(slices.Concat(l.ExcludeModules, out.Modules), name) {
			continue
		}
		out.Modules = append(out.Modules, name)
		out.TrainAttn = out.TrainAttn || slices.Contains(attentionModules(), name)
		out.TrainMLP = out.TrainMLP || slices.Contains(mlpModules(), name)
		out.TrainUnembed = out.TrainUnembed || name == "lm_head"
	}
	out.Picked = !slices.Equal(out.Modules, grouped(out.TrainAttn, out.TrainMLP, out.TrainUnembed))
	return out
}
