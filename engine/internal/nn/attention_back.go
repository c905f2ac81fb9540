package nn

import "github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"

// backwardRows is the number of query rows whose scores the backward holds at once. It changes no bit.
const backwardRows = 128

// Stretch is consecutive rows of one sequence: rows From to To-1 of a pass, at positions Pos, Pos+1, …. Pages hold the
// keys and values of its positions and of those before them.
type Stretch struct {
	From, To, Pos int
	Pages         []*Page
	Next          []int // the stretches that continue it, which are later ones

	Memory *Memory // of a Delta, or nil; then the stretch continues another or is the beginning of its sequence
	Layer  int     // in Memory
}

// AttentionRows are what a backward reads and writes, for all rows of a pass. Q is Forward's input and Out its output,
// Dout the gradient of Out, each [T,Heads*HeadDim]. DQKV [T,·] has the columns of all query heads, all key heads and
// all value heads. DSinks [T,Heads] has each row's part of the gradients of Sinks.
type AttentionRows struct{ DQKV, Dout, Out, Q, DSinks Rows }

// Backward computes the gradients of one KV head of a tree of stretches, whose root is all[root]: of the unscaled
// queries of its group, of its keys and of its values. A key's and a value's gradient is one sum over the query rows
// that attend to it: its own stretch's, then those of the stretches that continue it, in a walk of the tree that
// enters a stretch before those that continue it. Within a stretch it runs over the group's heads, and within a head
// over query rows upward. Keys and values before the root are constants.
func (a Attention) Backward(k *kernel.Set, sc *kernel.Scratch, ws *Workspace, rows AttentionRows, all []Stretch, root,
	head int) {
	w := walk{Attention: a, AttentionRows: rows, on: Products{K: k, SC: sc}, ws: ws, all: all, head: head}
	w.stride = pagesTo(w.end(root)) * kernel.PageLen
	ws.dk, ws.dv = resize(ws.dk, w.stride*a.Shape.HeadDim), resize(ws.dv, w.stride*a.Shape.HeadDim)
	w.clear(0, all[root].Pos)
	w.visit(root)
}

// walk is a walk over a tree of stretches. The sums of keys and values of the stretches from the root to the one that
// is visited are in ws.dk and ws.dv: [stride,HeadDim] or, with bf16, their transpose.
type walk struct {
	Attention
	AttentionRows
	on     Products
	ws     *Workspace
	all    []Stretch
	head   int
	stride int // positions
}

// end is the number of positions of the longest path from a stretch on.
func (w *walk) end(i int) int {
	s := &w.all[i]
	n := s.Pos + s.To - s.From
	for _, next := range s.Next {
		n = max(n, w.end(next))
	}
	return n
}

// visit begins the sums of a stretch, adds what its rows and those after it give, and stores them. A stretch without
// rows is not continued.
func (w *walk) visit(i int) {
	s := &w.all[i]
	if s.From == s.To {
		return
	}
	w.clear(s.Pos, s.Pos+s.To-s.From)
	w.queries(s)
	for _, next := range s.Next {
		w.visit(next)
	}
	w.store(s)
}

// queries computes dq of a stretch's rows and adds what they give to keys and values.
func (w *walk) queries(s *Stretch) {
	k, hd, group := w.on.K, w.Shape.HeadDim, w.Heads/w.Shape.KVHeads
	n := s.To - s.From
	pages, pos := w.inWindow(s.Pages[:pagesTo(s.Pos+n)], s.Pos)
	c := w.collect(w.ws, w.head, pages)
	c.keysT = k.TransposePart(&w.ws.keysT, &c.keys, 0, c.keys.N, 0, hd)
	c.valuesT = k.TransposePart(&w.ws.valuesT, &c.values, 0, hd, 0, c.values.K)
	c.sums(w, s.Pos-pos)
	for h := w.head * group; h < (w.head+1)*group; h++ {
		for b := 0; b < n; b += backwardRows {
			e := min(b+backwardRows, n)
			of := func(r Rows) Rows { return r.Slice(s.From+b, s.From+e).From(h * hd) }
			c.backward(w.on, w.ws, of(w.DQKV), of(w.Dout), of(w.Out), of(w.Q), pos+b, h)
			if w.Sinks != nil {
				w.sinks(s.From+b, s.From+e, h)
			}
		}
	}
}

