package nn

import "github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"

// deltaSpace is the memory of one running part of a Delta.
type deltaSpace struct {
	ones, tmp     []float32
	x, dots, base []float32 // [2*32,KeyDim], [2*32,32], [2*32,ValueDim]
	decay, rows   []float32 // [34], [32,KeyDim]
	open          []*deltaOpen
	back          deltaBackSpace
}

// deltaOpen is a key head within a page: what the rows to come need of those before them.
type deltaOpen struct {
	state [][]float32 // by value head: S before the page, nil for zeros
	into  [][]float32 // where the S before the next page goes
	keys  []float32   // [KeyDim,32]
	u     [][]float32 // [32,ValueDim]
	sums  [][]float64 // [32]
}

// sized allocates the buffers for a Delta.
func (s *deltaSpace) sized(d Delta) {
	const two = 2 * kernel.PageLen
	widest := max(d.KeyDim, d.ValueDim)
	if len(s.ones) < widest {
		s.ones, s.tmp = make([]float32, widest), make([]float32, widest)
		for i := range s.ones {
			s.ones[i] = 1
		}
	}
	s.x, s.dots, s.base = resize(s.x, two*d.KeyDim), resize(s.dots, two*kernel.PageLen), resize(s.base, two*d.ValueDim)
	s.decay, s.rows = resize(s.decay, kernel.PageLen+2), resize(s.rows, kernel.PageLen*d.KeyDim)
}

// opened returns the depth-th open page of own memory.
func (s *deltaSpace) opened(d Delta, depth int) *deltaOpen {
	if depth == len(s.open) {
		s.open = append(s.open, &deltaOpen{})
	}
	o, g := s.open[depth], d.group()
	panels := kernel.PanelBytes(d.ValueDim, d.KeyDim, false) / 4
	o.keys = resize(o.keys, d.KeyDim*kernel.PageLen)
	o.state = make([][]float32, g)
	for len(o.into) < g {
		o.into, o.u, o.sums = append(o.into, nil), append(o.u, nil), append(o.sums, make([]float64, kernel.PageLen))
	}
	for i := range g {
		o.into[i], o.u[i] = resize(o.into[i], panels), resize(o.u[i], kernel.PageLen*d.ValueDim)
	}
	return o
}

// Forward computes key head head of a tree of stretches, whose root is all[root], or of one stretch with a memory. prev
// is, for each row, that of the position before, or -1.
func (d Delta) Forward(on Products, ws *Workspace, w *DeltaWeights, rows DeltaRows, all []Stretch, prev []int, root,
	head int) {
	ws.delta.sized(d)
	h := deltaHead{d, rows, on, &ws.delta, w, all, prev, head}
	h.visit(root, 0, nil)
}

// visit computes a stretch, which continues from, and those that continue it.
func (h *deltaHead) visit(i, depth int, from *deltaOpen) {
	s := &h.all[i]
	if s.Memory != nil {
		h.remembered(s)
		return
	}
	o := h.ws.opened(h.Delta, depth)
	if from != nil {
		o.continues(from)
	}
	h.walk(s, o, nil)
	for _, next := range s.Next {
		h.visit(next, depth+1, o)
	}
}

// continues makes o a copy of from, whose states it shares.
func (o *deltaOpen) continues(from *deltaOpen) {
	copy(o.state, from.state)
	copy(o.keys, from.keys)
	for i := range o.u {
		copy(o.u[i], from.u[i])
		copy(o.sums[i], from.sums[i])
	}
}

// walk computes the rows of a stretch, page by page.
func (h *deltaHead) walk(s *Stretch, o *deltaOpen, m *deltaWindow) {
	for t, pos := s.From, s.Pos; t < s.To; {
		at := pos % kernel.PageLen
		n := min(kernel.PageLen-at, s.To-t)
		h.rowsOf(t, n, at, o, m)
		t, pos = t+n, pos+n
		if at+n == kernel.PageLen {
			h.close(o)
		}
	}
}

