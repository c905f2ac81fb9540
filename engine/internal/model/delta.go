package model

import (
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
)

// deltaWeights are the weights of a delta rule, and A_log as it is stored.
type deltaWeights struct {
	nn.DeltaWeights
	log []float32
}

func (p packer) delta(at string) *deltaWeights {
	d := p.c.Delta
	conv := p.vector(at + "linear_attn.conv1d.weight")
	w := &deltaWeights{log: p.floats(at + "linear_attn.A_log")}
	w.Conv, w.Decay = make([]float32, len(conv)), make([]float32, d.Values)
	for i, v := range conv {
		w.Conv[i%d.Taps*d.Channels()+i/d.Taps] = v
	}
	for i, v := range w.log {
		w.Decay[i] = float32(elementary.Exp(float64(v)))
	}
	w.Bias, w.Norm = p.vector(at+"linear_attn.dt_bias"), p.floats(at+"linear_attn.norm.weight")
	return w
}

// store writes the weights by the names of their parameters.
func (w *deltaWeights) store(c Config, at string, data map[string][]float32) {
	conv := make([]float32, len(w.Conv))
	for i := range conv {
		conv[i] = w.Conv[i%c.Delta.Taps*c.Delta.Channels()+i/c.Delta.Taps]
	}
	data[at+"linear_attn.conv1d.weight"], data[at+"linear_attn.A_log"] = conv, w.log
	data[at+"linear_attn.dt_bias"], data[at+"linear_attn.norm.weight"] = w.Bias, w.Norm
}

// recurrent is the part of a pass that layers without attention compute: delta rules and convolutions.
type recurrent struct{ *pass }

// eachDelta runs f for each key head of each tree of sequences, in parallel.
func (p recurrent) eachDelta(l int, f func(on nn.Products, ws *nn.Workspace, root, head int)) {
	n := p.w.Config.Delta.Keys
	for i := range p.stretches {
		p.stretches[i].Layer = p.w.Config.place(l)
	}
	p.P.Run(len(p.roots)*n, func(i int, sc *kernel.Scratch) {
		ws := p.ws.Get()
		f(nn.Products{K: p.K, SC: sc}, ws, p.roots[i/n], i%n)
		p.ws.Put(ws)
	})
}

// recur computes what layer l has for attention, if it has none.
func (p recurrent) recur(l int) {
	c := p.w.Config
	switch {
	case !c.linear(l):
		return
	case c.Arch.Conv:
		p.convolve(l)
		return
	}
	p.eachDelta(l, func(on nn.Products, ws *nn.Workspace, root, head int) {
		c.Delta.Forward(on, ws, &p.w.layers[l].delta.DeltaWeights, p.layers[l].delta, p.stretches, p.prev, root, head)
	})
}

// recurBackward computes d.dIn of a mixer from the gradient of its result.
func (p recurrent) recurBackward(l int) {
	d := &p.back
	if p.w.Config.Arch.Conv {
		p.convolveBackward(l)
		return
	}
	p.eachDelta(l, func(on nn.Products, ws *nn.Workspace, root, head int) {
		g := nn.DeltaGrads{DY: d.dmixed, DIn: d.ddelta, DConv: d.dconv, DNormed: d.dgated, DLog: d.dlog}
		p.w.Config.Delta.Backward(on, ws, &p.w.layers[l].delta.DeltaWeights, p.layers[l].delta, g, p.stretches, p.prev,
			root, head)
	})
}

// deltaTasks puts the gradients of the parameters of a delta rule outside its linears on the list.
func (p recurrent) deltaTasks(l int, g *Grads) {
	c, s, b := p.w.Config, &p.layers[l].delta, &p.back
	at := fmt.Sprintf("model.layers.%d.linear_attn.", l)
	b.addBias(g.of(at+"dt_bias"), b.ddelta, c.Delta.Width()-c.Delta.Values)
	b.addBias(g.of(at+"A_log"), b.dlog, 0)
	run := func(out []float32, f func()) {
		if out != nil {
			b.tasks = append(b.tasks, gradTask{run: func(*kernel.Set, *kernel.Scratch) { f() }})
		}
	}
	norm, conv := g.of(at+"norm.weight"), g.of(at+"conv1d.weight")
	run(norm, func() {
		n := c.Delta.ValueDim
		tmp := make([]float32, n)
		for t := range s.Out.Len() {
			for v := 0; v < s.Out.Cols; v += n {
				x := s.Out.Row(t)[v:][:n]
				inv := p.K.RMSNorm(tmp, x, p.w.layers[l].delta.Norm, c.Eps)
				nn.RMSNormGrad(p.K, norm, b.dgated.Row(t)[v:][:n], x, inv, tmp)
			}
		}
	})
	run(conv, func() {
		for t := range s.In.Len() {
			for back, from := 0, t; back < c.Delta.Taps && from >= 0; back, from = back+1, p.prev[from] {
				dy, x := b.dconv.Row(t), s.In.Row(from)
				for i, v := range dy {
					at := i*c.Delta.Taps + c.Delta.Taps - 1 - back
					conv[at] += float32(v * x[i])
				}
			}
		}
	})
}

