package model

import "github.com/seed-d9ad8ee0/trinity/engine/internal/nn"

// keep says how much of a forward a tape stores.
type keep uint8

const (
	keepAll     keep = iota // every layer's activations
	keepInputs              // every layer's input; Backward computes the rest again
	keepNothing             // one layer's activations at a time: no backward
)

// Tape is the memory of one forward that a backward follows. It may be reused, for one call at a time.
type Tape struct {
	keep   keep
	acts   []acts    // one per layer, or one for all
	x      []nn.Rows // inputs of the layers, then of the final norm; or one for all
	invF   []float32
	hidden nn.Rows
	score  score
}

// NewTape returns an empty tape. With recompute it stores only the input of each layer, and Backward recomputes the
// rest: this takes about a third more work and a fraction of the memory, and gives the same bits.
func (r *Runner) NewTape(recompute bool) *Tape {
	if recompute {
		return &Tape{keep: keepInputs}
	}
	return &Tape{keep: keepAll}
}

// reset allocates memory for a pass and points the pass at it.
func (t *Tape) reset(p *pass) {
	c, T := p.w.Config, p.rows()
	nActs, nX := t.kept(c)
	for len(t.acts) < nActs {
		t.acts = append(t.acts, acts{})
	}
	for len(t.x) < nX {
		t.x = append(t.x, nn.Rows{})
	}
	for i := range nActs {
		t.acts[i].resize(c, T, p.rank, t.layer(i, nActs))
	}
	for i := range nX {
		t.x[i].Resize(T, c.Dim)
	}
	t.invF = floats(t.invF, T)
	t.hidden.Resize(T, c.Dim)
	t.score.rows = t.score.rows[:0]
	t.attach(p)
}

// kept returns for how many layers the tape has activations, and how many inputs of layers.
func (t *Tape) kept(c Config) (acts, inputs int) {
	switch t.keep {
	case keepNothing:
		return 1, 1
	case keepInputs:
		return 1, c.Layers + 1
	}
	return c.Layers, c.Layers + 1
}

// layer returns the layer of the i-th activations, -1 for all.
func (t *Tape) layer(i, acts int) int {
	if acts == 1 {
		return -1
	}
	return i
}

// attach points a pass of the shape t was reset for at t's memory.
func (t *Tape) attach(p *pass) {
	p.layers = make([]acts, p.w.Config.Layers)
	nActs, nX := t.kept(p.w.Config)
	for l := range p.layers {
		p.layers[l] = t.acts[min(l, nActs-1)]
		p.layers[l].x = t.x[min(l, nX-1)]
	}
	p.last, p.invF, p.hidden = t.x[nX-1], t.invF, t.hidden
}

// acts is the activations of one layer that its backward needs. T rows; Q, G, F as in layer; r is the largest rank of
// the call's adapters.
type acts struct {
	x              nn.Rows      // [T,D] input
	inv1           []float32    // [T]
	n1             nn.Rows      // [T,D] normed input
	qkv            nn.Rows      // [T,Q+G+G] as projected; k and v as stored, unless keys are normed
	invQK          nn.Rows      // [T,Heads+KVHeads], with QK-norm
	q              nn.Rows      // [T,Q] normed, rotated and scaled
	att            nn.Rows      // [T,Q]
	o              nn.Rows      // [T,D] of attention, before a norm that follows it
	invO           []float32    // [T] of that norm
	h              nn.Rows      // [T,D] after attention
	inv2           []float32    // [T]
	n2             nn.Rows      // [T,D]
	gateUp         nn.Rows      // [T,F+F]
	act            nn.Rows      // [T,F]
	router         nn.Rows      // [T,experts] logits; Backward computes the rest of experts again
	mlp            nn.Rows      // [T,D] of the MLP, before a norm that follows it
	invMLP         []float32    // [T] of that norm
	midQKV, midO   nn.Rows      // [T,3r], [T,r]
	midGU, midDown nn.Rows      // [T,2r], [T,r]
	gated          nn.Rows      // [T,Q] attention times its gates
	delta          nn.DeltaRows // of layers without attention; a convolution has In and Y
}

// column is one matrix of acts and its width.
type column struct {
	rows *nn.Rows
	cols int
}

// columns lists the matrices of a but x, for layer l, or for those of both kinds if it is -1.
func (a *acts) columns(c Config, rank, l int) []column {
	list := []column{{&a.n1, c.Dim}, {&a.h, c.Dim}, {&a.n2, c.Dim}, {&a.midQKV, c.inputs() * rank}, {&a.midO, rank}}
	if l < 0 && c.dense() || l >= 0 && !c.sparse(l) {
		list = append(list, column{&a.gateUp, 2 * c.FF}, column{&a.act, c.FF}, column{&a.midGU, 2 * rank},
			column{&a.midDown, rank})
	}
	if c.Sparse != nil && (l < 0 || c.sparse(l)) {
		list = append(list, column{&a.router, c.Experts.Experts})
	}
	if c.Linear != nil && (l < 0 || c.linear(l)) {
		list = append(list, column{&a.delta.In, c.linearIn()}, column{&a.delta.Y, c.linearOut()})
		if c.Arch.Delta {
			list = append(list, column{&a.delta.Err, c.linearOut()}, column{&a.delta.Out, c.linearOut()})
		}
	}
	if l >= 0 && c.linear(l) {
		return list
	}
	list = append(list, column{&a.qkv, c.qWidth() + 2*c.KVDim()}, column{&a.q, c.QDim()}, column{&a.att, c.QDim()})
	if c.Arch.Delta {
		list = append(list, column{&a.gated, c.QDim()})
	}
	if c.Arch.QKNorm {
		list = append(list, column{&a.invQK, c.Heads + c.KVHeads})
	}
	if c.Arch.Gemma {
		list = append(list, column{&a.o, c.Dim}, column{&a.mlp, c.Dim})
	}
	return list
}

// resize allocates T rows in every matrix but x.
func (a *acts) resize(c Config, T, rank, l int) {
	for _, m := range a.columns(c, rank, l) {
		m.rows.Resize(T, m.cols)
	}
	for _, v := range a.norms(c) {
		*v = floats(*v, T)
	}
}

// norms lists the factors of a's norms, one for each row.
func (a *acts) norms(c Config) []*[]float32 {
	list := []*[]float32{&a.inv1, &a.inv2}
	if c.Arch.Gemma {
		list = append(list, &a.invO, &a.invMLP)
	}
	return list
}

// TapeBytes estimates the bytes of a tape for a number of rows (tokens) with adapters up to rank, so that a caller can
// choose whether to recompute. Backward also needs buffers of its own, about as much as one layer.
func (c Config) TapeBytes(rows, rank int, recompute bool) int {
	layer := 0
	add := func(l int) {
		layer += len(new(acts).norms(c))
		for _, m := range new(acts).columns(c, rank, l) {
			layer += m.cols
		}
	}
	if recompute {
		add(-1)
	} else {
		for l := range c.Layers {
			add(l)
		}
	}
	return 4 * rows * (layer + (c.Layers+2)*c.Dim + 1)
}

// floats returns n floats with arbitrary contents, in buf's memory if it is large enough.
func floats(buf []float32, n int) []float32 {
	if cap(buf) < n {
		return make([]float32, n, n+n/4)
	}
	return buf[:n]
}
