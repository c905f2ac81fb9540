package model

import (
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/nn"
)

// backBuffers holds the gradients of one layer's activations, for all rows of a call. Names are those of acts.
type backBuffers struct {
	dOut, dIn, dh, dn1, dn2          nn.Rows // [T,D]
	dact, dgateUp                    nn.Rows // [T,F], [T,F+F]
	datt, dqkv, dNormed              nn.Rows // [T,Q], [T,Q+G+G], [T,Q+G]
	dmidQKV, dmidO, dmidGU, dmidDown nn.Rows // [T,3r], [T,r], [T,2r], [T,r]
	head                             headRows
	tasks                            []gradTask
}

func (d *backBuffers) resize(c Config, T, rank int) {
	for _, m := range []struct {
		rows *nn.Rows
		cols int
	}{{&d.dOut, c.Dim}, {&d.dIn, c.Dim}, {&d.dh, c.Dim}, {&d.dn1, c.Dim}, {&d.dn2, c.Dim}, {&d.dact, c.FF}, {&d.dgateUp, 2 * c.FF},
		{&d.datt, c.QDim()}, {&d.dqkv, c.QDim() + 2*c.KVDim()}, {&d.dmidQKV, 3 * rank}, {&d.dmidO, rank}, {&d.dmidGU, 2 * rank},
		{&d.dmidDown, rank}} {
		m.rows.Resize(T, m.cols)
	}
	if c.Arch.QKNorm {
		d.dNormed.Resize(T, c.QDim()+c.KVDim())
	}
}

// gradTask continues rows n0 to n1-1 of one weight's gradient: out[n,k] with dy[t,dyCol+n]*x[t,xCol+k], t upward. With run it
// does that instead.
type gradTask struct {
	out         []float32
	K           int
	dy, x       nn.Rows
	dyCol, xCol int
	n0, n1      int
	run         func()
}

func (g gradTask) do(k *kernel.Set, sc *kernel.Scratch) {
	if g.run != nil {
		g.run()
		return
	}
	k.GradW(sc, g.out, g.K, g.dy.Data[g.dyCol:], g.dy.Cols, g.x.Data[g.xCol:], g.x.Cols, g.dy.Len(), g.n0, g.n1, g.K)
}

// taskRows is the number of a gradient's rows one task does.
const taskRows = 64

// add puts the gradient out [N,K] of one weight on the list, in tasks of some rows. A nil out is a weight that is not trained.
func (d *backBuffers) add(out []float32, N, K int, dy nn.Rows, dyCol int, x nn.Rows, xCol int) {
	if out == nil || dy.Len() == 0 {
		return
	}
	parts := (N + taskRows - 1) / taskRows
	for i := range parts {
		d.tasks = append(d.tasks, gradTask{out: out, K: K, dy: dy, x: x, dyCol: dyCol, xCol: xCol, n0: i * N / parts, n1: (i + 1) * N / parts})
	}
}

// addLoRA puts A and B of an addition on the list.
func (d *backBuffers) addLoRA(g *Grads, l *nn.LoRA, t target, dy, x, mid, dmid nn.Rows) {
	if l == nil {
		return
	}
	for p := range t.outs {
		d.add(g.of(t.b(p).name), l.Outputs(p), l.Rank, dy, l.Cols[p], mid, l.Mid(p))
		d.add(g.of(t.a(p).name), l.Rank, l.Inputs(), dmid, l.Mid(p), x, 0)
	}
}

// runTasks does what is on the list, in parallel, and empties it.
func (p *pass) runTasks() {
	tasks := p.back.tasks
	p.P.Run(len(tasks), func(i int, sc *kernel.Scratch) { tasks[i].do(p.K, sc) })
	p.back.tasks = tasks[:0]
}

