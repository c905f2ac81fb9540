package model

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// source returns checked tensors by name.
type source interface {
	vector(name string) kernel.Rows                // as one row
	rows(name string, width, a, b int) kernel.Rows // rows a to b-1 of a matrix
	done(names ...string)                          // these tensors are not needed any more
}

// floatSource is tensors in memory.
type floatSource map[string][]float32

func (f floatSource) vector(name string) kernel.Rows { return kernel.FloatRows(f[name], len(f[name])) }
func (f floatSource) done(...string)                 {}

func (f floatSource) rows(name string, width, a, b int) kernel.Rows {
	return kernel.FloatRows(f[name], width).Slice(a, b)
}

// packer builds the parts of a Weights in one stretch of memory.
type packer struct {
	on     nn.Compute
	c      Config
	from   source
	memory *kernel.Memory
}

// fused is the projections that make one Linear of width in.
type fused struct {
	in    int
	names []string
	outs  []int
	bits  int // of frozen integers, or 0
	bias  bool
	micro bool // it stays in MXFP4
}

func (f fused) rows() (n int) {
	for _, out := range f.outs {
		n += out
	}
	return n
}

// The dtypes in which matrices may be frozen. The embedding and the head of Int4 are in int8: 4 bits for the head
// would add a third to the distance of SmolLM2-135M's logprobs.
const (
	Int8 = "int8"
	Int4 = "int4"
)

// frozenBits are the bits of the integers in the matrices of layers, and in the embedding and the head; or 0.
func (c Config) frozenBits() (layers, tables int) {
	switch c.Frozen {
	case Int8:
		return 8, 8
	case Int4:
		return 4, 8
	}
	return 0, 0
}

// blockLinears are the linears of a layer in the order of targets, and its router, which is not frozen in integers.
func blockLinears(c Config, l int) (list []fused) {
	all := targets(c, l)
	all[0].outs = storedInputs(c, l)
	bits, _ := c.frozenBits()
	for _, t := range all {
		f := fused{in: t.in, bits: bits, bias: t.bias, micro: c.MXFP4 && c.BF16 && bits == 0 && t.share > 0}
		for _, out := range t.outs {
			f.names, f.outs = append(f.names, t.at+out.name+".weight"), append(f.outs, out.out)
		}
		list = append(list, f)
	}
	if c.sparse(l) {
		name := fmt.Sprintf("model.layers.%d.%s.weight", l, c.routerName())
		list = append(list, fused{in: c.Dim, names: []string{name}, outs: []int{c.Experts.Experts}, bias: c.Arch.Bias})
	}
	return list
}

// tables are the embedding and, unless they are tied, the head.
func tables(c Config) []fused {
	_, bits := c.frozenBits()
	list := []fused{{c.Dim, []string{EmbedName}, []int{c.Vocab}, bits, false, false}}
	if !c.Tied {
		list = append(list, fused{c.Dim, []string{HeadName}, []int{c.Vocab}, bits, false, false})
	}
	return list
}

// panelBytes is the memory of a model's packed matrices.
func (c Config) panelBytes() int {
	all := tables(c)
	for l := range c.Layers {
		all = append(all, blockLinears(c, l)...)
	}
	n := 0
	for _, f := range all {
		switch {
		case f.bits > 0:
			n += kernel.QuadBytes(f.rows(), f.in, f.bits)
		case f.micro:
			n += kernel.MicroBytes(f.rows(), f.in)
		default:
			n += kernel.PanelBytes(f.rows(), f.in, c.BF16)
		}
	}
	return n
}

// collectFrom is the size of weights from which Reserve runs the garbage collector first: it does not see the memory of
// earlier versions.
const collectFrom = 64 << 20

// Reserve reserves the memory for the packed matrices of one Weights.
func (c Config) Reserve() (*kernel.Memory, error) {
	n := c.panelBytes()
	if n >= collectFrom {
		runtime.GC()
	}
	memory, err := kernel.NewMemory(n)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	return memory, nil
}

