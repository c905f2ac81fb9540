package nn

import (
	"math"

	"github.com/seed-d9ad8ee0/trinity/internal/kernel"
)

// Attention is grouped-query attention of one layer over KV pages. Queries come scaled by 1/sqrt(HeadDim).
//
//	for each row at pos, query head h, j = h/(Heads/KVHeads):
//	    s[i] = dot(q[h], K[j,i]) for i <= pos ;  p = exp(s - max(s))
//	    out[h] = sum over i upward of p[i]*V[j,i], times 1/sum(p)
//
// A row walks the pages up to its own position and no further; places behind its position in its last page add exact zeros.
type Attention struct {
	Shape PageShape
	Heads int // query heads
	Layer int
}

// Scale is the factor queries carry.
func (a Attention) Scale() float32 { return float32(1 / math.Sqrt(float64(a.Shape.HeadDim))) }

// scoreBudget bounds the floats of a block's scores, so that they stay in a core's cache.
const scoreBudget = 1 << 16

// Forward computes out [n,Heads*HeadDim] for queries q [n,Heads*HeadDim] at positions pos, pos+1, … of the sequence whose
// keys and values pages hold.
func (a Attention) Forward(k *kernel.Set, sc *kernel.Scratch, ws *Workspace, out, q Rows, pos int, pages []*Page) {
	hd, group := a.Shape.HeadDim, a.Heads/a.Shape.KVHeads
	n := q.Len()
	if n == 1 { // the heads of a group are the rows
		for j := range a.Shape.KVHeads {
			at := j * group * hd
			a.block(k, sc, ws, out.Data[at:], hd, q.Data[at:], hd, group, pos, 0, j, pages)
		}
		return
	}
	step := max(8, scoreBudget/(pos+n))
	for h := range a.Heads {
		for b := 0; b < n; b += step {
			m := min(step, n-b)
			at := b*q.Cols + h*hd
			a.block(k, sc, ws, out.Data[at:], out.Cols, q.Data[at:], q.Cols, m, pos+b, 1, h/group, pages)
		}
	}
}

// block computes M rows of one KV head: row m is at position pos+m*step, with query q[m*ldq:] and output out[m*ldo:].
func (a Attention) block(k *kernel.Set, sc *kernel.Scratch, ws *Workspace, out []float32, ldo int, q []float32, ldq, M, pos, step, head int, pages []*Page) {
	hd, wide := a.Shape.HeadDim, a.Shape.padded()
	ld := a.scores(k, sc, ws, q, ldq, M, pos, step, head, pages)
	ws.out = resize(ws.out, M*wide)
	for p := range ld / kernel.PageLen {
		m := firstRow(p, pos)
		v := a.Shape.V(pages[p], a.Layer, head)
		for c := range a.Shape.chunks() {
			k.Tile(sc, ws.out[m*wide+c*kernel.NR:], wide, ws.scores[m*ld+p*kernel.PageLen:], ld, 1, M-m,
				v[c*kernel.PageLen*kernel.NR:], kernel.PageLen, p > 0)
		}
	}
	for m := range M {
		row := ws.out[m*wide:][:hd]
		k.Scale(row, ws.inv[m])
		copy(out[m*ldo:], row)
	}
}

// scores fills ws.scores [M,ld] with exp(s - max(s)), zero behind each row's position up to the end of its page, and ws.inv
// [M] with one over the sum. Places in pages behind a row's are not written.
func (a Attention) scores(k *kernel.Set, sc *kernel.Scratch, ws *Workspace, q []float32, ldq, M, pos, step, head int, pages []*Page) (ld int) {
	ld = ((pos+(M-1)*step)/kernel.PageLen + 1) * kernel.PageLen
	ws.scores, ws.inv = resize(ws.scores, M*ld), resize(ws.inv, M)
	for p := range ld / kernel.PageLen {
		m := firstRow(p, pos)
		k.Tile(sc, ws.scores[m*ld+p*kernel.PageLen:], ld, q[m*ldq:], ldq, 1, M-m,
			a.Shape.K(pages[p], a.Layer, head), a.Shape.HeadDim, false)
	}
	for m := range M {
		seen := pos + m*step + 1
		row := ws.scores[m*ld:][:seen]
		ws.inv[m] = 1 / k.ExpSum(row, row, k.Max(row))
		end := (seen + kernel.PageLen - 1) / kernel.PageLen * kernel.PageLen
		clear(ws.scores[m*ld+seen : m*ld+end])
	}
	return ld
}

// firstRow returns the first of the rows at pos, pos+1, … that sees page p. (Rows that are all at pos see every page up to
// their own.)
func firstRow(p, pos int) int { return max(0, p*kernel.PageLen-pos) }

// backwardRows is the number of query rows whose scores the backward holds at once. It has no influence on bits.
const backwardRows = 128

