package model

import (
	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// This file is the experts of a layer, forward, for all rows of a pass:
//
//	route     n2 = norm(h) ; logits = n2·Wrouterᵀ
//	experts   out = h + the sum of weight·(silu(gate)*up)·Wdownᵀ over a row's experts, upward; see also nn.Clamp
//
// A row's experts and their weights are a function of its logits, and its sum begins at zero and has its own order. So
// its bits do not depend on the other rows. Experts are computed one after another, each for the rows that chose it, in
// their order; the workers share its products.

// expertChunk is the most rows that an expert computes at once.
const expertChunk = 512

// routes are the experts of each row, and the rows of each expert. K is the number of experts of a row.
type routes struct {
	chosen  []int32   // [T,K] upward in each row
	weights []float32 // [T,K]
	first   []int     // [experts+1] the places of an expert's rows in rows and slots
	rows    []int     // [T·K] upward for each expert
	slots   []int     // [T·K] the place of each in chosen and weights
}

// expertWork is the memory of some rows of one expert, and in a backward their gradients. Names are as in acts.
type expertWork struct {
	routes
	x, gateUp, act, y     nn.Rows // [n,D], [n,F+F], [n,F], [n,D]
	midGU, midDown        nn.Rows // [n,2r], [n,r]
	dy, dx, dgateUp, dact nn.Rows // as above
	dmidGU, dmidDown      nn.Rows
	dweights              []float32 // [T,K]
}

// mixture is the experts' part of a pass.
type mixture struct{ *pass }

// route computes the logits of the experts of layer l for rows a to b-1.
func (p mixture) route(l, a, b int, on nn.Products) {
	w, s := &p.w.layers[l], &p.layers[l]
	on.Rows(a, b, func(a, b int, _ *kernel.Scratch) {
		nn.RMSNorm(p.K, s.n2.Slice(a, b), s.h.Slice(a, b), w.norm2, p.w.Config.Eps, s.inv2[a:b])
	})
	x := s.n2.Slice(a, b)
	w.router.Forward(on, s.router.Slice(a, b), x, on.Pack(0, x, x.Cols, w.router.BF16()), nil)
}

// dispatch finds the experts of each row by the logits of layer l, and the rows of each expert.
func (p mixture) dispatch(l int) {
	r, router, T := &p.work.routes, p.w.Config.Experts, p.rows()
	n := T * router.Used
	r.chosen, r.weights = make([]int32, n), floats(r.weights, n)
	p.together().Rows(0, T, func(a, b int, _ *kernel.Scratch) {
		all := make([]float32, router.Experts)
		for t := a; t < b; t++ {
			at := t * router.Used
			router.Choose(p.K, r.chosen[at:][:router.Used], r.weights[at:], all, p.layers[l].router.Row(t))
		}
	})
	r.sort(router)
}

// sort fills first, rows and slots: by expert, then by row.
func (r *routes) sort(router nn.Router) {
	next := make([]int, router.Experts+1)
	for _, e := range r.chosen {
		next[e+1]++
	}
	for e := range router.Experts {
		next[e+1] += next[e]
	}
	r.first = append(r.first[:0], next...)
	r.rows, r.slots = make([]int, len(r.chosen)), make([]int, len(r.chosen))
	for slot, e := range r.chosen {
		r.rows[next[e]], r.slots[next[e]] = slot/router.Used, slot
		next[e]++
	}
}

// eachExpert calls f for each expert that has rows, upward, with some of them and their places in weights, upward.
func (p mixture) eachExpert(f func(e int, rows, slots []int)) {
	r := &p.work.routes
	for e := range p.w.Config.Experts.Experts {
		rows, slots := r.rows[r.first[e]:r.first[e+1]], r.slots[r.first[e]:r.first[e+1]]
		for from := 0; from < len(rows); {
			to := p.chunkEnd(rows, from, expertChunk)
			f(e, rows[from:to], slots[from:to])
			from = to
		}
	}
}

// together is for products that the workers share.
func (p mixture) together() nn.Products { return nn.Products{K: p.K, SC: p.sc, P: p.P} }

// experts computes the output of layer l from h and the logits of its experts.
func (p mixture) experts(l int) {
	s, x, on, out := &p.layers[l], &p.work, p.together(), p.output(l)
	p.dispatch(l)
	clear(out.Data)
	p.eachExpert(func(e int, rows, slots []int) {
		p.expertMLP(l, e, rows)
		x.y.Resize(len(rows), p.w.Config.Dim)
		p.gathered(on, p.w.layers[l].down(e), x.y, x.act, x.midDown, rows, downOf(l, e))
		on.Rows(0, len(rows), func(a, b int, _ *kernel.Scratch) {
			for i := a; i < b; i++ {
				p.K.Scale(x.y.Row(i), x.weights[slots[i]])
				p.K.Add(out.Row(rows[i]), x.y.Row(i))
			}
		})
	})
	on.Rows(0, p.rows(), func(a, b int, _ *kernel.Scratch) { p.K.Add(out.Slice(a, b).Data, s.h.Slice(a, b).Data) })
}

// expertMLP computes what enters the last linear of an expert, for rows of layer l.
func (p mixture) expertMLP(l, e int, rows []int) {
	x, F, on := &p.work, p.w.Config.ExpertFF, p.together()
	x.x.Resize(len(rows), p.w.Config.Dim)
	x.gateUp.Resize(len(rows), 2*F)
	x.act.Resize(len(rows), F)
	x.midGU.Resize(len(rows), 2*p.rank)
	x.midDown.Resize(len(rows), p.rank)
	p.gather(x.x, p.layers[l].n2, rows)
	p.gathered(on, p.w.layers[l].gateUp(e), x.gateUp, x.x, x.midGU, rows, gateUpOf(l, e))
	on.Rows(0, len(rows), func(a, b int, _ *kernel.Scratch) {
		clamp := p.w.Config.Clamp
		var tmp []float32
		if clamp.Limit > 0 {
			tmp = make([]float32, F)
		}
		for i := a; i < b; i++ {
			gu := x.gateUp.Row(i)
			if clamp.Limit > 0 {
				clamp.Mul(p.K, x.act.Row(i), gu[:F], gu[F:], tmp)
			} else {
				p.K.SiLUMul(x.act.Row(i), gu[:F], gu[F:])
			}
		}
	})
}

// gather copies rows of from.
func (p mixture) gather(to, from nn.Rows, rows []int) {
	p.together().Rows(0, len(rows), func(a, b int, _ *kernel.Scratch) {
		for i := a; i < b; i++ {
			copy(to.Row(i), from.Row(rows[i]))
		}
	})
}

// gateUpOf and downOf pick the additions to expert e of layer l.
func gateUpOf(l, e int) func(*Adapter) *nn.LoRA {
	return func(ad *Adapter) *nn.LoRA { return ad.layers[l].gateUp(e) }
}

func downOf(l, e int) func(*Adapter) *nn.LoRA {
	return func(ad *Adapter) *nn.LoRA { return ad.layers[l].down(e) }
}
