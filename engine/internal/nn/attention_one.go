package nn

import "github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"

// one is Forward for a single row, which every sequence has in a step of decoding. The query heads of a group are the
// rows of two products that have few rows and read much memory. So keys and values are read once, from their pages:
// all keys of a KV head, page by page, then its values. The bits are those of the products with collected pages, in
// which every sum walks positions upward too.
func (a Attention) one(k *kernel.Set, sc *kernel.Scratch, ws *Workspace, out, q []float32, pos int, pages []*Page, from,
	to int) {
	hd, group := a.Shape.HeadDim, a.Heads/a.Shape.KVHeads
	for j := from; j < to; j++ {
		a.pieces(ws, pages, j, to)
		q, out := q[j*group*hd:][:group*hd], out[j*group*hd:][:group*hd]
		p := ws.scoresOf(group, ws.ofKeys.Len())
		k.MatMulRows(sc, p.Data, p.Cols, q, hd, group, hd, &ws.ofKeys)
		for m := range group {
			ws.inv[m] = softmax(k, p.Row(m), a.first(pos), pos+1)
		}
		k.MatMulColumns(sc, out, hd, p.Data, p.Cols, group, hd, &ws.ofValues)
		for m := range group {
			k.Scale(out[m*hd:][:hd], ws.inv[m])
		}
	}
	clear(ws.ofKeys.Data) // so that the workspace does not keep pages alive
	clear(ws.ofValues.Data)
}

// pieces points ws.ofKeys and ws.ofValues at a head's keys and values. The keys of the next head follow the values, if
// that head is before to.
func (a Attention) pieces(ws *Workspace, pages []*Page, head, to int) {
	s, keys, values := a.Shape, ws.ofKeys.Data[:0], ws.ofValues.Data[:0]
	for _, p := range pages {
		keys, values = append(keys, s.K(p, a.Layer, head)), append(values, s.V(p, a.Layer, head))
	}
	ws.ofKeys = kernel.Pieces{Data: keys, BF16: s.BF16, Then: values[0]}
	ws.ofValues = kernel.Pieces{Data: values, BF16: s.BF16}
	if head+1 < to {
		ws.ofValues.Then = s.K(pages[0], a.Layer, head+1)
	}
}
