package model

// Fill adds to an adapter what it lacks of a model's layers, as PEFT's layers_to_transform or a pattern of
// target_modules leaves them out: additions whose A and B are zero. They add nothing, and training leaves them so,
// since the gradient of each is a multiple of the other. A module of which only A or only B is there stays an error of
// [Weights.NewAdapter].
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