// pack builds the weights in new memory. The widest matrices come first: while a matrix is packed, its bytes are in
// memory twice.
func pack(memory *kernel.Memory, c Config, from source, on nn.Compute) *Weights {
	p := packer{on, c, from, memory}
	w := &Weights{Config: c, rope: nn.NewRoPE(c.RoPE)}
	if c.LocalRoPE.Dim > 0 {
		w.local = nn.NewRoPE(c.LocalRoPE)
	}
	ends := tables(c)
	w.embed.Linear = *p.linear(ends[0])
	w.head = &w.embed.Linear
	if !c.Tied {
		w.head = p.linear(ends[1])
	}
	for l := range c.Layers {
		w.layers = append(w.layers, p.layer(l))
	}
	w.norm = p.norm(c.finalNorm())
	return w
}

func (p packer) layer(l int) layer {
	at := fmt.Sprintf("model.layers.%d.", l)
	var linears []*nn.Linear
	for _, f := range blockLinears(p.c, l) {
		linears = append(linears, p.linear(f))
	}
	first, afterAttn, second, afterMLP := p.c.normNames()
	out := layer{norm1: p.norm(at + first), norm2: p.norm(at + second),
		qkv: linears[0], o: linears[1], mlps: linears[2:]}
	if n := len(linears) - 1; p.c.sparse(l) {
		out.mlps, out.router = linears[2:n], linears[n]
	}
	if afterAttn != "" {
		out.afterAttn, out.afterMLP = p.norm(at+afterAttn), p.norm(at+afterMLP)
	}
	if p.c.Arch.Sinks {
		out.sinks = p.vector(at + sinksName)
	}
	switch {
	case p.c.linear(l) && p.c.Arch.Conv:
		out.conv = p.conv(at)
	case p.c.linear(l):
		out.delta = p.delta(at)
	case p.c.Arch.QKNorm:
		query, key := p.c.headNorms()
		out.qNorm, out.kNorm = p.norm(at+query), p.norm(at+key)
	}
	return out
}

// norm reads the weight of a norm.
func (p packer) norm(name string) []float32 {
	v := p.vector(name)
	if offset := p.c.normOffset(); offset != 0 {
		for i := range v {
			v[i] += offset
		}
	}
	return v
}

// vector reads a bias or the stored weight of a norm.
func (p packer) vector(name string) []float32 {
	v := p.floats(name)
	if p.c.BF16 {
		p.on.K.RoundBF16(v, v)
	}
	return v
}

// floats reads a parameter that keeps its precision.
func (p packer) floats(name string) []float32 {
	rows := p.from.vector(name)
	v := make([]float32, rows.K)
	rows.Widen(v)
	return v
}

// biasOf is the name of the bias beside a weight.
func biasOf(weight string) string { return strings.TrimSuffix(weight, "weight") + "bias" }

// packRows is the number of rows that one part of the work packs: whole panels.
const packRows = 2 * kernel.NR

// linear packs projections one after another, in parallel.
func (p packer) linear(f fused) *nn.Linear {
	type part struct {
		at   int
		name string
		a, b int
	}
	var parts []part
	at := 0
	l := &nn.Linear{}
	for i, name := range f.names {
		if f.bias {
			l.Bias = append(l.Bias, p.vector(biasOf(name))...)
		}
		for a := 0; a < f.outs[i]; {
			b := min(f.outs[i], (at+a)/packRows*packRows+packRows-at)
			parts = append(parts, part{at + a, name, a, b})
			a = b
		}
		at += f.outs[i]
	}
	write := p.on.K.PackRows
	switch {
	case f.bits > 0:
		l.Q = p.memory.Quads(at, f.in, f.bits)
		write = func(sc *kernel.Scratch, _ *kernel.Panels, at int, rows kernel.Rows) {
			p.on.K.QuantizeRows(sc, l.Q, at, rows)
		}
	case f.micro:
		l.M = p.memory.Micro(at, f.in)
		write = func(_ *kernel.Scratch, _ *kernel.Panels, at int, rows kernel.Rows) { l.M.Write(at, rows) }
	default:
		l.W = p.memory.Panels(at, f.in, p.c.BF16)
	}
	p.on.P.Run(len(parts), func(i int, sc *kernel.Scratch) {
		part := parts[i]
		write(sc, l.W, part.at, p.from.rows(part.name, f.in, part.a, part.b))
	})
	p.from.done(f.names...)
	return l
}
