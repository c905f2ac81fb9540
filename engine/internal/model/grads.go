package model

import (
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// Grads accumulates gradients of trainable tensors: an adapter's or a model's full parameters. Backward adds rows one
// by one, in order, to one accumulator per element, so that cutting a batch into calls changes no bit.
type Grads struct {
	T []Tensor // same names, shapes and order as the trainable tensors

	index map[string]int // places in T by name
	// A tied embedding is used at both ends of the model, and Backward cannot add its rows in order. It has one
	// accumulator for each end; T has their sum after each Backward.
	embed, head []float32
}

// NewGrads returns zero gradients for tensors, of which it reads names and shapes.
func NewGrads(tensors []Tensor) *Grads {
	g := &Grads{index: make(map[string]int, len(tensors))}
	tied := true
	for i, t := range tensors {
		t.Data = make([]float32, spec{t.Name, t.Shape}.len())
		g.T = append(g.T, t)
		g.index[t.Name] = i
		tied = tied && t.Name != HeadName
	}
	if e := g.of(EmbedName); e != nil && tied {
		g.embed, g.head = make([]float32, len(e)), make([]float32, len(e))
	}
	return g
}

// Zero sets all gradients to zero.
func (g *Grads) Zero() {
	for _, a := range g.Accumulators() {
		clear(a)
	}
}

// Add adds other, the gradient of the same tensors, element by element.
func (g *Grads) Add(other *Grads) {
	theirs := other.Accumulators()
	for i, a := range g.Accumulators() {
		b := theirs[i][:len(a)]
		for j := range a {
			a[j] += b[j]
		}
	}
	g.join()
}

// Accumulators returns the accumulators that a snapshot of an unfinished gradient needs, in a fixed order.
func (g *Grads) Accumulators() [][]float32 {
	var all [][]float32
	for _, t := range g.T {
		all = append(all, t.Data)
	}
	if g.embed != nil {
		all = append(all, g.embed, g.head)
	}
	return all
}

// Independent returns the accumulators that the others follow from: all but a tied embedding's sum, in a fixed order.
func (g *Grads) Independent() [][]float32 {
	var all [][]float32
	for _, t := range g.T {
		if g.embed == nil || t.Name != EmbedName {
			all = append(all, t.Data)
		}
	}
	if g.embed != nil {
		all = append(all, g.embed, g.head)
	}
	return all
}

// Fits reports whether part can be the independent accumulators of a gradient of the same tensors.
func (g *Grads) Fits(part [][]float32) bool {
	return slices.EqualFunc(g.Independent(), part, func(a, b []float32) bool { return len(a) == len(b) })
}

// AddIndependent adds another gradient's independent accumulators, which fit, element by element. With set it replaces
// the gradient by them.
func (g *Grads) AddIndependent(part [][]float32, set bool) {
	for i, a := range g.Independent() {
		b := part[i][:len(a)]
		if set {
			copy(a, b)
			continue
		}
		for j := range a {
			a[j] += b[j]
		}
	}
	g.join()
}

// of returns the accumulator of a tensor, nil if it is not trained.
func (g *Grads) of(name string) []float32 {
	if i, ok := g.index[name]; ok {
		return g.T[i].Data
	}
	return nil
}

// ofEmbed and ofHead return the accumulators of the embedding and of the head.
func (g *Grads) ofEmbed() []float32 {
	if g.embed != nil {
		return g.embed
	}
	return g.of(EmbedName)
}

func (g *Grads) ofHead() []float32 {
	if g.head != nil {
		return g.head
	}
	return g.of(HeadName)
}

// embedding adds the gradient of the embedding for one stretch of a pass, if it is trained.
func (g *Grads) embedding(p *pass, u segment) {
	if g == nil {
		return
	}
	if e := g.ofEmbed(); e != nil {
		for i, s := range p.seqs {
			if p.start[i] >= u.a && p.start[i+1] <= u.b {
				nn.EmbeddingGrad(p.K, e, p.back.dOut.Slice(p.start[i], p.start[i+1]), s.Tokens)
			}
		}
	}
	g.join()
}

// join writes the sum of a tied embedding's two accumulators to T.
func (g *Grads) join() {
	if g.embed == nil {
		return
	}
	sum := g.of(EmbedName)
	for i, e := range g.embed {
		sum[i] = e + g.head[i]
	}
}