// gate multiplies attention by the logistic of its gate; gateBackward computes the gradients of both.
func (p *pass) gate(l, a, b int) {
	s := &p.layers[l]
	for t := a; t < b; t++ {
		out := s.gated.Row(t)
		p.gates(l, t, out)
		p.K.Mul(out, out, s.att.Row(t))
	}
}

// gates writes the logistic of row t's gates.
func (p *pass) gates(l, t int, out []float32) {
	hd, row := p.w.Config.HeadDim, p.layers[l].qkv.Row(t)
	for h := 0; h < len(out)/hd; h++ {
		copy(out[h*hd:][:hd], row[(2*h+1)*hd:])
	}
	p.K.Scale(out, -1)
	p.K.Exp(out, out)
	for i, e := range out {
		out[i] = 1 / (1 + e)
	}
}

func (p *pass) gateBackward(l, a, b int) {
	s, d, hd := &p.layers[l], &p.back, p.w.Config.HeadDim
	gates := make([]float32, s.att.Cols)
	for t := a; t < b; t++ {
		p.gates(l, t, gates)
		dy, datt, att, dqkv := d.dmixed.Row(t), d.datt.Row(t), s.att.Row(t), d.dwide.Row(t)
		p.K.Mul(datt, dy, gates)
		for i, g := range gates {
			dqkv[(2*(i/hd)+1)*hd+i%hd] = float32(float32(datt[i]*att[i]) * (1 - g))
		}
	}
}

// widen copies the gradients of queries, keys and values to their places beside the gates.
func (p *pass) widen(a, b int) {
	c, d := p.w.Config, &p.back
	for t := a; t < b; t++ {
		from, to := d.dqkv.Row(t), d.dwide.Row(t)
		for h := range c.Heads {
			copy(to[2*h*c.HeadDim:][:c.HeadDim], from[h*c.HeadDim:])
		}
		copy(to[c.qWidth():], from[c.QDim():])
	}
}

// mixed is what the first linear of a layer gives, answered what enters the last one of its mixer, and dMixed the
// gradient of mixed.
func (p *pass) mixed(l int) nn.Rows {
	if p.w.Config.linear(l) {
		return p.layers[l].delta.In
	}
	return p.layers[l].qkv
}

func (p *pass) answered(l int) nn.Rows {
	switch {
	case p.w.Config.linear(l):
		return p.layers[l].delta.Y
	case p.w.Config.Arch.Delta:
		return p.layers[l].gated
	}
	return p.layers[l].att
}

func (p *pass) dMixed(l int) nn.Rows {
	switch {
	case p.w.Config.linear(l):
		return p.back.ddelta
	case p.w.Config.Arch.Delta:
		return p.back.dwide
	}
	return p.back.dqkv
}

// answered is the gradient of what enters the last linear of layer l's mixer.
func (d *backBuffers) answered(c Config, l int) nn.Rows {
	if c.Arch.Delta || c.linear(l) {
		return d.dmixed
	}
	return d.datt
}

// checkBeginnings returns an error for sequences that a backward cannot begin: layers without attention have lost what
// they kept of the positions before.
func (p *pass) checkBeginnings() error {
	for _, i := range p.roots {
		if s := p.seqs[i]; p.w.Config.Linear != nil && s.Pos > 0 && len(s.Tokens) > 0 {
			return fmt.Errorf("model: a backward of sequence %d begins at position %d; in %s it must begin at 0", i,
				s.Pos, p.w.Config.Arch.Name)
		}
	}
	return nil
}

// checkMemory returns an error for sequences whose memory does not fit.
func (p *pass) checkMemory() error {
	want := p.w.Config.Memory().Floats()
	for _, i := range p.roots {
		s := p.seqs[i]
		switch {
		case len(s.Tokens) == 0: // none of its rows teaches
		case s.Memory == nil && s.Pos > 0:
			return fmt.Errorf("model: sequence %d begins at position %d without a memory of those before", i, s.Pos)
		case s.Memory != nil && (len(s.Memory.Data) != want || len(s.Next) > 0):
			return fmt.Errorf("model: the memory of sequence %d has %d floats, want %d, or others continue it", i,
				len(s.Memory.Data), want)
		}
	}
	return nil
}
