package model

// Fill adds zero additions to an adapter for the layers that it lacks, for instance because of PEFT's
// layers_to_transform or a pattern in target_modules. Their A and B stay zero in training, since the gradient of each
// is a multiple of the other. A module with only A or only B remains an error of [Weights.NewAdapter].
func (a *PEFT) Fill(c Config) {
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