// Backward adds to grads the gradients of the loss whose dLoss/dlogp Score left on the tape. seqs are those of tape's
// Forward; they all have the one adapter that is trained, or none when the full parameters are. Tensors that grads does not
// have are not trained; several adapters are an error that Err returns. Rounding to bf16 counts as the identity; where weights are bf16, gradients of activations are rounded
// to bf16 before they meet them.
func (r *Runner) Backward(w *Weights, seqs []Seq, tape *Tape, grads *Grads) {
	p, err := r.newPass(w, seqs)
	if err != nil || p.rows() == 0 {
		return
	}
	if len(p.runs) > 1 {
		r.err = fmt.Errorf("model: a backward over %d adapters; train one at a time", len(p.runs))
		return
	}
	tape.attach(p)
	d := &r.back
	d.resize(w.Config, p.rows(), p.rank)
	d.tasks = d.tasks[:0]
	clear(d.dOut.Data)
	p.headGradients(&tape.score, grads)
	for l := len(p.layers) - 1; l >= 0; l-- {
		if tape.keep == keepInputs {
			p.recompute(l)
		}
		p.layerGradients(l, grads)
		d.dOut, d.dIn = d.dIn, d.dOut
	}
	if e := grads.ofEmbed(); e != nil {
		for i, s := range seqs {
			nn.EmbeddingGrad(p.K, e, d.dOut.Slice(p.start[i], p.start[i+1]), s.Tokens)
		}
	}
	grads.join()
}

// recompute fills layer l's activations again from its input.
func (p *pass) recompute(l int) {
	p.blocks(p.rows(), maxBlock, func(a, b int, sc *kernel.Scratch, _ *nn.Workspace) { p.project(l, a, b, sc) })
	p.blocks(p.rows(), maxBlock, func(a, b int, sc *kernel.Scratch, ws *nn.Workspace) {
		p.attend(l, a, b, sc, ws)
		p.mlp(l, a, b, sc)
	})
}

// layerGradients takes d.dOut to d.dIn through layer l and adds the layer's gradients.
func (p *pass) layerGradients(l int, g *Grads) {
	p.blocks(p.rows(), maxBlock, func(a, b int, sc *kernel.Scratch, _ *nn.Workspace) {
		p.mlpBackward(l, a, b, sc)
		p.attendBackward(l, a, b, sc)
	})
	kv := p.w.Config.KVHeads
	p.P.Run(len(p.seqs)*kv, func(i int, sc *kernel.Scratch) {
		ws := p.ws.Get()
		p.attentionBackward(l, i/kv, i%kv, sc, ws)
		p.ws.Put(ws)
	})
	p.blocks(p.rows(), maxBlock, func(a, b int, sc *kernel.Scratch, _ *nn.Workspace) { p.projectBackward(l, a, b, sc) })
	if ad := p.runs[0].adapter; ad != nil {
		p.loraTasks(l, ad, g)
	} else {
		p.fullTasks(l, g)
	}
	p.runTasks()
}

func (p *pass) loraTasks(l int, ad *Adapter, g *Grads) {
	s, d, lora := &p.layers[l], &p.back, ad.layers[l]
	qkv, o, gateUp, down := targets(p.w.Config, l)
	d.addLoRA(g, lora.gateUp, gateUp, d.dgateUp, s.n2, s.midGU, d.dmidGU)
	d.addLoRA(g, lora.down, down, d.dOut, s.act, s.midDown, d.dmidDown)
	d.addLoRA(g, lora.qkv, qkv, d.dqkv, s.n1, s.midQKV, d.dmidQKV)
	d.addLoRA(g, lora.o, o, d.dh, s.att, s.midO, d.dmidO)
}

func (p *pass) fullTasks(l int, g *Grads) {
	c, s, d := p.w.Config, &p.layers[l], &p.back
	qkv, o, gateUp, down := targets(c, l)
	weights := func(t target, dy, x nn.Rows) {
		col := 0
		for _, out := range t.outs {
			d.add(g.of(t.at+out.name+".weight"), out.out, t.in, dy, col, x, 0)
			p.addBias(g.of(t.at+out.name+".bias"), dy, col)
			col += out.out
		}
	}
	weights(gateUp, d.dgateUp, s.n2)
	weights(down, d.dOut, s.act)
	weights(qkv, d.dqkv, s.n1)
	weights(o, d.dh, s.att)
	at := fmt.Sprintf("model.layers.%d.", l)
	p.addNorm(g.of(at+"input_layernorm.weight"), d.dn1, s.x, s.inv1)
	p.addNorm(g.of(at+"post_attention_layernorm.weight"), d.dn2, s.h, s.inv2)
	if c.Arch.QKNorm {
		p.addHeadNorm(g.of(at+"self_attn.q_norm.weight"), s, 0, c.Heads)
		p.addHeadNorm(g.of(at+"self_attn.k_norm.weight"), s, c.Heads, c.Heads+c.KVHeads)
	}
}

