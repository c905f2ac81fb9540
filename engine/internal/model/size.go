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
	if c.Frozen != "" {
		return int64(c.panelBytes())
	}
	if c.BF16 {
		return 2 * c.Parameters()
	}
	return 4 * c.Parameters()
}

// AdapterParameters is the number of parameters of a LoRA on attention, MLP and head.
func (c Config) AdapterParameters(rank int) int64 {
	return LoRA{Rank: rank, Attn: true, MLP: true, Unembed: true}.Parameters(c)
}

// PassBytes estimates the bytes of a forward without a tape for a number of rows (tokens) with adapters up to rank.
func (c Config) PassBytes(rows, rank int) int {
	return c.TapeBytes(rows, rank, true) - 4*rows*c.Layers*c.Dim // one input instead of each layer's
}

// BackwardBytes estimates the bytes of Score and Backward without their tape: the gradients of one layer's
// activations, the logits of the rows that the head computes at once, and the bf16 packings for one product or for the
// gradients of LoRA.
func (c Config) BackwardBytes(rows, rank int) int {
	layer := 5*c.Dim + 3*c.FF + 2*c.QDim() + 2*c.KVDim() + 7*rank
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
	l.each(c, func(in, out, layers int) { n += int64(layers) * int64(l.Rank) * int64(in+out) })
	return n
}

// PackedBytes is the memory of a LoRA packed for the kernels, whose panels are padded to kernel.NR rows.
func (l LoRA) PackedBytes(c Config) (n int64) {
	up := func(n int) int64 { return int64((n + kernel.NR - 1) / kernel.NR * kernel.NR) }
	l.each(c, func(in, out, layers int) { n += int64(layers) * (up(l.Rank)*int64(in) + up(out)*int64(l.Rank)) })
	if c.BF16 {
		return 2 * n
	}
	return 4 * n
}

// MaxRank is the shorter side of the largest matrix that the LoRA is added to; a higher rank cannot represent more.
func (l LoRA) MaxRank(c Config) (most int) {
	l.each(c, func(in, out, _ int) { most = max(most, min(in, out)) })
	return most
}

// each calls f with the shape of every kind of matrix that has an addition, and with their number.
func (l LoRA) each(c Config, f func(in, out, count int)) {
	modules := l.ModulesOn(c)
	for i := range c.Layers {
		qkv, o, gateUp, down := targets(c, i)
		for _, t := range []target{qkv, o, gateUp, down} {
			for _, p := range t.of(modules).outs {
				f(t.in, p.out, 1)
			}
		}
	}
	for _, p := range headTarget(c).of(modules).outs {
		f(c.Dim, p.out, 1)
	}
}
