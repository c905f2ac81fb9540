package model

import "github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"

// Parameters is the number of the model's parameters.
func (c Config) Parameters() int64 {
	n := int64(0)
	for _, s := range parameters(c) {
		n += int64(s.len())
	}
	return n
}

// WeightBytes is the memory of the packed weights.
func (c Config) WeightBytes() int64 {
	if c.Frozen != "" || c.MXFP4 && c.BF16 {
		return int64(c.panelBytes())
	}
	if c.BF16 {
		return 2 * c.Parameters()
	}
	return 4 * c.Parameters()
}

// AdapterParameters is the number of parameters of a LoRA on attention, MLP and head.
func (c Config) AdapterParameters(rank int) int64 { return everywhere(rank).Parameters(c) }

// AdapterBytes is the memory of such a LoRA packed for the kernels.
func (c Config) AdapterBytes(rank int) int64 { return everywhere(rank).PackedBytes(c) }

func everywhere(rank int) LoRA { return LoRA{Rank: rank, Attn: true, MLP: true, Unembed: true} }

// PassBytes estimates the bytes of a forward without a tape for a number of rows (tokens) with adapters up to rank.
func (c Config) PassBytes(rows, rank int) int {
	return c.TapeBytes(rows, rank, true) - 4*rows*c.Layers*c.Dim + // one input instead of each layer's
		c.expertBytes(rows, c.Dim+3*c.ExpertFF+3*rank)
}

// expertBytes is the memory of the rows of one expert with so many columns beside their input, and of the experts that
// rows choose; 0 without experts.
func (c Config) expertBytes(rows, columns int) int {
	if c.Sparse == nil {
		return 0
	}
	return 4*min(rows, expertChunk)*(c.Dim+columns) + 24*rows*c.Experts.Used
}

// BackwardBytes estimates the bytes of Score and Backward without their tape: the gradients of one layer's
// activations, the logits of the rows that the head computes at once, and the bf16 packings for one product or for the
// gradients of LoRA.
func (c Config) BackwardBytes(rows, rank int) int {
	layer := 5*c.Dim + 2*c.QDim() + 2*c.KVDim() + 4*rank
	if c.dense() {
		layer += 3*c.FF + 3*rank
	}
	if c.Sparse != nil {
		layer += c.Experts.Experts + c.Experts.Used
	}
	if c.Arch.Sinks {
		layer += c.Heads
	}
	if c.Arch.QKNorm {
		layer += c.QDim() + c.KVDim()
	}
	switch {
	case c.Arch.Delta:
		layer += c.qWidth() + 2*c.Delta.Width() + 3*c.Delta.Values*c.Delta.ValueDim
	case c.Linear != nil:
		layer += c.linearOut() + c.linearIn() + c.channels()
	}
	if c.changesSums() {
		layer += 2 * c.Dim
	}
	n := 4 * (rows*layer + min(rows, headChunk(c))*(c.Vocab+2*c.Dim+2*rank))
	n += c.expertBytes(rows, 2*c.Dim+6*c.ExpertFF+6*rank)
	if c.BF16 {
		// mids and their gradients, transposed and packed
		n += 2*min(rows, headChunk(c), headRowsAlone(c, rows), sharedRows)*c.Vocab + 6*rows*14*rank
	}
	if c.Frozen != "" {
		n += 4 * min(rows, headChunk(c), headRowsAlone(c, rows), sharedRows) * c.Vocab // times the scales
	}
	return n
}

// Parameters is the number of parameters of a LoRA on a model.
func (l LoRA) Parameters(c Config) (n int64) {
	l.each(c, func(rank, in, out int) { n += int64(rank) * int64(in+out) })
	return n
}

// PackedBytes is the memory of a LoRA packed for the kernels, whose panels are padded.
func (l LoRA) PackedBytes(c Config) (n int64) {
	for _, t := range l.targets(c) {
		rank := t.rank(l.Rank)
		n += int64(kernel.PanelBytes(len(t.outs)*rank, t.in, c.BF16))
		for _, p := range t.outs {
			n += int64(kernel.PanelBytes(p.out, rank, c.BF16))
		}
	}
	return n
}

// MaxRank is the shorter side of the largest matrix that the LoRA is added to; a higher rank cannot represent more.
func (l LoRA) MaxRank(c Config) (most int) {
	l.each(c, func(_, in, out int) { most = max(most, min(in, out)) })
	return most
}

// each calls f with the rank of every addition and the shape of its matrix.
func (l LoRA) each(c Config, f func(rank, in, out int)) {
	for _, t := range l.targets(c) {
		for _, p := range t.outs {
			f(t.rank(l.Rank), t.in, p.out)
		}
	}
}

// targets returns the linears with additions: of the layers, then the head.
func (l LoRA) targets(c Config) (list []target) {
	modules := l.ModulesOn(c)
	for i := range c.Layers + 1 {
		all := []target{headTarget(c)}
		if i < c.Layers {
			all = targets(c, i)
		}
		for _, t := range all {
			if t = t.of(modules); len(t.outs) > 0 {
				list = append(list, t)
			}
		}
	}
	return list
}
