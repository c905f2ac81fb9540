package nn

import "github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"

// DeltaGrads are what the backward of a Delta reads and writes besides DeltaRows: DY is the gradient of Y, and DIn
// [T,Width] receives that of In. DConv [T,Channels] receives the gradient of the convolution before silu, DNormed that
// of o's norm and DLog [T,Values] that of A_log by each row.
type DeltaGrads struct{ DY, DIn, DConv, DNormed, DLog Rows }

// deltaBackSpace is the memory of a backward. Until a row is reached, the columns of DIn hold sums: those of its key
// the gradient of k, those of v that of u, and that of a that of G.
type deltaBackSpace struct {
	x, y, u, du, dk, at, out  []float32 // [64,KeyDim], [64,ValueDim], [32,ValueDim] 2x, [32,KeyDim], [64,KeyDim] 2x
	mat, dmat, turned, decays []float32 // [64,32] 3x, [32,34]
	panel, keys, conv         []float32
	states                    [][]float32 // a stack
	used                      int
}

func (b *deltaBackSpace) sized(d Delta) {
	const n, two = kernel.PageLen, 2 * kernel.PageLen
	for _, m := range []struct {
		buf *[]float32
		n   int
	}{{&b.x, two * d.KeyDim}, {&b.y, two * d.ValueDim}, {&b.u, n * d.ValueDim}, {&b.du, n * d.ValueDim},
		{&b.dk, n * d.KeyDim}, {&b.at, two * d.KeyDim}, {&b.out, two * d.KeyDim}, {&b.mat, two * n},
		{&b.dmat, two * n}, {&b.turned, two * n}, {&b.decays, n * (n + 2)}, {&b.panel, n * max(d.ValueDim, d.KeyDim)},
		{&b.keys, n * d.KeyDim}, {&b.conv, max(d.ValueDim, d.KeyDim)}} {
		*m.buf = resize(*m.buf, m.n)
	}
	b.used = 0
}

// push returns floats with zeros or arbitrary contents, until the stack is cut to its former height.
func (b *deltaBackSpace) push(n int) []float32 {
	if b.used == len(b.states) {
		b.states = append(b.states, nil)
	}
	b.states[b.used] = resize(b.states[b.used], n)
	b.used++
	return b.states[b.used-1]
}

// chunk is the rows of a page on one path, of which those before own belong to stretches before.
type chunk struct {
	rows  []int
	own   int
	state [][]float32 // by value head: S before the page, nil for zeros
	grad  [][]float32 // of it, to which the backward adds; nil if there is none
	next  [][]float32 // the gradient of S after the page, nil if the page is not full
}

// Backward computes key head head of a tree of stretches: its columns of DIn, DConv, DNormed and DLog.
func (d Delta) Backward(on Products, ws *Workspace, w *DeltaWeights, rows DeltaRows, grads DeltaGrads, all []Stretch,
	prev []int, root, head int) {
	ws.delta.sized(d)
	ws.delta.back.sized(d)
	h := deltaBack{deltaHead{d, rows, on, &ws.delta, w, all, prev, head}, grads}
	h.eachRow(root, h.clear)
	h.visit(root, nil, nil, nil)
	h.eachRow(root, h.clearChannels)
	h.eachRow(root, h.spread)
}

type deltaBack struct {
	deltaHead
	DeltaGrads
}

// eachRow calls f for the rows of a stretch and of those that continue it.
func (h *deltaBack) eachRow(i int, f func(t int)) {
	for t := h.all[i].From; t < h.all[i].To; t++ {
		f(t)
	}
	for _, next := range h.all[i].Next {
		h.eachRow(next, f)
	}
}

func (h *deltaBack) clearChannels(t int) {
	row := h.DIn.Row(t)
	h.each(func(at, n int) { clear(row[at : at+n]) })
}

func (h *deltaBack) clear(t int) {
	h.clearChannels(t)
	for g := range h.group() {
		h.DIn.Row(t)[h.columns(h.head*h.group()+g).a] = 0
	}
}

