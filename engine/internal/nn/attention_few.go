package nn

import "github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"

// Every sequence has a single row in a step of decoding. Its products have few rows, the query heads of a group, and
// read much memory: the sequence's keys and values. Sequences that share pages, such as the samples of a prompt, are
// computed together: a shared page is read once for the rows of all of them. The bits are those of the products with
// collected pages, in which every sum walks positions upward too.

// single is a sequence's only row.
type single struct {
	row, pos int
	pages    []*Page
}

// run is singles a to b-1, which share pages from to to-1.
type run struct{ a, b, from, to int }

// Forwards is Forward for stretches of rows of different sequences, all rows of out and q among them.
func (a Attention) Forwards(k *kernel.Set, sc *kernel.Scratch, ws *Workspace, out, q Rows, list []Stretch, from,
	to int) {
	for len(list) > 0 {
		n := a.singles(ws, list)
		if n == 0 {
			s, rest := list[0], list[1:]
			a.Forward(k, sc, ws, out.Slice(s.From, s.To), q.Slice(s.From, s.To), s.Pos, s.Pages, from, to)
			list = rest
			continue
		}
		a.few(k, sc, ws, out, q, from, to)
		list = list[n:]
	}
}

// singlesBudget limits the floats of the scores of singles that are computed together.
const singlesBudget = 1 << 18

// singles puts the first stretches of one row into ws and returns their number. With a window it is at most one, since
// each begins with another page.
func (a Attention) singles(ws *Workspace, list []Stretch) int {
	ws.singles, ws.width = ws.singles[:0], 0
	for _, s := range list {
		if s.To != s.From+1 {
			break
		}
		pages, pos := a.inWindow(s.Pages[:pagesTo(s.Pos+1)], s.Pos)
		width := max(ws.width, len(pages)*kernel.PageLen)
		n := len(ws.singles)
		if n > 0 && (a.Window > 0 || (n+1)*a.Heads/a.Shape.KVHeads*width > singlesBudget) {
			break
		}
		ws.singles, ws.width = append(ws.singles, single{s.From, pos, pages}), width
	}
	ws.runs = runs(ws.runs[:0], ws.singles, 0, len(ws.singles), 0)
	return len(ws.singles)
}

// runs appends the runs of singles a to b-1 from a page on, those of more singles first.
func runs(list []run, all []single, a, b, page int) []run {
	for a < b {
		pages := all[a].pages
		if page == len(pages) {
			a++
			continue
		}
		end := a + 1
		for end < b && len(all[end].pages) > page && all[end].pages[page] == pages[page] {
			end++
		}
		to := page + 1
		for to < len(pages) && shares(all[a+1:end], pages, to) {
			to++
		}
		list = runs(append(list, run{a, end, page, to}), all, a, end, to)
		a = end
	}
	return list
}

// shares reports whether all have that page.
func shares(all []single, pages []*Page, page int) bool {
	for _, s := range all {
		if len(s.pages) <= page || s.pages[page] != pages[page] {
			return false
		}
	}
	return true
}

// few computes ws.singles: all keys of a KV head, page by page, then its values.
func (a Attention) few(k *kernel.Set, sc *kernel.Scratch, ws *Workspace, out, q Rows, from, to int) {
	hd, group := a.Shape.HeadDim, a.Heads/a.Shape.KVHeads
	n := len(ws.singles)
	ws.few = resize(ws.few, n*group*hd)
	of := Rows{ws.few, hd} // first the queries, then the outputs, of the group's heads
	for j := from; j < to; j++ {
		for i, s := range ws.singles {
			copy(ws.few[i*group*hd:], q.Row(s.row)[j*group*hd:][:group*hd])
		}
		p := ws.scoresOf(n*group, ws.width)
		for i, r := range ws.runs {
			ws.keysOf(a, i, j)
			k.MatMulRows(sc, p.Data[r.a*group*p.Cols+r.from*kernel.PageLen:], p.Cols, of.Data[r.a*group*hd:], hd,
				(r.b-r.a)*group, hd, &ws.ofKeys)
		}
		for i, s := range ws.singles {
			for m := i * group; m < (i+1)*group; m++ {
				a.softmax(k, ws, m, p.Row(m)[:len(s.pages)*kernel.PageLen], s.pos, (j-i)*group+m)
			}
		}
		for i, r := range ws.runs {
			ws.valuesOf(a, i, j, to)
			k.MatMulColumns(sc, of.Data[r.a*group*hd:], hd, p.Data[r.a*group*p.Cols+r.from*kernel.PageLen:], p.Cols,
				(r.b-r.a)*group, hd, &ws.ofValues)
		}
		for i, s := range ws.singles {
			for m := range group {
				k.Scale(of.Row(i*group+m), ws.inv[i*group+m])
			}
			copy(out.Row(s.row)[j*group*hd:], ws.few[i*group*hd:][:group*hd])
		}
	}
	clear(ws.ofKeys.Data) // so that the workspace does not keep pages alive
	clear(ws.ofValues.Data)
	clear(ws.singles)
}

// keysOf points ws.ofKeys at a head's keys of run i. Those of the next run follow, or the values of the first.
func (ws *Workspace) keysOf(a Attention, i, head int) {
	data := ws.ofKeys.Data[:0]
	for _, p := range ws.pagesOf(i) {
		data = append(data, a.Shape.K(p, a.Layer, head))
	}
	then := a.Shape.V(ws.pagesOf(0)[0], a.Layer, head)
	if i+1 < len(ws.runs) {
		then = a.Shape.K(ws.pagesOf(i + 1)[0], a.Layer, head)
	}
	ws.ofKeys = kernel.Pieces{Data: data, BF16: a.Shape.BF16, Then: then}
}

// valuesOf points ws.ofValues at a head's values of run i. Those of the next run follow, or the keys of the next head,
// if that is before to. The sums of a run's singles continue after an earlier run of theirs.
func (ws *Workspace) valuesOf(a Attention, i, head, to int) {
	data := ws.ofValues.Data[:0]
	for _, p := range ws.pagesOf(i) {
		data = append(data, a.Shape.V(p, a.Layer, head))
	}
	ws.ofValues = kernel.Pieces{Data: data, BF16: a.Shape.BF16, Continue: ws.runs[i].from > 0}
	switch {
	case i+1 < len(ws.runs):
		ws.ofValues.Then = a.Shape.V(ws.pagesOf(i + 1)[0], a.Layer, head)
	case head+1 < to:
		ws.ofValues.Then = a.Shape.K(ws.pagesOf(0)[0], a.Layer, head+1)
	}
}

// pagesOf returns the pages of run i.
func (ws *Workspace) pagesOf(i int) []*Page {
	r := ws.runs[i]
	return ws.singles[r.a].pages[r.from:r.to]
}
