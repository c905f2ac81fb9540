package nn

import (
	"math"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
)

// Attention is grouped-query attention of one layer over KV pages. The caller scales queries by Scale.
//
//	for each row at pos, query head h, j = h/(Heads/KVHeads):
//	    s[i] = dot(q[h], K[j,i]) for i <= pos ;  p = exp(s - max(s))
//	    out[h] = sum over i upward of p[i]*V[j,i], times 1/sum(p)
//
// With Sinks max(s) is over Sinks[h] too, and sum(p) continues with exp(Sinks[h] - max(s)).
//
// With a window only the last positions count, the row's own included: pos-i < Window. Positions after a row's own and
// before its window add exact zeros, so that the rows computed with it do not change its bits. With bf16
// pages the products are those of package kernel: q and p are rounded for them, in the backward the factors of K and
// V, and for their gradients all four. The sum of p is float32.
type Attention struct {
	Shape PageShape
	Heads int // query heads
	Layer int
	// Window is the number of positions that a row attends to; 0 is all.
	Window int
	// Square is one over the square of the factor of queries; 0 is HeadDim.
	Square float64
	// Sinks are the scores of a key without a value that every row attends to, by query head; nil is none.
	Sinks []float32
}

// Scale is the factor of queries, 1/sqrt(HeadDim) unless Square says otherwise.
func (a Attention) Scale() float32 {
	if a.Square > 0 {
		return float32(1 / math.Sqrt(a.Square))
	}
	return float32(1 / math.Sqrt(float64(a.Shape.HeadDim)))
}

const (
	// scoreBudget limits the floats of a block's scores, so that they stay in a core's cache.
	scoreBudget = 1 << 16
	// leastRows is the number of a block's rows at any length: with fewer, tiles would be partly empty and keys be read
	// too often.
	leastRows = kernel.InputRows
)

// Forward computes KV heads from to to-1 of out [n,Heads*HeadDim] for queries q [n,Heads*HeadDim] at positions pos,
// pos+1, … of the sequence whose keys and values pages hold.
func (a Attention) Forward(k *kernel.Set, sc *kernel.Scratch, ws *Workspace, out, q Rows, pos int, pages []*Page, from,
	to int) {
	hd, group := a.Shape.HeadDim, a.Heads/a.Shape.KVHeads
	n := q.Len()
	pages, pos = a.inWindow(pages[:pagesTo(pos+n)], pos)
	step := max(leastRows, scoreBudget/(pos+n))
	for j := from; j < to; j++ {
		c := a.collect(ws, j, pages)
		at := j * group * hd
		for h := at; h < at+group*hd; h += hd {
			for b := 0; b < n; b += step {
				e := min(b+step, n)
				c.attend(k, sc, ws, out.Slice(b, e).From(h), q.Slice(b, e).From(h), pos+b, h/hd)
			}
		}
	}
}

// inWindow leaves out the pages before the window of the row at pos, and returns its position in the others.
func (a Attention) inWindow(pages []*Page, pos int) ([]*Page, int) {
	skipped := 0
	if a.Window > 0 {
		skipped = max(0, pos-a.Window+1) / kernel.PageLen
	}
	return pages[skipped:], pos - skipped*kernel.PageLen
}

// first is the first position that the row at pos attends to.
func (a Attention) first(pos int) int {
	if a.Window == 0 {
		return 0
	}
	return max(0, pos-a.Window+1)
}

// pagesTo returns the number of pages of that many positions.
func pagesTo(positions int) int { return (positions + kernel.PageLen - 1) / kernel.PageLen }

// context is the keys [positions, HeadDim] and values [HeadDim, positions] of one head, pages after each other, and
// for the backward their transposes.
type context struct {
	Attention
	keys, values   kernel.Panels
	keysT, valuesT *kernel.Panels
	dk, dv         []float32 // sums of the backward, see walk
	stride         int
	hd             int
}

// collect copies the panels of pages into the panels of two matrices.
func (a Attention) collect(ws *Workspace, head int, pages []*Page) context {
	s, np := a.Shape, len(pages)
	ws.keys, ws.values = resize(ws.keys, np*s.keys()), resize(ws.values, np*s.values())
	chunk := s.values() / s.chunks()
	for i, p := range pages {
		copy(ws.keys[i*s.keys():], s.K(p, a.Layer, head))
		for c, v := 0, s.V(p, a.Layer, head); c < s.chunks(); c++ {
			copy(ws.values[(c*np+i)*chunk:], v[c*chunk:(c+1)*chunk])
		}
	}
	n := np * kernel.PageLen
	return context{Attention: a, keys: kernel.ViewPanels(ws.keys, n, s.HeadDim, s.BF16),
		values: kernel.ViewPanels(ws.values, s.HeadDim, n, s.BF16), hd: s.HeadDim}
}

// attend computes rows of one query head: row m is at position pos+m.
func (c *context) attend(k *kernel.Set, sc *kernel.Scratch, ws *Workspace, out, q Rows, pos, head int) {
	p := c.scores(k, sc, ws, q, pos, head)
	seen := c.values.Prefix(c.width(pos + q.Len()))
	k.MatMul(sc, out.Data, out.Cols, p.Data, p.Cols, q.Len(), &seen, 0, seen.Count(), false)
	for m := range q.Len() {
		k.Scale(out.Data[m*out.Cols:][:c.hd], ws.inv[m])
	}
}

// width returns the columns of the scores of rows before a position: whole pages. No row uses the keys after it.
func (c *context) width(positions int) int { return pagesTo(positions) * kernel.PageLen }

// scores returns exp(s - max(s)) [M,positions], zero before each row's window and after its position up to the block's
// width, and writes one over the sum to ws.inv [M].
func (c *context) scores(k *kernel.Set, sc *kernel.Scratch, ws *Workspace, q Rows, pos, head int) Rows {
	M := q.Len()
	p := ws.scoresOf(M, c.keys.N)
	width := c.width(pos + M)
	k.MatMul(sc, p.Data, p.Cols, q.Data, q.Cols, M, &c.keys, 0, width/kernel.PageLen, false)
	for m := range M {
		c.softmax(k, ws, m, p.Row(m)[:width], pos+m, head)
	}
	return p
}

// scoresOf allocates the scores of M rows, ws.inv and ws.sunk.
func (ws *Workspace) scoresOf(M, positions int) Rows {
	ws.scores, ws.inv, ws.sunk = resize(ws.scores, M*positions), resize(ws.inv, M), resize(ws.sunk, M)
	return Rows{ws.scores, positions}
}

// softmax replaces the scores of the positions that row m, at pos, attends to by exp(s - max(s)) and the others, which
// are masked, by zero. It writes one over the sum to ws.inv, and the sink's part of the sum to ws.sunk.
func (a Attention) softmax(k *kernel.Set, ws *Workspace, m int, row []float32, pos, head int) {
	first := a.first(pos)
	counted, sink := row[first:pos+1], ws.sunk[m:m+1]
	top := k.Max(counted)
	if a.Sinks != nil {
		top = max(top, a.Sinks[head])
	}
	sum := k.ExpSum(counted, counted, top)
	if a.Sinks != nil {
		sum += k.ExpSum(sink, a.Sinks[head:head+1], top)
	}
	ws.inv[m] = 1 / sum
	clear(row[:first])
	clear(row[pos+1:])
}