// Backward computes the gradients of one KV head of one whole sequence: dq of its group's query heads (of the unscaled
// queries), dk and dv, under dout. q and out are what Forward got and gave, dout and out [n,Heads*HeadDim], and dqkv
// [n,·] has the columns of all query heads, of all key heads and of all value heads. Keys and values before pos are taken as
// constants. Sums run over the group's heads and inside a head over query rows upward.
func (a Attention) Backward(k *kernel.Set, sc *kernel.Scratch, ws *Workspace, dqkv, dout, out, q Rows, pos, head int, pages []*Page) {
	hd, wide := a.Shape.HeadDim, a.Shape.padded()
	group := a.Heads / a.Shape.KVHeads
	n := q.Len()
	np := (pos+n-1)/kernel.PageLen + 1
	a.transpose(ws, head, pages[:np])
	ws.dk, ws.dv = resize(ws.dk, np*kernel.PageLen*wide), resize(ws.dv, np*kernel.PageLen*wide)
	clear(ws.dk)
	clear(ws.dv)
	for h := head * group; h < (head+1)*group; h++ {
		for b := 0; b < n; b += backwardRows {
			m := min(backwardRows, n-b)
			a.backwardBlock(k, sc, ws, dqkv.Slice(b, b+m), dout.Slice(b, b+m), out.Slice(b, b+m), q.Slice(b, b+m), pos+b, h, pages)
		}
	}
	kAt := (a.Heads + head) * hd
	vAt := kAt + a.Shape.KVHeads*hd
	for t := range n {
		row := dqkv.Row(t)
		copy(row[kAt:kAt+hd], ws.dk[(pos+t)*wide:])
		copy(row[vAt:vAt+hd], ws.dv[(pos+t)*wide:])
	}
}

// backwardBlock does the query rows of one block and head h: it writes dq and continues ws.dk and ws.dv.
func (a Attention) backwardBlock(k *kernel.Set, sc *kernel.Scratch, ws *Workspace, dqkv, dout, out, q Rows, pos, h int, pages []*Page) {
	hd, wide, M := a.Shape.HeadDim, a.Shape.padded(), q.Len()
	at := h * hd
	ld := a.scores(k, sc, ws, q.Data[at:], q.Cols, M, pos, 1, h*a.Shape.KVHeads/a.Heads, pages)
	ws.grads = resize(ws.grads, M*ld)
	for p := range ld / kernel.PageLen { // dp = dout·Vᵀ
		m := firstRow(p, pos)
		k.Tile(sc, ws.grads[m*ld+p*kernel.PageLen:], ld, dout.Data[m*dout.Cols+at:], dout.Cols, 1, M-m,
			ws.vt[p*hd*kernel.NR:], hd, false)
	}
	for m := range M { // p = exp*inv ; ds = p*(dp - dot(dout,out))
		end := ((pos+m)/kernel.PageLen + 1) * kernel.PageLen
		p, ds := ws.scores[m*ld:][:end], ws.grads[m*ld:][:end]
		k.Scale(p, ws.inv[m])
		d := k.Dot(dout.Row(m)[at:at+hd], out.Row(m)[at:at+hd])
		k.Mul(ds, p, ds)
		k.AXPY(ds, -d, p)
	}
	a.pack(ws, dout, q, at)
	ws.dq = resize(ws.dq, M*wide)
	for p := range ld / kernel.PageLen {
		m := firstRow(p, pos)
		ds, pr := ws.grads[m*ld+p*kernel.PageLen:], ws.scores[m*ld+p*kernel.PageLen:]
		for c := range a.Shape.chunks() {
			col, pack := c*kernel.NR, (c*M+m)*kernel.NR
			key := p * kernel.PageLen * wide
			k.Tile(sc, ws.dq[m*wide+col:], wide, ds, ld, 1, M-m, ws.kt[key+c*kernel.PageLen*kernel.NR:], kernel.PageLen, p > 0)
			k.Tile(sc, ws.dk[key+col:], wide, ds, 1, ld, kernel.PageLen, ws.qPack[pack:], M-m, true)
			k.Tile(sc, ws.dv[key+col:], wide, pr, 1, ld, kernel.PageLen, ws.dOutPack[pack:], M-m, true)
		}
	}
	scale := a.Scale()
	for m := range M {
		dq := ws.dq[m*wide:][:hd]
		k.Scale(dq, scale)
		copy(dqkv.Row(m)[at:at+hd], dq)
	}
}

// transpose fills ws.vt with panels [HeadDim][32 positions] of the values and ws.kt with panels [32 positions][32 columns] of
// the keys, page after page: the other orientation of what the pages hold.
func (a Attention) transpose(ws *Workspace, head int, pages []*Page) {
	hd, wide := a.Shape.HeadDim, a.Shape.padded()
	ws.vt, ws.kt = resize(ws.vt, len(pages)*hd*kernel.NR), resize(ws.kt, len(pages)*wide*kernel.PageLen)
	clear(ws.kt)
	for i, page := range pages {
		keys, values := a.Shape.K(page, a.Layer, head), a.Shape.V(page, a.Layer, head)
		vt, kt := ws.vt[i*hd*kernel.NR:], ws.kt[i*wide*kernel.PageLen:]
		for d := range hd {
			c := d / kernel.NR * kernel.PageLen * kernel.NR
			for pos := range kernel.PageLen {
				vt[d*kernel.NR+pos] = values[c+pos*kernel.NR+d%kernel.NR]
				kt[c+pos*kernel.NR+d%kernel.NR] = keys[d*kernel.PageLen+pos]
			}
		}
	}
}

// pack fills ws.qPack and ws.dOutPack with panels [M][32 columns] of one head, whose columns begin at at.
func (a Attention) pack(ws *Workspace, dout, q Rows, at int) {
	hd, M := a.Shape.HeadDim, q.Len()
	size := a.Shape.chunks() * M * kernel.NR
	ws.qPack, ws.dOutPack = resize(ws.qPack, size), resize(ws.dOutPack, size)
	for c := 0; c < hd; c += kernel.NR {
		w := min(kernel.NR, hd-c)
		for m := range M {
			to := (c/kernel.NR*M + m) * kernel.NR
			copyPadded(ws.qPack[to:to+kernel.NR], q.Row(m)[at+c:at+c+w])
			copyPadded(ws.dOutPack[to:to+kernel.NR], dout.Row(m)[at+c:at+c+w])
		}
	}
}

func copyPadded(dst, src []float32) { clear(dst[copy(dst, src):]) }
