package nn

import "github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"

// ShortConv is the gated short convolution that stands for attention in some layers of LFM2 (Hugging Face transformers
// 5.24, models/lfm2/modular_lfm2.py). Each row has a gate b, a gate c and x, and gives, channel by channel,
//
//	y[t] = c[t]*(sum over s < Taps of w[Taps-1-s]*u[t-s]) ;  u[t] = b[t]*x[t]
//
// from the oldest position on; u is nothing before the first. Each page of a sequence keeps the u of its last Taps-1
// positions so far, so a page remains a function of the tokens up to its end, and is shared, copied and evicted with
// its keys and values.
type ShortConv struct{ Dim, Taps int }

// ConvRows are what a ShortConv reads and writes, for all rows of a pass: In [T,3*Dim] is b, c and x, and Y [T,Dim] the
// result.
type ConvRows struct{ In, Y Rows }

// ConvGrads are what the backward reads and writes besides: DY is the gradient of Y, DIn receives that of In, and DConv
// [T,Dim] that of the sum.
type ConvGrads struct{ DY, DIn, DConv Rows }

// tails is the length of what a page keeps of its positions for convolutions.
func (s PageShape) tails() int { return s.Convs * (s.Conv.Taps - 1) * s.Conv.Dim }

// tail is the place of position pos in its page, for one convolution. The position Taps-1 later has the same one.
func (s PageShape) tail(pages []*Page, pos, layer int) []float32 {
	n := s.Conv.Taps - 1
	at := s.Floats() - s.tails() + (layer*n+pos%kernel.PageLen%n)*s.Conv.Dim
	return pages[pos/kernel.PageLen].Data[at:][:s.Conv.Dim]
}

// convPart is channels from to to-1 of the work on one convolution, and its memory.
type convPart struct {
	ShortConv
	ConvRows
	k        *kernel.Set
	ws       *Workspace
	w        []float32 // [Taps,Dim]
	prev     []int     // of each row: the one of the position before, -1 for none
	from, to int
}

// part prepares the work on some channels.
func (c ShortConv) part(k *kernel.Set, ws *Workspace, w []float32, rows ConvRows, prev []int, from, to int) convPart {
	ws.conv = resize(ws.conv, (c.Taps+1)*(to-from))
	return convPart{c, rows, k, ws, w, prev, from, to}
}

// kept is the memory of u at a position, until the one Taps later.
func (p *convPart) kept(pos int) []float32 {
	n := p.to - p.from
	return p.ws.conv[pos%p.Taps*n:][:n]
}

// input writes u of row t to out.
func (p *convPart) input(out []float32, t int) {
	row := p.In.Row(t)
	p.k.Mul(out, row[p.from:p.to], row[2*p.Dim+p.from:2*p.Dim+p.to])
}

// Forward computes channels from to to-1 of a stretch, and keeps what its pages need. prev is, for each row, that of
// the position before, or -1: then the stretch begins its sequence, or the pages have the positions before it.
func (c ShortConv) Forward(k *kernel.Set, ws *Workspace, w []float32, rows ConvRows, shape PageShape, s Stretch,
	prev []int, from, to int) {
	p := c.part(k, ws, w, rows, prev, from, to)
	first := s.Pos - s.Pos%kernel.PageLen
	row := s.From
	for pos := s.Pos - 1; pos >= max(0, s.Pos-c.Taps+1); pos-- {
		if row = prev[row]; row < 0 {
			for ; pos >= max(0, s.Pos-c.Taps+1); pos-- {
				copy(p.kept(pos), shape.tail(s.Pages, pos, s.Layer)[from:to])
			}
			break
		}
		p.input(p.kept(pos), row)
	}
	keep := func(pos int) {
		if c.Taps > 1 {
			copy(shape.tail(s.Pages, pos, s.Layer)[from:to], p.kept(pos))
		}
	}
	for pos := max(first, s.Pos-c.Taps+1); pos < s.Pos; pos++ {
		keep(pos)
	}
	for t := s.From; t < s.To; t++ {
		pos := s.Pos + t - s.From
		p.input(p.kept(pos), t)
		out := rows.Y.Row(t)[from:to]
		p.sum(out, pos)
		k.Mul(out, out, rows.In.Row(t)[c.Dim+from:c.Dim+to])
		if s.To-t < c.Taps || kernel.PageLen-pos%kernel.PageLen < c.Taps {
			keep(pos)
		}
	}
}