// addBias puts a bias on the list: the sum of dy's columns from col on.
func (p *pass) addBias(out []float32, dy nn.Rows, col int) {
	if out == nil {
		return
	}
	p.back.tasks = append(p.back.tasks, gradTask{run: func() {
		for t := range dy.Len() {
			p.K.Add(out, dy.Row(t)[col:col+len(out)])
		}
	}})
}

// addNorm puts the weight of an RMSNorm on the list.
func (p *pass) addNorm(out []float32, dy, x nn.Rows, inv []float32) {
	if out == nil {
		return
	}
	p.back.tasks = append(p.back.tasks, gradTask{run: func() {
		tmp := make([]float32, len(out))
		for t := range dy.Len() {
			nn.RMSNormGrad(p.K, out, dy.Row(t), x.Row(t), inv[t], tmp)
		}
	}})
}

// addHeadNorm puts the weight that heads h0 to h1-1 share on the list: row by row, in a row head by head.
func (p *pass) addHeadNorm(out []float32, s *acts, h0, h1 int) {
	if out == nil {
		return
	}
	hd, d := p.w.Config.HeadDim, &p.back
	p.back.tasks = append(p.back.tasks, gradTask{run: func() {
		tmp := make([]float32, hd)
		for t := range s.qkv.Len() {
			for h := h0; h < h1; h++ {
				nn.RMSNormGrad(p.K, out, d.dNormed.Row(t)[h*hd:][:hd], s.qkv.Row(t)[h*hd:][:hd], s.invQK.Row(t)[h], tmp)
			}
		}
	}})
}

// headChunk is the number of rows whose logits' gradients are held at once: about 16 MiB of them.
func headChunk(c Config) int { return max(64, 1<<22/c.Vocab) }

// headGradients takes what Score left to d.dOut, the gradient of the last layer's output, and adds the gradients of the head
// and of the final norm.
func (p *pass) headGradients(s *score, g *Grads) {
	c, d := p.w.Config, &p.back
	chunk := headChunk(c)
	for from := 0; from < len(s.rows); from += chunk {
		rows := s.rows[from:min(from+chunk, len(s.rows))]
		d.head.resize(c, len(rows), p.rank)
		p.blocks(len(rows), min(chunk, maxBlock), func(a, b int, sc *kernel.Scratch, _ *nn.Workspace) {
			h := d.head.slice(a, b)
			p.head(h, rows[a:b], p.hidden, sc)
			for i := a; i < b; i++ {
				s.gradient(p.K, from+i, d.head.logits.Row(i))
			}
			p.headBackward(h, rows[a:b], sc)
			for i := a; i < b; i++ {
				t := rows[i]
				nn.RMSNormBackward(p.K, d.dOut.Row(t), d.head.dx.Row(i), p.last.Row(t), p.w.norm, p.invF[t])
			}
		})
		p.headTasks(rows, g)
		p.runTasks()
	}
}

// headTasks puts the gradients of the head and the final norm for one chunk of rows on the list.
func (p *pass) headTasks(rows []int, g *Grads) {
	c, d, h := p.w.Config, &p.back, &p.back.head
	if ad := p.runs[0].adapter; ad != nil {
		d.addLoRA(g, ad.head, headTarget(c), h.logits, h.x, h.mid, h.dmid)
		return
	}
	d.add(g.ofHead(), c.Vocab, c.Dim, h.logits, 0, h.x, 0)
	if out := g.of(normName); out != nil {
		d.tasks = append(d.tasks, gradTask{run: func() {
			tmp := make([]float32, len(out))
			for i, t := range rows {
				nn.RMSNormGrad(p.K, out, h.dx.Row(i), p.last.Row(t), p.invF[t], tmp)
			}
		}})
	}
}
