package model

import (
	"fmt"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// gradTask continues rows n0 to n1-1 of one weight's gradient: out[n,k] with dy[t,dyCol+n]*x[t,xCol+k], t upward. If
// run is set, it is called instead.
type gradTask struct {
	out         []float32
	K           int
	dy, x       nn.Rows
	dyCol, xCol int
	n0, n1      int
	run         func(k *kernel.Set, sc *kernel.Scratch)
}

func (g gradTask) do(k *kernel.Set, sc *kernel.Scratch) {
	if g.run != nil {
		g.run(k, sc)
		return
	}
	k.GradW(sc, g.out, g.K, g.dy.Data[g.dyCol:], g.dy.Cols, g.x.Data[g.xCol:], g.x.Cols, g.dy.Len(), g.n0, g.n1, g.K)
}

// taskRows is the number of a gradient's rows in one task.
const taskRows = 64

// add puts the gradient out [N,K] of one weight on the list, in tasks of taskRows rows. A nil out is a weight that is
// not trained.
func (d *backBuffers) add(out []float32, N, K int, dy nn.Rows, dyCol int, x nn.Rows, xCol int) {
	if out == nil || dy.Len() == 0 {
		return
	}
	parts := (N + taskRows - 1) / taskRows
	for i := range parts {
		d.tasks = append(d.tasks, gradTask{out: out, K: K, dy: dy, x: x, dyCol: dyCol, xCol: xCol, n0: i * N / parts,
			n1: (i + 1) * N / parts})
	}
}

// addLoRA puts A and B of an addition on the list. rows are the sequences of dy, x, mid and dmid.
func (d *backBuffers) addLoRA(g *Grads, l *nn.LoRA, t target, dy, x, mid, dmid nn.Rows, rows kernel.Stretches) {
	if l == nil {
		return
	}
	if l.BF16() {
		d.addFactors(g, l, t, dy, x, mid, dmid, rows)
		return
	}
	for p := range t.outs {
		d.add(g.of(t.b(p).name), l.Outputs(p), l.Rank, dy, l.Cols[p], mid, l.Mid(p))
		d.add(g.of(t.a(p).name), l.Rank, l.Inputs(), dmid, l.Mid(p), x, 0)
	}
}

// taskCols is the number of columns of dy or x in one task of a product.
const taskCols = 256

// addFactors is addLoRA with bf16 weights.
func (d *backBuffers) addFactors(g *Grads, l *nn.LoRA, t target, dy, x, mid, dmid nn.Rows, rows kernel.Stretches) {
	var dA [][]float32
	var factors []*nn.Factors
	each := func(n int, f func(k *kernel.Set, sc *kernel.Scratch, a, b int)) {
		for a := 0; a < n; a += taskCols {
			d.tasks = append(d.tasks, gradTask{run: func(k *kernel.Set,
				sc *kernel.Scratch) {
				f(k, sc, a, min(a+taskCols, n))
			}})
		}
	}
	for p := range t.outs {
		f, dB := d.factor(), g.of(t.b(p).name)
		factors, dA = append(factors, f), append(dA, g.of(t.a(p).name))
		d.layouts = append(d.layouts, func(k *kernel.Set, sc *kernel.Scratch) {
			f.Pack(k, sc, mid.From(l.Mid(p)), dmid.From(l.Mid(p)), l.Rank, rows)
		})
		if dB != nil {
			each(l.Outputs(p), func(k *kernel.Set, sc *kernel.Scratch, a,
				b int) {
				f.GradB(k, sc, dB, dy.From(l.Cols[p]), rows, a, b)
			})
		}
	}
	each(l.Inputs(), func(k *kernel.Set, sc *kernel.Scratch, a, b int) { nn.GradA(k, sc, dA, factors, x, rows, a, b) })
}

// factor returns factors that no other task on the list uses.
func (d *backBuffers) factor() *nn.Factors {
	if len(d.layouts) == len(d.factors) {
		d.factors = append(d.factors, &nn.Factors{})
	}
	return d.factors[len(d.layouts)]
}

// runTasks runs the tasks on the list in parallel and empties it. It yields between that many parts of the list.
func (p *pass) runTasks(parts int) {
	d := &p.back
	p.P.Run(len(d.layouts), func(i int, sc *kernel.Scratch) { d.layouts[i](p.K, sc) })
	n := len(d.tasks)
	for i := 0; i < parts && (i == 0 || p.between()); i++ {
		tasks := d.tasks[i*n/parts : (i+1)*n/parts]
		p.P.Run(len(tasks), func(i int, sc *kernel.Scratch) { tasks[i].do(p.K, sc) })
	}
	clear(d.tasks)
	clear(d.layouts)
	d.tasks, d.layouts = d.tasks[:0], d.layouts[:0]
}

// starts returns where the sequences of rows a to b-1 begin among them, and their end.
func (p *pass) starts(a, b int) kernel.Stretches {
	rows := kernel.Stretches{0}
	p.eachSeq(a, b, func(_ int, _ Seq, _, to int) { rows = append(rows, to-a) })
	return rows
}

// loraTasks puts the gradients of one stretch's adapter in layer l on the list.
func (p *pass) loraTasks(l int, u segment) {
	s, d, g, lora := &p.layers[l], &p.back, u.grads, u.adapter.layers[l]
	list := targets(p.w.Config, l)
	rows := func(r nn.Rows) nn.Rows { return r.Slice(u.a, u.b) }
	seqs := p.starts(u.a, u.b)
	add := func(l *nn.LoRA, t target, dy, x, mid, dmid nn.Rows) {
		d.addLoRA(g, l, t.of(u.adapter.modules), rows(dy), rows(x), rows(mid), rows(dmid), seqs)
	}
	if !p.w.Config.sparse(l) {
		add(lora.gateUp(0), list[2], d.dgateUp, s.n2, s.midGU, d.dmidGU)
		add(lora.down(0), list[3], p.dDown(), s.act, s.midDown, d.dmidDown)
	}
	add(lora.qkv(), list[0], p.dMixed(l), s.n1, s.midQKV, d.dmidQKV)
	add(lora.o(), list[1], p.dO(), p.answered(l), s.midO, d.dmidO)
}

// dO and dDown are the gradients of what the linears o and down give.
func (p *pass) dO() nn.Rows    { return p.added(p.back.do, p.back.dh) }
func (p *pass) dDown() nn.Rows { return p.added(p.back.dmlp, p.back.dOut) }

// added is the gradient of what a linear gives: dy if that is changed before it is added, or that of the sum.
func (p *pass) added(dy, dout nn.Rows) nn.Rows {
	if p.w.Config.changesSums() {
		return dy
	}
	return dout
}

func (p *pass) fullTasks(l int, g *Grads) {
	c, s, d := p.w.Config, &p.layers[l], &p.back
	at, list := fmt.Sprintf("model.layers.%d.", l), targets(c, l)
	list[0].outs = storedInputs(c, l)
	if c.sparse(l) {
		d.add(g.of(at+c.routerName()+".weight"), c.Experts.Experts, c.Dim, d.drouter, 0, s.n2, 0)
		d.addBias(g.of(at+c.routerName()+".bias"), d.drouter, 0)
	} else {
		d.addMatrix(g, list[2], d.dgateUp, s.n2)
		d.addMatrix(g, list[3], p.dDown(), s.act)
	}
	d.addMatrix(g, list[0], p.dMixed(l), s.n1)
	d.addMatrix(g, list[1], p.dO(), p.answered(l))
	d.addBias(g.of(at+sinksName), d.dsinks, 0)
	attn, afterAttn, mlp, afterMLP := c.normNames()
	d.addNorm(g.of(at+attn), d.dn1, s.x, s.inv1)
	d.addNorm(g.of(at+mlp), d.dn2, s.h, s.inv2)
	if afterAttn != "" {
		d.addNorm(g.of(at+afterAttn), d.dh, s.o, s.invO)
		d.addNorm(g.of(at+afterMLP), d.dOut, s.mlp, s.invMLP)
	}
	switch {
	case c.linear(l) && c.Arch.Conv:
		recurrent{p}.convTask(l, g.of(at+convName))
	case c.linear(l):
		recurrent{p}.deltaTasks(l, g)
	case c.Arch.QKNorm:
		query, key := c.headNorms()
		p.addHeadNorm(g.of(at+query), s, 0, c.Heads)
		p.addHeadNorm(g.of(at+key), s, c.Heads, c.Heads+c.KVHeads)
	}
}

// addMatrix puts the matrices of a linear and their biases on the list.
func (d *backBuffers) addMatrix(g *Grads, t target, dy, x nn.Rows) {
	col := 0
	for _, out := range t.outs {
		d.add(g.of(t.at+out.name+".weight"), out.out, t.in, dy, col, x, 0)
		d.addBias(g.of(t.at+out.name+".bias"), dy, col)
		col += out.out
	}
}

// addBias puts a bias on the list: the sum of dy's columns from col on.
func (d *backBuffers) addBias(out []float32, dy nn.Rows, col int) {
	if out == nil {
		return
	}
	d.tasks = append(d.tasks, gradTask{run: func(k *kernel.Set, _ *kernel.Scratch) {
		for t := range dy.Len() {
			k.Add(out, dy.Row(t)[col:col+len(out)])
		}
	}})
}

// addNorm puts the weight of an RMSNorm on the list.
func (d *backBuffers) addNorm(out []float32, dy, x nn.Rows, inv []float32) {
	if out == nil {
		return
	}
	d.tasks = append(d.tasks, gradTask{run: func(k *kernel.Set, _ *kernel.Scratch) {
		tmp := make([]float32, len(out))
		for t := range dy.Len() {
			nn.RMSNormGrad(k, out, dy.Row(t), x.Row(t), inv[t], tmp)
		}
	}})
}

// addHeadNorm puts the weight that heads h0 to h1-1 share on the list: row by row, in a row head by head.
func (p *pass) addHeadNorm(out []float32, s *acts, h0, h1 int) {
	if out == nil {
		return
	}
	hd, d := p.w.Config.HeadDim, &p.back
	p.back.tasks = append(p.back.tasks, gradTask{run: func(*kernel.Set, *kernel.Scratch) {
		tmp := make([]float32, hd)
		for t := range s.qkv.Len() {
			for h := h0; h < h1; h++ {
				x := s.qkv.Row(t)[p.w.Config.headAt(h):][:hd]
				nn.RMSNormGrad(p.K, out, d.dNormed.Row(t)[h*hd:][:hd], x, s.invQK.Row(t)[h], tmp)
			}
		}
	}})
}

// headTasks puts the gradients of the head and the final norm for one chunk of rows, upward, on the list.
func (p scoring) headTasks(rows []int) {
	c, d, h := p.w.Config, &p.back, &p.back.head
	for _, u := range p.segments {
		a, _ := slices.BinarySearch(rows, u.a)
		b, _ := slices.BinarySearch(rows, u.b)
		if u.grads == nil || a == b {
			continue
		}
		if u.adapter != nil {
			d.addLoRA(u.grads, u.adapter.head, headTarget(c), h.logits.Slice(a, b), h.x.Slice(a, b), h.mid.Slice(a, b),
				h.dmid.Slice(a, b), p.stretchesOf(rows[a:b]))
			continue
		}
		d.add(u.grads.ofHead(), c.Vocab, c.Dim, h.logits, 0, h.x, 0)
		if out := u.grads.of(c.finalNorm()); out != nil {
			d.tasks = append(d.tasks, gradTask{run: func(*kernel.Set, *kernel.Scratch) {
				tmp := make([]float32, len(out))
				for i, t := range rows {
					nn.RMSNormGrad(p.K, out, h.dx.Row(i), p.last.Row(t), p.invF[t], tmp)
				}
			}})
		}
	}
}