// rowsOf computes n rows from row t on, which begin at place at of their page.
func (h *deltaHead) rowsOf(t, n, at int, o *deltaOpen, m *deltaWindow) {
	k, kd, vd := h.on.K, h.KeyDim, h.ValueDim
	x := h.ws.x[:2*n*kd]
	h.project(x, t, n, m)
	for i := range n {
		storeColumn(o.keys, x[i*kd:(i+1)*kd], at+i)
	}
	keys := kernel.ViewPanels(o.keys, kernel.PageLen, kd, false)
	k.MatMul(h.on.SC, h.ws.dots, kernel.PageLen, x, kd, 2*n, &keys, 0, 1, false)
	for g := range h.group() {
		value := h.head*h.group() + g
		base, c := h.ws.base[:2*n*vd], h.columns(value)
		if s := o.state[g]; s != nil {
			w := kernel.ViewPanels(s, vd, kd, false)
			k.MatMul(h.on.SC, base, vd, x, kd, 2*n, &w, 0, w.Count(), false)
		} else {
			clear(base)
		}
		for i := range n {
			row := h.In.Row(t + i)
			sum, beta := h.gate(h.w, row, value)
			if at+i > 0 {
				sum += o.sums[g][at+i-1]
			}
			o.sums[g][at+i] = sum
			e, out := h.Err.Row(t + i)[c.out:][:vd], h.Out.Row(t + i)[c.out:][:vd]
			h.mix(e, t+i, c.v, m)
			h.correct(o, g, at+i, e, base[i*vd:][:vd], h.ws.dots[i*kernel.PageLen:], beta)
			h.answer(o, g, at+i, out, base[(n+i)*vd:][:vd], h.ws.dots[(n+i)*kernel.PageLen:])
			y := h.Y.Row(t + i)[c.out:][:vd]
			k.RMSNorm(y, out, h.w.Norm, h.Eps)
			k.SiLUMul(y, row[c.z:c.z+vd], y)
		}
	}
}

// project writes the keys of n rows from row t on, then their queries, to x [2*n,KeyDim].
func (h *deltaHead) project(x []float32, t, n int, m *deltaWindow) {
	kd := h.KeyDim
	for i := range n {
		key, query := x[i*kd:(i+1)*kd], x[(n+i)*kd:(n+i+1)*kd]
		h.mix(query, t+i, h.head*kd, m)
		h.mix(key, t+i, h.keys()+h.head*kd, m)
		unit(h.on.K, key, 1)
		unit(h.on.K, query, h.queryScale())
	}
}

// correct turns e, which is v, into v-Sᵀk and writes u of place i of the page. base is Sᵀk with S before the page.
func (h *deltaHead) correct(o *deltaOpen, g, i int, e, base, dots []float32, beta float32) {
	k, vd := h.on.K, h.ValueDim
	first := decays(k, h.ws.decay, o.sums[g], i)
	k.AXPY(e, -first, base)
	for j := range i {
		k.AXPY(e, -float32(h.ws.decay[j]*dots[j]), o.u[g][j*vd:])
	}
	u := o.u[g][i*vd:][:vd]
	copy(u, e)
	k.Scale(u, beta)
}

// answer writes o of place i of the page, after correct. base is Sᵀq with S before the page.
func (h *deltaHead) answer(o *deltaOpen, g, i int, out, base, dots []float32) {
	k, vd := h.on.K, h.ValueDim
	copy(out, base)
	k.Scale(out, h.ws.decay[i+1])
	for j := range i + 1 {
		k.AXPY(out, float32(h.ws.decay[j]*dots[j]), o.u[g][j*vd:])
	}
}

// close computes the states before the next page.
func (h *deltaHead) close(o *deltaOpen) {
	for g := range o.state {
		h.advance(o.into[g], o.state[g], o.keys, o.u[g], o.sums[g])
		o.state[g] = o.into[g]
	}
}

// advance writes the state after a full page to into, which may be state. keys is [KeyDim,32].
func (h *deltaHead) advance(into, state, keys, u []float32, sums []float64) {
	const last = kernel.PageLen - 1
	k, kd, vd := h.on.K, h.KeyDim, h.ValueDim
	first := decays(k, h.ws.decay, sums, last)
	switch {
	case state == nil:
		clear(into)
	case &state[0] != &into[0]:
		copy(into, state)
		fallthrough
	default:
		k.Scale(into, first)
	}
	for j := range kernel.PageLen {
		row := h.ws.rows[j*kd:][:kd]
		for i := range row {
			row[i] = float32(keys[i*kernel.PageLen+j] * h.ws.decay[j])
		}
	}
	addOuter(h.on, into, h.ws.rows, u, kernel.PageLen, kd, vd)
}

// addOuter continues panels [vd,kd] with the sum of x[t,:]·y[t,:]ᵀ, x [T,kd] and y [T,vd], t upward.
func addOuter(on Products, panels, x, y []float32, T, kd, vd int) {
	for c := 0; c < vd; c += kernel.NR {
		on.K.GradW(on.SC, panels[c*kd:], kernel.NR, x, kd, y[c:], vd, T, 0, kd, min(kernel.NR, vd-c))
	}
}
