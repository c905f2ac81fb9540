package model

import (
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// expertsBackward computes from the gradient of layer l's output that of what enters its experts, in d.dn2, and that of
// the logits, in d.drouter, and adds the gradients of the experts. A tape has the logits and n2 only: the gate
// and up of an expert are computed again.
//
// The sums of d.dn2 are over a row's experts, upward, then its logits.
func (p mixture) expertsBackward(l int) {
	x, d, router := &p.work, &p.back, p.w.Config.Experts
	p.dispatch(l)
	x.dweights = floats(x.dweights, len(x.weights))
	clear(d.dn2.Data)
	list := targets(p.w.Config, l)
	p.eachExpert(func(e int, rows, slots []int) {
		p.expertMLP(l, e, rows)
		p.expertBackward(l, e, rows, slots)
		for _, u := range p.segments {
			a, _ := slices.BinarySearch(rows, u.a)
			b, _ := slices.BinarySearch(rows, u.b)
			if u.grads != nil && a < b {
				p.expertTasks(l, e, u, list[2+2*e:], rows[a:b], slots, a, b)
			}
		}
		p.runTasks(1)
	})
	p.together().Rows(0, p.rows(), func(a, b int, _ *kernel.Scratch) {
		all := make([]float32, router.Experts)
		for t := a; t < b; t++ {
			at, logits := t*router.Used, p.layers[l].router.Row(t)
			chosen, weights := x.chosen[at:][:router.Used], x.weights[at:][:router.Used]
			router.Choose(p.K, chosen, weights, all, logits)
			router.Backward(d.drouter.Row(t), x.dweights[at:], chosen, weights, all)
		}
	})
}

// expertBackward computes the gradients of rows of expert e, after expertMLP. x.act and x.midDown become those of
// rows times their weights, which the gradients of down need beside x.dy.
func (p mixture) expertBackward(l, e int, rows, slots []int) {
	x, d, c, on, w := &p.work, &p.back, p.w.Config, p.together(), &p.w.layers[l]
	F, bias := c.ExpertFF, w.down(e).Bias
	for _, m := range []column{{&x.dy, c.Dim}, {&x.dx, c.Dim}, {&x.dact, F}, {&x.dgateUp, 2 * F},
		{&x.dmidGU, 2 * p.rank}, {&x.dmidDown, p.rank}} {
		m.rows.Resize(len(rows), m.cols)
	}
	p.gather(x.dy, d.dOut, rows)
	p.additions(on, p.packed(on, w.down(e), x.act), x.midDown, rows, downOf(l, e))
	p.gatheredBackward(on, w.down(e), x.dact, x.dy, x.dmidDown, rows, downOf(l, e))
	on.Rows(0, len(rows), func(a, b int, _ *kernel.Scratch) {
		for i := a; i < b; i++ {
			act, dact, weight := x.act.Row(i), x.dact.Row(i), x.weights[slots[i]]
			dweight := &x.dweights[slots[i]] // the product of x.dy and what down gives
			if *dweight = p.K.Dot(dact, act); bias != nil {
				*dweight += p.K.Dot(x.dy.Row(i), bias)
			}
			for _, v := range [][]float32{act, dact, x.midDown.Row(i)} {
				p.K.Scale(v, weight)
			}
			gu, dgu := x.gateUp.Row(i), x.dgateUp.Row(i)
			if c.Clamp.Limit > 0 {
				c.Clamp.Backward(p.K, dgu[:F], dgu[F:], dact, gu[:F], gu[F:])
			} else {
				p.K.SiLUMulBackward(dgu[:F], dgu[F:], dact, gu[:F], gu[F:])
			}
		}
	})
	p.gatheredBackward(on, w.gateUp(e), x.dx, x.dgateUp, x.dmidGU, rows, gateUpOf(l, e))
	on.Rows(0, len(rows), func(a, b int, _ *kernel.Scratch) {
		for i := a; i < b; i++ {
			p.K.Add(d.dn2.Row(rows[i]), x.dx.Row(i))
		}
	})
}

// expertTasks puts the gradients of expert e on the list, for one stretch of the pass: rows a to b-1 of the work. list
// begins with the targets of the expert.
func (p mixture) expertTasks(l, e int, u segment, list []target, rows, slots []int, a, b int) {
	x, d := &p.work, &p.back
	if u.adapter == nil {
		d.addMatrix(u.grads, list[0], x.dgateUp, x.x)
		at := list[1].at + "down_proj."
		d.add(u.grads.of(at+"weight"), x.dy.Cols, x.act.Cols, x.dy, 0, x.act, 0)
		p.addWeighted(u.grads.of(at+"bias"), slots)
		return
	}
	modules, seqs := u.adapter.modules, p.stretchesOf(rows)
	add := func(lora *nn.LoRA, t target, dy, in, mid, dmid nn.Rows) {
		d.addLoRA(u.grads, lora, t.of(modules), dy.Slice(a, b), in.Slice(a, b), mid.Slice(a, b), dmid.Slice(a, b),
			seqs)
	}
	add(gateUpOf(l, e)(u.adapter), list[0], x.dgateUp, x.x, x.midGU, x.dmidGU)
	add(downOf(l, e)(u.adapter), list[1], x.dy, x.act, x.midDown, x.dmidDown)
}

// addWeighted puts the bias of an expert's down on the list: the sum of x.dy times the rows' weights.
func (p mixture) addWeighted(out []float32, slots []int) {
	if out == nil {
		return
	}
	p.back.tasks = append(p.back.tasks, gradTask{run: func(*kernel.Set, *kernel.Scratch) {
		for i, slot := range slots {
			p.K.AXPY(out, p.work.weights[slot], p.work.dy.Row(i))
		}
	}})
}

// routeBackward computes d.dh of a layer with experts for rows a to b-1, after expertsBackward.
func (p mixture) routeBackward(l, a, b int, on nn.Products) {
	d, w := &p.back, p.w.layers[l].router
	in := on.Pack(0, d.drouter.Slice(a, b), d.drouter.Cols, w.BF16())
	on.Transposed(d.dn2.Slice(a, b), in, 0, in.M, w.W, true, nil)
	p.norm2Backward(l, a, b, on)
}
