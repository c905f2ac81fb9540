package model

import (
	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// This file is one transformer block, forward and backward, for rows a to b-1 of a pass:
//
//	project   n1 = norm(x) ; q, k, v = n1·Wᵀ ; QK-norm ; RoPE ; K and V into the pages
//	attend    h = x + attention(q)·Woᵀ
//	mlp       out = h + (silu(gate)*up)·Wdownᵀ, gate and up from norm(h); for experts see experts.go
//
// Gemma norms what is added to x and to h, and has gelu for silu.
//
// Each product is followed by its LoRA, which continues the accumulator.

// linear computes rows a to b-1 of y from the same rows of x by l and the additions that pick selects.
func (p *pass) linear(a, b int, on nn.Products, l *nn.Linear, y, x, mid nn.Rows, pick func(*Adapter) *nn.LoRA) {
	x, mid = x.Slice(a, b), mid.Slice(a, b)
	in := p.packed(on, l, x)
	var more []kernel.Addition
	p.eachSegment(a, b, pick, func(lora *nn.LoRA, from, to int) { more = lora.Down(on, more, mid, in, from-a, to-a) })
	l.Forward(on, y.Slice(a, b), x, in, more)
}

// packed packs the rows of a product of l; nil if neither its weights nor an adapter's read them packed.
func (p *pass) packed(on nn.Products, l *nn.Linear, rows nn.Rows) *kernel.Input {
	if l.Q != nil && p.rank == 0 {
		return nil
	}
	return on.Pack(0, rows, rows.Cols, l.BF16())
}

// linearBackward computes rows a to b-1 of dx from dy, and of dmid.
func (p *pass) linearBackward(a, b int, on nn.Products, l *nn.Linear, dx, dy, dmid nn.Rows,
	pick func(*Adapter) *nn.LoRA) {
	dy, dmid = dy.Slice(a, b), dmid.Slice(a, b)
	in := p.packed(on, l, dy)
	var more []kernel.Addition
	p.eachSegment(a, b, pick, func(lora *nn.LoRA, from,
		to int) {
		more = lora.Up(on, more, dmid, dy, in, from-a, to-a)
	})
	l.Backward(on, dx.Slice(a, b), dy, in, more)
}

// output returns the destination of layer l's result: the next layer's input.
func (p *pass) output(l int) nn.Rows {
	if l+1 < len(p.layers) {
		return p.layers[l+1].x
	}
	return p.last
}

func (p *pass) project(l, a, b int, on nn.Products) {
	w, s, c := &p.w.layers[l], &p.layers[l], p.w.Config
	on.Rows(a, b, func(a, b int, _ *kernel.Scratch) {
		if !nn.RMSNorm(p.K, s.n1.Slice(a, b), s.x.Slice(a, b), w.norm1, c.Eps, s.inv1[a:b]) {
			p.mark(l, s.inv1, a, b)
		}
	})
	p.linear(a, b, on, w.qkv, p.mixed(l), s.n1, s.midQKV, func(ad *Adapter) *nn.LoRA { return ad.layers[l].qkv() })
	if c.linear(l) {
		return
	}
	on.Rows(a, b, func(a, b int, sc *kernel.Scratch) {
		ws := p.ws.Get()
		p.eachSeq(a, b, func(i int, seq Seq, a, b int) {
			keys, values := &ws.Rows[0], s.qkv.Slice(a, b).From(c.qWidth()+c.KVDim())
			keys.Resize(b-a, c.KVDim())
			for t := a; t < b; t++ {
				p.rotate(l, t, seq.Pos+t-a, keys.Row(t-a))
			}
			p.fillForks(i, l, seq.Pos, sc, *keys, values)
			c.Pages().StoreRows(p.K, sc, seq.Pages, seq.Pos, c.place(l), *keys, values)
		})
		p.ws.Put(ws)
	})
}

// rotate writes row t's projections for attention: queries normed, rotated and scaled to s.q, keys normed and rotated
// to keys [KVDim].
func (p *pass) rotate(l, t, pos int, keys []float32) {
	w, s, c := &p.w.layers[l], &p.layers[l], p.w.Config
	hd, row, q := c.HeadDim, s.qkv.Row(t), s.q.Row(t)
	for h := range c.Heads {
		from, to := row[c.headAt(h):][:hd], q[h*hd:(h+1)*hd]
		if w.qNorm != nil {
			s.invQK.Row(t)[h] = p.K.RMSNorm(to, from, w.qNorm, c.Eps)
			from = to
		}
		p.angles(l).Rotate(p.K, to, from, pos)
	}
	p.K.Scale(q, p.attention(l).Scale())
	if warm := c.warm(pos); warm != 1 {
		p.K.Scale(q, warm)
	}
	for j := range c.KVHeads {
		from, key := row[c.headAt(c.Heads+j):][:hd], keys[j*hd:][:hd]
		if w.kNorm != nil {
			s.invQK.Row(t)[c.Heads+j] = p.K.RMSNorm(key, from, w.kNorm, c.Eps)
			from = key
		}
		p.angles(l).Rotate(p.K, key, from, pos)
	}
}

// projectBackward computes the gradient of the layer's input, d.dIn, from those of rotated q and k and of v, in
// d.dqkv, and of h, in d.dh.
func (p *pass) projectBackward(l, a, b int, on nn.Products) {
	w, s, d := &p.w.layers[l], &p.layers[l], &p.back
	on.Rows(a, b, func(a, b int, _ *kernel.Scratch) {
		if p.w.Config.linear(l) {
			return
		}
		p.eachSeq(a, b, func(_ int, seq Seq, a, b int) {
			for t := a; t < b; t++ {
				p.rotateBack(l, t, seq.Pos+t-a)
			}
		})
		if p.w.Config.Arch.Delta {
			p.widen(a, b)
		}
	})
	p.linearBackward(a, b, on, w.qkv, d.dn1, p.dMixed(l), d.dmidQKV,
		func(ad *Adapter) *nn.LoRA { return ad.layers[l].qkv() })
	on.Rows(a, b, func(a, b int, _ *kernel.Scratch) {
		for t := a; t < b; t++ {
			nn.RMSNormBackward(p.K, d.dIn.Row(t), d.dn1.Row(t), s.x.Row(t), w.norm1, s.inv1[t])
			p.K.Add(d.dIn.Row(t), d.dh.Row(t))
		}
	})
}

// rotateBack is the backward of rotate for row t, in d.dqkv. With QK-norm d.dNormed receives the gradients of the
// normed heads.
func (p *pass) rotateBack(l, t, pos int) {
	w, s, c, d := &p.w.layers[l], &p.layers[l], p.w.Config, &p.back
	hd, row, dy := c.HeadDim, s.qkv.Row(t), d.dqkv.Row(t)
	if warm := c.warm(pos); warm != 1 {
		p.K.Scale(dy[:c.QDim()], warm)
	}
	for h := range c.Heads + c.KVHeads {
		at, norm := h*hd, w.qNorm
		if h >= c.Heads {
			norm = w.kNorm
		}
		g := dy[at : at+hd]
		if norm == nil {
			p.angles(l).RotateBack(p.K, g, g, pos)
			continue
		}
		normed := d.dNormed.Row(t)[at : at+hd]
		p.angles(l).RotateBack(p.K, normed, g, pos)
		nn.RMSNormBackward(p.K, g, normed, row[c.headAt(h):][:hd], norm, s.invQK.Row(t)[h])
	}
}

func (p *pass) attention(l int) nn.Attention {
	c := p.w.Config
	a := nn.Attention{Shape: c.Pages(), Heads: c.Heads, Layer: c.place(l), Square: c.QueryScalar,
		Sinks: p.w.layers[l].sinks}
	if c.slides(l) {
		a.Window = c.Window
	}
	return a
}

func (p *pass) attend(l, a, b int, on nn.Products) {
	w, s := &p.w.layers[l], &p.layers[l]
	if !p.w.Config.linear(l) {
		p.attendHeads(l, a, b, on)
	}
	y := afterNorm(w.afterAttn, s.o, s.h)
	p.linear(a, b, on, w.o, y, p.answered(l), s.midO, func(ad *Adapter) *nn.LoRA { return ad.layers[l].o() })
	on.Rows(a, b, func(a, b int, _ *kernel.Scratch) { p.residual(s.h, y, s.x, w.afterAttn, s.invO, a, b) })
}

// attendHeads computes attention, with its gates if it has some.
func (p *pass) attendHeads(l, a, b int, on nn.Products) {
	s := &p.layers[l]
	on.RowHeads(a, b, p.w.Config.KVHeads, func(a, b, from, to int, sc *kernel.Scratch) {
		ws := p.ws.Get()
		ws.Stretches = ws.Stretches[:0]
		p.eachSeq(a, b, func(_ int, seq Seq, a, b int) {
			ws.Stretches = append(ws.Stretches, nn.Stretch{From: a, To: b, Pos: seq.Pos, Pages: seq.Pages})
		})
		p.attention(l).Forwards(p.K, sc, ws, s.att, s.q, ws.Stretches, from, to)
		clear(ws.Stretches)
		p.ws.Put(ws)
	})
	if p.w.Config.Arch.Delta {
		on.Rows(a, b, func(a, b int, _ *kernel.Scratch) { p.gate(l, a, b) })
	}
}

// attendBackward computes the gradient of attention's output, d.datt, from that of h. attentionBackward continues for
// each tree of sequences with all its rows.
func (p *pass) attendBackward(l, a, b int, on nn.Products) {
	w, s, d := &p.w.layers[l], &p.layers[l], &p.back
	dy := p.residualBackward(d.do, d.dh, s.o, w.afterAttn, s.invO, a, b, on)
	p.linearBackward(a, b, on, w.o, d.answered(p.w.Config, l), dy, d.dmidO,
		func(ad *Adapter) *nn.LoRA { return ad.layers[l].o() })
	if p.w.Config.Arch.Delta && !p.w.Config.linear(l) {
		on.Rows(a, b, func(a, b int, _ *kernel.Scratch) { p.gateBackward(l, a, b) })
	}
}

// attentionBackward fills d.dqkv for one KV head of the tree of sequences that begins with sequence root.
func (p *pass) attentionBackward(l, root, head int, sc *kernel.Scratch, ws *nn.Workspace) {
	s, d := &p.layers[l], &p.back
	rows := nn.AttentionRows{DQKV: d.dqkv, Dout: d.datt, Out: s.att, Q: s.q, DSinks: d.dsinks}
	p.attention(l).Backward(p.K, sc, ws, rows, p.stretches, root, head)
}

func (p *pass) mlp(l, a, b int, on nn.Products) {
	w, s, c := &p.w.layers[l], &p.layers[l], p.w.Config
	on.Rows(a, b, func(a, b int, _ *kernel.Scratch) {
		nn.RMSNorm(p.K, s.n2.Slice(a, b), s.h.Slice(a, b), w.norm2, c.Eps, s.inv2[a:b])
	})
	p.linear(a, b, on, w.gateUp(0), s.gateUp, s.n2, s.midGU, gateUpOf(l, 0))
	on.Rows(a, b, func(a, b int, _ *kernel.Scratch) {
		for t := a; t < b; t++ {
			gu := s.gateUp.Row(t)
			if c.Arch.Gemma {
				nn.GELUMul(p.K, s.act.Row(t), gu[:c.FF], gu[c.FF:])
			} else {
				p.K.SiLUMul(s.act.Row(t), gu[:c.FF], gu[c.FF:])
			}
		}
	})
	out := p.output(l)
	y := afterNorm(w.afterMLP, s.mlp, out)
	p.linear(a, b, on, w.down(0), y, s.act, s.midDown, downOf(l, 0))
	on.Rows(a, b, func(a, b int, _ *kernel.Scratch) { p.residual(out, y, s.h, w.afterMLP, s.invMLP, a, b) })
}

// mlpBackward computes d.dh, the gradient of h, from d.dOut, the gradient of the layer's output.
func (p *pass) mlpBackward(l, a, b int, on nn.Products) {
	w, s, c, d := &p.w.layers[l], &p.layers[l], p.w.Config, &p.back
	if c.sparse(l) {
		mixture{p}.routeBackward(l, a, b, on)
		return
	}
	dy := p.residualBackward(d.dmlp, d.dOut, s.mlp, w.afterMLP, s.invMLP, a, b, on)
	p.linearBackward(a, b, on, w.down(0), d.dact, dy, d.dmidDown, downOf(l, 0))
	on.Rows(a, b, func(a, b int, _ *kernel.Scratch) {
		for t := a; t < b; t++ {
			gu, dgu := s.gateUp.Row(t), d.dgateUp.Row(t)
			if c.Arch.Gemma {
				nn.GELUMulBackward(p.K, dgu[:c.FF], dgu[c.FF:], d.dact.Row(t), gu[:c.FF], gu[c.FF:])
			} else {
				p.K.SiLUMulBackward(dgu[:c.FF], dgu[c.FF:], d.dact.Row(t), gu[:c.FF], gu[c.FF:])
			}
		}
	})
	p.linearBackward(a, b, on, w.gateUp(0), d.dn2, d.dgateUp, d.dmidGU, gateUpOf(l, 0))
	p.norm2Backward(l, a, b, on)
}

// norm2Backward computes d.dh from the gradients of the normed h, d.dn2, and of the layer's output.
func (p *pass) norm2Backward(l, a, b int, on nn.Products) {
	s, d := &p.layers[l], &p.back
	on.Rows(a, b, func(a, b int, _ *kernel.Scratch) {
		for t := a; t < b; t++ {
			nn.RMSNormBackward(p.K, d.dh.Row(t), d.dn2.Row(t), s.h.Row(t), p.w.layers[l].norm2, s.inv2[t])
			p.K.Add(d.dh.Row(t), d.dOut.Row(t))
		}
	})
}
