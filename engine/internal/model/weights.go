package model

import (
	"fmt"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// Weights is one immutable version of a model's base weights, packed for the kernels. It is safe for concurrent use.
type Weights struct {
	Config Config

	embed  nn.Embedding
	layers []layer
	norm   []float32
	head   *nn.Linear
	rope   *nn.RoPE
	local  *nn.RoPE // of sliding layers, or nil
}

// layer is the weights of one block. Q = Heads*HeadDim, G = KVHeads*HeadDim.
type layer struct {
	norm1        []float32     // [D]
	qkv          *nn.Linear    // [Q+G+G, D]
	qNorm, kNorm []float32     // [HeadDim], or nil
	sinks        []float32     // [Heads], or nil
	o            *nn.Linear    // [D, Q]
	afterAttn    []float32     // [D], or nil
	norm2        []float32     // [D]
	mlps         []*nn.Linear  // [F+F, D] and [D, F], of each expert if there are some
	router       *nn.Linear    // [experts, D], or nil
	afterMLP     []float32     // [D], or nil
	delta        *deltaWeights // or nil
	conv         []float32     // [Taps,D], or nil; without either it has attention
}

// NewWeights packs full parameters, which are rounded to bf16 if c says so. A missing tensor, one of another shape and
// one the model does not have are errors.
func NewWeights(c Config, full []Tensor, on nn.Compute) (*Weights, error) {
	c.MXFP4 = false
	memory, err := c.Reserve()
	if err != nil {
		return nil, err
	}
	return NewWeightsIn(memory, c, full, on)
}

// NewWeightsIn is NewWeights in memory that Reserve has reserved for it.
func NewWeightsIn(memory *kernel.Memory, c Config, full []Tensor, on nn.Compute) (*Weights, error) {
	c.MXFP4 = false
	data, err := match(parameters(c), full)
	if err != nil {
		return nil, fmt.Errorf("model: %s: %w", c.Arch.Name, err)
	}
	return pack(memory, c, floatSource(data), on), nil
}

// Tensors returns the full parameters as float32, in the order of RandomTensors. The values are the packed ones, so
// NewWeights of them gives the same model, unless it is frozen.
func (w *Weights) Tensors() []Tensor {
	c := w.Config
	data := map[string][]float32{EmbedName: make([]float32, c.Vocab*c.Dim), c.finalNorm(): c.stored(w.norm)}
	w.embed.Unpack(data[EmbedName])
	split := func(l *nn.Linear, f fused) {
		K := l.Inputs()
		all := make([]float32, l.Outputs()*K)
		l.Unpack(all)
		bias := l.Bias
		for i, n := range f.outs {
			data[f.names[i]], all = all[:n*K], all[n*K:]
			if bias != nil {
				data[biasOf(f.names[i])], bias = bias[:n], bias[n:]
			}
		}
	}
	for i, l := range w.layers {
		at := fmt.Sprintf("model.layers.%d.", i)
		query, key := c.headNorms()
		first, afterAttn, second, afterMLP := c.normNames()
		data[at+first], data[at+second] = c.stored(l.norm1), c.stored(l.norm2)
		if afterAttn != "" {
			data[at+afterAttn], data[at+afterMLP] = c.stored(l.afterAttn), c.stored(l.afterMLP)
		}
		data[at+sinksName] = l.sinks
		switch {
		case l.conv != nil:
			data[at+convName] = storedConv(c, l.conv)
		case l.delta != nil:
			l.delta.store(c, at, data)
		default:
			data[at+query], data[at+key] = c.stored(l.qNorm), c.stored(l.kNorm)
		}
		linears := append([]*nn.Linear{l.qkv, l.o}, l.mlps...)
		if l.router != nil {
			linears = append(linears, l.router)
		}
		for j, f := range blockLinears(c, i) {
			split(linears[j], f)
		}
	}
	if !c.Tied {
		split(w.head, tables(c)[1])
	}
	var out []Tensor
	for _, s := range parameters(c) {
		out = append(out, Tensor{Name: s.name, Shape: s.shape, Data: slices.Clone(data[s.name])})
	}
	return out
}

// gateUp and down are the linears of expert e, or of the MLP.
func (l *layer) gateUp(e int) *nn.Linear { return l.mlps[2*e] }
func (l *layer) down(e int) *nn.Linear   { return l.mlps[2*e+1] }

// stored is the stored form of a norm's weight.
func (c Config) stored(norm []float32) []float32 {
	stored, offset := slices.Clone(norm), c.normOffset()
	for i := range stored {
		stored[i] -= offset
	}
	return stored
}