// sinks writes the gradients of a head's sink for rows a to b-1, after backward: -p*dot(dout,out), since a sink has no
// value.
func (w *walk) sinks(a, b, head int) {
	hd := w.Shape.HeadDim
	for t := a; t < b; t++ {
		d := w.on.K.Dot(w.Dout.Row(t)[head*hd:][:hd], w.Out.Row(t)[head*hd:][:hd])
		w.DSinks.Row(t)[head] = float32(-w.ws.sunk[t-a]*w.ws.inv[t-a]) * d
	}
}

// sums points c at the walk's sums from position first on.
func (c *context) sums(w *walk, first int) {
	c.stride = w.stride
	if !w.Shape.BF16 {
		first *= c.hd
	}
	c.dk, c.dv = w.ws.dk[first:], w.ws.dv[first:]
}

// clear sets the sums of positions from to to-1 to zero.
func (w *walk) clear(from, to int) {
	hd := w.Shape.HeadDim
	for _, sums := range [][]float32{w.ws.dk, w.ws.dv} {
		if !w.Shape.BF16 {
			clear(sums[from*hd : to*hd])
			continue
		}
		for d := range hd {
			clear(sums[d*w.stride+from : d*w.stride+to])
		}
	}
}

// store writes the sums of a stretch into DQKV.
func (w *walk) store(s *Stretch) {
	hd, n := w.Shape.HeadDim, s.To-s.From
	kAt := (w.Heads + w.head) * hd
	vAt := kAt + w.Shape.KVHeads*hd
	if w.Shape.BF16 {
		to := w.DQKV.Slice(s.From, s.To)
		w.on.K.Transpose(w.on.SC, to.Data[kAt:], to.Cols, w.ws.dk[s.Pos:], w.stride, hd, n)
		w.on.K.Transpose(w.on.SC, to.Data[vAt:], to.Cols, w.ws.dv[s.Pos:], w.stride, hd, n)
		return
	}
	for t := range n {
		row := w.DQKV.Row(s.From + t)
		copy(row[kAt:kAt+hd], w.ws.dk[(s.Pos+t)*hd:])
		copy(row[vAt:vAt+hd], w.ws.dv[(s.Pos+t)*hd:])
	}
}

// backward computes the query rows of one block and head: it writes dq and continues dk and dv.
func (c *context) backward(on Products, ws *Workspace, dq, dout, out, q Rows, pos, head int) {
	k, M, hd := on.K, q.Len(), c.hd
	p := c.scores(k, on.SC, ws, q, pos, head)
	ds := Rows{resize(ws.grads, M*p.Cols), p.Cols}
	ws.grads = ds.Data
	width, bf16 := c.width(pos+M), c.keys.BF16
	// dp = dout·Vᵀ
	k.Multiply(on.SC, ds.Data, ds.Cols, on.Pack(0, dout, hd, bf16), 0, M, c.valuesT, 0, width/kernel.PageLen, false,
		nil)
	for m := range M { // p = exp*inv ; ds = p*(dp - dot(dout,out))
		p, ds := p.Row(m)[:width], ds.Row(m)[:width]
		k.Scale(p, ws.inv[m])
		d := k.Dot(dout.Data[m*dout.Cols:][:hd], out.Data[m*out.Cols:][:hd])
		k.Mul(ds, p, ds)
		k.AXPY(ds, -d, p)
	}
	keys := c.keysT.Prefix(width)
	k.Multiply(on.SC, dq.Data, dq.Cols, on.Pack(0, ds, width, bf16), 0, M, &keys, 0, keys.Count(), false, nil)
	for m := range M {
		k.Scale(dq.Data[m*dq.Cols:][:hd], c.Scale())
	}
	seen := pos + M // no row uses the keys after it
	c.gradient(on, c.dk, ds, q, seen)
	c.gradient(on, c.dv, p, dout, seen)
}

// gradient continues sums, dk or dv of the first seen positions, with sᵀ·x: float32 sums over rows [positions,hd] or,
// with bf16, their transpose [hd,positions] by products.
func (c *context) gradient(on Products, sums []float32, s, x Rows, seen int) {
	k, sc, M := on.K, on.SC, s.Len()
	if !c.keys.BF16 {
		k.GradW(sc, sums, c.hd, s.Data, s.Cols, x.Data, x.Cols, M, 0, seen, c.hd)
		return
	}
	rows, in := kernel.Stretches{0, M}, sc.Input(0)
	k.PackColumns(sc, in, x.Data, x.Cols, c.hd, rows)
	w := k.PairRows(sc.Transposed(), s.Data, s.Cols, rows, 0, seen)
	k.Multiply(sc, sums, c.stride, in, 0, c.hd, w, 0, w.Count(), true, nil)
}