// sum writes the convolution at a position to out.
func (p *convPart) sum(out []float32, pos int) {
	n := p.to - p.from
	tmp := p.ws.conv[p.Taps*n:][:n]
	oldest := min(pos, p.Taps-1)
	for s := oldest; s >= 0; s-- {
		w := p.w[(p.Taps-1-s)*p.Dim+p.from:][:n]
		if s == oldest {
			p.k.Mul(out, p.kept(pos-s), w)
			continue
		}
		p.k.Mul(tmp, p.kept(pos-s), w)
		p.k.Add(out, tmp)
	}
}

// Backward computes channels from to to-1 of a tree of stretches, whose root is all[root] and begins its sequence.
func (c ShortConv) Backward(k *kernel.Set, ws *Workspace, w []float32, rows ConvRows, g ConvGrads, all []Stretch,
	prev []int, root, from, to int) {
	p := c.part(k, ws, w, rows, prev, from, to)
	p.each(all, root, func(t int) { clear(g.DIn.Row(t)[2*c.Dim+from : 2*c.Dim+to]) })
	p.each(all, root, func(t int) { p.spread(g, t) })
	p.each(all, root, func(t int) {
		in, d := rows.In.Row(t), g.DIn.Row(t)
		du := d[2*c.Dim+from : 2*c.Dim+to]
		k.Mul(d[from:to], du, in[2*c.Dim+from:2*c.Dim+to])
		k.Mul(du, du, in[from:to])
	})
}

// each calls f for the rows of a stretch and of those that continue it.
func (p *convPart) each(all []Stretch, i int, f func(t int)) {
	for t := all[i].From; t < all[i].To; t++ {
		f(t)
	}
	for _, next := range all[i].Next {
		p.each(all, next, f)
	}
}

// spread computes the gradients of row t's sum and of its gate c, and adds to those of u, in the place of x's.
func (p *convPart) spread(g ConvGrads, t int) {
	n := p.to - p.from
	sum, tmp := g.DConv.Row(t)[p.from:p.to], p.ws.conv[p.Taps*n:][:n]
	pos := 0
	for at := t; at >= 0 && pos < p.Taps; at = p.prev[at] {
		pos++
	}
	for s, at := 0, t; s < pos; s, at = s+1, p.prev[at] {
		p.input(p.kept(pos-1-s), at)
	}
	p.sum(sum, pos-1)
	dy, in, d := g.DY.Row(t)[p.from:p.to], p.In.Row(t), g.DIn.Row(t)
	p.k.Mul(d[p.Dim+p.from:p.Dim+p.to], dy, sum)
	p.k.Mul(sum, dy, in[p.Dim+p.from:p.Dim+p.to])
	for s, at := 0, t; s < pos; s, at = s+1, p.prev[at] {
		p.k.Mul(tmp, sum, p.w[(p.Taps-1-s)*p.Dim+p.from:][:n])
		p.k.Add(g.DIn.Row(at)[2*p.Dim+p.from:2*p.Dim+p.to], tmp)
	}
}

// Grad adds the gradient of the weights [Dim,1,Taps] to dw, row by row.
func (c ShortConv) Grad(dw []float32, rows ConvRows, g ConvGrads, prev []int) {
	for t := range rows.In.Len() {
		dy := g.DConv.Row(t)
		for s, at := 0, t; s < c.Taps && at >= 0; s, at = s+1, prev[at] {
			in := rows.In.Row(at)
			for i, d := range dy[:c.Dim] {
				u := float32(in[i] * in[2*c.Dim+i])
				dw[i*c.Taps+c.Taps-1-s] += float32(d * u)
			}
		}
	}
}