// spread adds the gradient of row t's convolution to its inputs.
func (h *deltaBack) spread(t int) {
	for s, p := 0, t; s < h.Taps && p >= 0; s, p = s+1, h.prev[p] {
		w, from, to := h.w.Conv[(h.Taps-1-s)*h.Channels():], h.DConv.Row(t), h.DIn.Row(p)
		h.each(func(at, n int) {
			for ; n > 0; at, n = at+len(h.ws.tmp), n-len(h.ws.tmp) {
				tmp := h.ws.tmp[:min(n, len(h.ws.tmp))]
				h.on.K.Mul(tmp, from[at:at+len(tmp)], w[at:at+len(tmp)])
				h.on.K.Add(to[at:at+len(tmp)], tmp)
			}
		})
	}
}

// visit computes the states of a stretch, the gradients of those that continue it, and then its own from its end on.
// page are the rows before it in its first page, state is S before that page and grad its gradient.
func (h *deltaBack) visit(i int, page []int, state, grad [][]float32) {
	s, b := &h.all[i], &h.ws.back
	height := b.used
	var chunks []chunk
	now := chunk{rows: append([]int(nil), page...), own: len(page), state: state, grad: grad}
	for t := s.From; t < s.To; t++ {
		if now.rows = append(now.rows, t); len(now.rows) < kernel.PageLen {
			continue
		}
		after := h.after(now)
		now.next = h.zeros()
		chunks = append(chunks, now)
		now = chunk{state: after, grad: now.next}
	}
	if len(now.rows) > now.own {
		chunks = append(chunks, now)
	}
	for _, next := range s.Next {
		h.visit(next, now.rows, now.state, now.grad)
	}
	for c := len(chunks) - 1; c >= 0; c-- {
		h.chunk(chunks[c])
	}
	b.used = height
}

// after returns the states after a full page, on the stack.
func (h *deltaBack) after(c chunk) [][]float32 {
	b, kd, vd := &h.ws.back, h.KeyDim, h.ValueDim
	h.keysOf(c.rows)
	var out [][]float32
	for g := range h.group() {
		sums, _ := h.gates(c.rows, g)
		h.corrections(c.rows, g)
		into := b.push(kernel.PanelBytes(vd, kd, false) / 4)
		var state []float32
		if c.state != nil {
			state = c.state[g]
		}
		h.advance(into, state, b.panel[:kd*kernel.PageLen], b.u, sums[:])
		out = append(out, into)
	}
	return out
}

// zeros returns the gradients of a state, on the stack.
func (h *deltaBack) zeros() (grads [][]float32) {
	for range h.group() {
		g := h.ws.back.push(kernel.PanelBytes(h.ValueDim, h.KeyDim, false) / 4)
		clear(g)
		grads = append(grads, g)
	}
	return grads
}

// keysOf writes the keys of rows to b.keys [n,KeyDim] and b.panel [KeyDim,32].
func (h *deltaBack) keysOf(rows []int) {
	b, kd := &h.ws.back, h.KeyDim
	clear(b.panel)
	for i, t := range rows {
		key := b.keys[i*kd:][:kd]
		h.mix(key, t, h.keys()+h.head*kd, nil)
		unit(h.on.K, key, 1)
		storeColumn(b.panel, key, i)
	}
}

// gates returns G and β of rows.
func (h *deltaBack) gates(rows []int, g int) (sums [kernel.PageLen]float64, betas [kernel.PageLen]float32) {
	sum := 0.0
	for i, t := range rows {
		step, beta := h.gate(h.w, h.In.Row(t), h.head*h.group()+g)
		sum += step
		sums[i], betas[i] = sum, beta
	}
	return sums, betas
}

// corrections writes u of rows to b.u [n,ValueDim].
func (h *deltaBack) corrections(rows []int, g int) {
	value := h.head*h.group() + g
	for i, t := range rows {
		u := h.ws.back.u[i*h.ValueDim:][:h.ValueDim]
		copy(u, h.Err.Row(t)[value*h.ValueDim:])
		_, beta := h.gate(h.w, h.In.Row(t), value)
		h.on.K.Scale(u, beta)
	}
}
