package model

import (
	"fmt"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// backBuffers holds the gradients of one layer's activations, for all rows of a call. Names are as in acts.
type backBuffers struct {
	dOut, dIn, dh, dn1, dn2          nn.Rows // [T,D]
	do, dmlp                         nn.Rows // [T,D] of what is normed before it is added, with such norms
	dact, dgateUp                    nn.Rows // [T,F], [T,F+F]
	drouter, dsinks                  nn.Rows // [T,experts], [T,Heads]
	datt, dqkv, dNormed              nn.Rows // [T,Q], [T,Q+G+G], [T,Q+G]
	dmidQKV, dmidO, dmidGU, dmidDown nn.Rows // [T,3r], [T,r], [T,2r], [T,r]
	dmixed, dwide, ddelta            nn.Rows // of delta rules and gates: [T,max(Q,·)], [T,Q+Q+G+G], [T,·]
	dconv, dgated, dlog              nn.Rows // see nn.DeltaGrads
	head                             headRows
	held                             *score // whose rows head has the logits of, all of them
	tasks                            []gradTask
	// before the tasks, one for each of factors
	layouts []func(k *kernel.Set, sc *kernel.Scratch)
	factors []*nn.Factors
}

func (d *backBuffers) resize(c Config, T, rank int) {
	for _, m := range []struct {
		rows *nn.Rows
		cols int
	}{{&d.dOut, c.Dim}, {&d.dIn, c.Dim}, {&d.dh, c.Dim}, {&d.dn1, c.Dim}, {&d.dn2, c.Dim},
		{&d.datt, c.QDim()}, {&d.dqkv, c.QDim() + 2*c.KVDim()}, {&d.dmidQKV, c.inputs() * rank}, {&d.dmidO, rank}} {
		m.rows.Resize(T, m.cols)
	}
	if c.dense() {
		d.dact.Resize(T, c.FF)
		d.dgateUp.Resize(T, 2*c.FF)
		d.dmidGU.Resize(T, 2*rank)
		d.dmidDown.Resize(T, rank)
	}
	if c.Sparse != nil {
		d.drouter.Resize(T, c.Experts.Experts)
	}
	if c.Arch.Sinks {
		d.dsinks.Resize(T, c.Heads)
	}
	if c.Arch.QKNorm {
		d.dNormed.Resize(T, c.QDim()+c.KVDim())
	}
	if c.Linear != nil {
		d.dmixed.Resize(T, c.linearOut())
		d.ddelta.Resize(T, c.linearIn())
		d.dconv.Resize(T, c.channels())
	}
	if c.Arch.Delta {
		d.dmixed.Resize(T, max(c.QDim(), c.linearOut()))
		d.dwide.Resize(T, c.qWidth()+2*c.KVDim())
		d.dgated.Resize(T, c.linearOut())
		d.dlog.Resize(T, c.Delta.Values)
	}
	if c.changesSums() {
		d.do.Resize(T, c.Dim)
		d.dmlp.Resize(T, c.Dim)
	}
}

// Backward adds to grads the gradients of the loss whose dLoss/dlogp Score left on the tape. seqs are the ones of
// tape's Forward. Each stretch of neighbouring sequences with one adapter has its own grads, in order. A nil entry is a
// stretch that is not trained; it does not change the gradients of the others. A stretch without an adapter trains the
// full parameters and must then be the only one. Tensors that grads lacks are not trained. Arguments that do not fit
// are an error, which Err returns.
//
// The derivative of rounding to bf16 is taken as 1. If weights are bf16, gradients of activations are rounded to bf16
// before they are multiplied with them.
func (r *Runner) Backward(w *Weights, seqs []Seq, tape *Tape, grads ...*Grads) {
	p, err := r.newPass(w, seqs)
	if err != nil || p.rows() == 0 {
		return
	}
	if p, r.err = p.prune(tape); r.err != nil {
		return
	}
	if r.err = p.train(grads); r.err != nil || p.rows() == 0 {
		return
	}
	tape.attach(p)
	p.plant()
	if r.err = p.checkBeginnings(); r.err != nil {
		return
	}
	d := &r.back
	d.resize(w.Config, p.rows(), p.rank)
	d.tasks = d.tasks[:0]
	clear(d.dOut.Data)
	scoring{p}.headGradients(&tape.score)
	for l := len(p.layers) - 1; l >= 0; l-- {
		if tape.keep == keepInputs && p.between() {
			p.recompute(l)
		}
		if !p.between() {
			return
		}
		p.layerGradients(l)
		d.dOut, d.dIn = d.dIn, d.dOut
	}
	if scale := w.Config.embedScale(p.K); scale != 1 {
		p.K.Scale(d.dOut.Data, scale)
	}
	for _, u := range p.segments {
		u.grads.embedding(p, u)
	}
}

// train assigns each stretch of the pass its gradients.
func (p *pass) train(grads []*Grads) error {
	if len(grads) != len(p.segments) {
		return fmt.Errorf("model: a backward over %d adapters with gradients for %d; put sequences with the same "+
			"adapter together", len(p.segments), len(grads))
	}
	for i, g := range grads {
		if g != nil && (p.segments[i].adapter == nil && len(grads) > 1 || slices.Contains(grads[:i], g)) {
			return fmt.Errorf("model: stretch %d of %d of a backward trains all weights or has another's gradients; "+
				"train it by itself", i, len(grads))
		}
		p.segments[i].grads = g
	}
	return nil
}

// recompute fills layer l's activations again from its input.
func (p *pass) recompute(l int) {
	p.layer(func(a, b int, on nn.Products) { p.project(l, a, b, on) })
	recurrent{p}.recur(l)
	p.layer(func(a, b int, on nn.Products) {
		if p.attend(l, a, b, on); p.w.Config.sparse(l) {
			mixture{p}.route(l, a, b, on)
			return
		}
		p.mlp(l, a, b, on)
	})
}

// layerGradients computes d.dIn from d.dOut through layer l and adds the layer's gradients.
func (p *pass) layerGradients(l int) {
	if p.w.Config.sparse(l) {
		mixture{p}.expertsBackward(l)
	}
	p.layer(func(a, b int, on nn.Products) {
		p.mlpBackward(l, a, b, on)
		p.attendBackward(l, a, b, on)
	})
	if kv := p.w.Config.KVHeads; p.w.Config.linear(l) {
		recurrent{p}.recurBackward(l)
	} else {
		p.P.Run(len(p.roots)*kv, func(i int, sc *kernel.Scratch) {
			ws := p.ws.Get()
			p.attentionBackward(l, p.roots[i/kv], i%kv, sc, ws)
			p.ws.Put(ws)
		})
	}
	p.layer(func(a, b int, on nn.Products) { p.projectBackward(l, a, b, on) })
	for _, u := range p.segments {
		switch {
		case u.grads == nil:
		case u.adapter != nil:
			p.loraTasks(l, u)
		default:
			p.fullTasks(l, u.grads)
		}
	}
	p.runTasks(1)
}

// headChunk is the number of rows whose logits are held at once: about 512 MiB. If a pass has no more rows, Score
// keeps the logits for Backward.
func headChunk(c Config) int { return max(64, 1<<27/c.Vocab/64*64) }

func (r *Runner) headChunk(c Config) int {
	if r.most > 0 {
		return r.most
	}
	return headChunk(c)
}

// headGradients computes d.dOut, the gradient of the last layer's output, from the tape of Score, and adds the
// gradients of the head and of the final norm.
func (p scoring) headGradients(s *score) {
	c, d := p.w.Config, &p.back
	chunk := p.headChunk(c)
	for from := 0; from < len(s.rows); {
		if !p.between() {
			return
		}
		at := from
		rows := s.rows[at:p.chunkEnd(s.rows, at, chunk)]
		from += len(rows)
		held := d.held == s
		if d.held = nil; !held {
			d.head.resize(c, len(rows), p.rank)
		}
		on := p.headParts(len(rows), func(a, b int, on nn.Products) {
			h := d.head.slice(a, b)
			if !held {
				p.head(h, rows[a:b], p.hidden, on)
			}
			on.Rows(a, b, func(a, b int, _ *kernel.Scratch) {
				for i := a; i < b; i++ {
					s.gradient(p.K, at+i, d.head.logits.Row(i))
				}
			})
			p.headBackward(h, rows[a:b], on)
			on.Rows(a, b, func(a, b int, _ *kernel.Scratch) {
				for i := a; i < b; i++ {
					t := rows[i]
					nn.RMSNormBackward(p.K, d.dOut.Row(t), d.head.dx.Row(i), p.last.Row(t), p.w.norm, p.invF[t])
				}
			})
		})
		if !on {
			return
		}
		p.headTasks(rows)
		part := p.headPart()
		p.runTasks((len(rows) + part - 1) / part)
	}
}
