package nn

import "github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"

// chunk computes the gradients of a chunk's own rows, and adds those of the rows and of the state before.
//
// With x the queries and keys of its own rows, y the gradients of what they read, Sᵀx + mat·u, and u the corrections of
// all rows: dmat = y·uᵀ, dx = y·Sᵀ + dmat·k, dk += dmatᵀ·x, dS += xᵀ·y, each with its decay. The y of a key follows
// from du, which the later rows add to.
func (h *deltaBack) chunk(c chunk) {
	k, b, kd := h.on.K, &h.ws.back, h.KeyDim
	n, m := len(c.rows), c.own
	w := n - m
	h.keysOf(c.rows)
	x := b.x[:2*w*kd]
	for i, t := range c.rows[m:] {
		query := x[i*kd:][:kd]
		h.mix(query, t, h.head*kd, nil)
		unit(k, query, h.queryScale())
		copy(x[(w+i)*kd:][:kd], b.keys[(m+i)*kd:][:kd])
	}
	keys := kernel.ViewPanels(b.panel[:kd*kernel.PageLen], kernel.PageLen, kd, false)
	k.MatMul(h.on.SC, h.ws.dots, kernel.PageLen, x, kd, 2*w, &keys, 0, 1, false)
	clear(b.dk)
	clear(b.out)
	for g := range h.group() {
		h.value(c, g, x)
	}
	for i, t := range c.rows {
		sum := h.DIn.Row(t)[h.keys()+h.head*kd:][:kd]
		k.Add(sum, b.dk[i*kd:][:kd])
		if i >= m {
			k.Add(sum, b.out[(w+i-m)*kd:][:kd])
			h.unitBack(t, h.head*kd, b.out[(i-m)*kd:][:kd], x[(i-m)*kd:][:kd], h.queryScale())
			h.unitBack(t, h.keys()+h.head*kd, sum, b.keys[i*kd:][:kd], 1)
		}
	}
}

// unitBack computes the gradient of row t's convolution from that of scale times its unit vector y. dy is overwritten.
func (h *deltaBack) unitBack(t, at int, dy, y []float32, scale float32) {
	k, c := h.on.K, h.ws.rows[:len(y)]
	h.mix(c, t, at, nil)
	inv := unit(k, c, 1)
	along := k.Dot(y, dy)
	k.Scale(dy, scale)
	k.AXPY(dy, -along/scale, y)
	k.Scale(dy, inv)
	h.mixBack(t, at, dy)
}

// mixBack computes the gradient of row t's convolution from that of its silu.
func (h *deltaBack) mixBack(t, at int, dy []float32) {
	out := h.DConv.Row(t)[at:][:len(dy)]
	c := h.ws.back.conv[:len(dy)]
	h.convolve(c, t, at, nil)
	h.on.K.SiLUMulBackward(out, c, dy, c, h.ws.ones[:len(dy)])
}

// value is chunk for one value head: it adds to b.dk and b.out.
func (h *deltaBack) value(c chunk, g int, x []float32) {
	const L = kernel.PageLen
	k, b, vd := h.on.K, &h.ws.back, h.ValueDim
	n, m := len(c.rows), c.own
	w, col := n-m, h.columns(h.head*h.group()+g)
	sums, betas := h.gates(c.rows, g)
	h.corrections(c.rows, g)
	first := h.matrices(m, w, sums[:])
	for i, t := range c.rows {
		copy(b.du[i*vd:][:vd], h.DIn.Row(t)[col.v:])
	}
	h.answers(c, col)
	var dsum [L]float64
	for i, t := range c.rows[m:] {
		dsum[m+i] = float64(h.DIn.Row(t)[col.a])
	}
	k.GradW(h.on.SC, b.du, vd, b.mat, L, b.y, vd, w, 0, n, vd)
	if c.next != nil {
		h.fromNext(c, g, dsum[:], first[w-1])
	}
	for i := n - 1; i >= m; i-- {
		t, dr := c.rows[i], b.y[(w+i-m)*vd:][:vd]
		copy(dr, b.du[i*vd:][:vd])
		db := k.Dot(dr, h.Err.Row(t)[col.out:][:vd])
		h.DIn.Row(t)[col.b] = float32(db*betas[i]) * (1 - betas[i])
		k.Scale(dr, -betas[i])
		for j, a := range b.mat[(w+i-m)*L:][:i] {
			k.AXPY(b.du[j*vd:][:vd], a, dr)
		}
	}
	h.products(c, g, x, dsum[:], first[:])
	h.store(c, g, col, dsum[:])
}

// matrices writes the factors of u in what own rows read, for queries and then keys, to b.mat, and the decays to
// b.decays. It returns exp(G) of the own rows.
func (h *deltaBack) matrices(m, w int, sums []float64) (first [kernel.PageLen]float32) {
	const L = kernel.PageLen
	b := &h.ws.back
	clear(b.mat)
	clear(b.decays)
	for i := range w {
		d := b.decays[i*(L+2):][:L+2]
		first[i] = decays(h.on.K, d, sums, m+i)
		d[m+i+1] = 0
		h.on.K.Mul(b.mat[i*L:][:m+i+1], d[:m+i+1], h.ws.dots[i*L:][:m+i+1])
		h.on.K.Mul(b.mat[(w+i)*L:][:m+i], d[:m+i], h.ws.dots[(w+i)*L:][:m+i])
	}
	return first
}

// answers writes the gradients of o of own rows to b.y, and those of z and of the normed o.
func (h *deltaBack) answers(c chunk, col deltaColumns) {
	k, vd := h.on.K, h.ValueDim
	for i, t := range c.rows[c.own:] {
		out, z := h.Out.Row(t)[col.out:][:vd], h.In.Row(t)[col.z:][:vd]
		dnormed, dz := h.DNormed.Row(t)[col.out:][:vd], h.DIn.Row(t)[col.z:][:vd]
		normed := h.ws.tmp[:vd]
		inv := k.RMSNorm(normed, out, h.w.Norm, h.Eps)
		k.SiLUMulBackward(dz, dnormed, h.DY.Row(t)[col.out:][:vd], z, normed)
		RMSNormBackward(k, h.ws.back.y[i*vd:][:vd], dnormed, out, h.w.Norm, inv)
	}
}

// fromNext adds to b.du, b.dk, the sums and the gradient of S what follows from the state after the page.
func (h *deltaBack) fromNext(c chunk, g int, dsum []float64, decay float32) {
	k, b, kd, vd, n := h.on.K, &h.ws.back, h.KeyDim, h.ValueDim, len(c.rows)
	next := kernel.ViewPanels(c.next[g], vd, kd, false)
	d := b.decays[(n-c.own-1)*(kernel.PageLen+2):]
	read := h.ws.base[:n*vd]
	k.MatMul(h.on.SC, read, vd, b.keys, kd, n, &next, 0, next.Count(), false)
	for j := range n {
		s := float64(float64(d[j]) * float64(k.Dot(read[j*vd:][:vd], b.u[j*vd:][:vd])))
		dsum[j] -= s
		dsum[n-1] += s
		k.AXPY(b.du[j*vd:][:vd], d[j], read[j*vd:][:vd])
	}
	back := Rows{b.at[:n*kd], kd}
	h.on.Transposed(back, h.pack(b.u, n), 0, n, &next, false, nil)
	for j := range n {
		k.AXPY(b.dk[j*kd:][:kd], d[j], back.Row(j))
	}
	if c.state != nil {
		dsum[n-1] += float64(float64(decay) * float64(k.Dot(c.state[g], c.next[g])))
		k.AXPY(c.grad[g], decay, c.next[g])
	}
}

// pack packs n rows [ValueDim] for a product.
func (h *deltaBack) pack(x []float32, n int) *kernel.Input {
	return h.on.Pack(0, Rows{x[:n*h.ValueDim], h.ValueDim}, h.ValueDim, false)
}

// products adds the gradients of x to b.out, of the keys to b.dk, of G to dsum and of the state.
func (h *deltaBack) products(c chunk, g int, x []float32, dsum []float64, first []float32) {
	const L = kernel.PageLen
	k, b, kd, vd, n := h.on.K, &h.ws.back, h.KeyDim, h.ValueDim, len(c.rows)
	w := n - c.own
	panel := h.ws.base[:vd*L]
	clear(panel)
	for j := range n {
		storeColumn(panel, b.u[j*vd:][:vd], j)
	}
	u := kernel.ViewPanels(panel, L, vd, false)
	k.MatMul(h.on.SC, b.dmat, L, b.y, vd, 2*w, &u, 0, 1, false)
	clear(b.turned)
	for i := range 2 * w {
		row, end := i%w, c.own+i%w+1-i/w
		for j := range end {
			s := float64(float64(b.dmat[i*L+j]) * float64(b.mat[i*L+j]))
			dsum[c.own+row] += s
			dsum[j] -= s
			b.dmat[i*L+j] = float32(b.dmat[i*L+j] * b.decays[row*(L+2)+j])
			b.turned[j*2*L+i] = b.dmat[i*L+j]
		}
		clear(b.dmat[i*L+end : (i+1)*L])
	}
	k.GradW(h.on.SC, b.dk, kd, b.dmat, L, x, kd, 2*w, 0, n, kd)
	at := Rows{b.at[:2*w*kd], kd}
	clear(at.Data)
	if c.state != nil {
		state := kernel.ViewPanels(c.state[g], vd, kd, false)
		h.on.Transposed(at, h.pack(b.y, 2*w), 0, 2*w, &state, false, nil)
		for i := range 2 * w {
			dsum[c.own+i%w] += float64(float64(first[i%w]) * float64(k.Dot(x[i*kd:][:kd], at.Row(i))))
			k.Scale(at.Row(i), first[i%w])
		}
		scaled := h.ws.x[:2*w*kd]
		copy(scaled, x)
		for i := range 2 * w {
			k.Scale(scaled[i*kd:][:kd], first[i%w])
		}
		addOuter(h.on, c.grad[g], scaled, b.y, 2*w, kd, vd)
	}
	k.GradW(h.on.SC, at.Data, kd, b.turned, 2*L, b.keys, kd, n, 0, 2*w, kd)
	k.Add(b.out[:2*w*kd], at.Data)
}

// store writes the gradients of v, a and A_log of own rows, and the sums of the rows before.
func (h *deltaBack) store(c chunk, g int, col deltaColumns, dsum []float64) {
	b, vd, w := &h.ws.back, h.ValueDim, len(c.rows)-c.own
	value, sum := h.head*h.group()+g, 0.0
	for i := len(c.rows) - 1; i >= c.own; i-- {
		t, dv := c.rows[i], b.y[(w+i-c.own)*vd:][:vd]
		h.on.K.Scale(dv, -1)
		h.mixBack(t, col.v, dv)
		sum += dsum[i]
		row := h.In.Row(t)
		slope := float64(h.w.Decay[value]) * logistic(float64(row[col.a])+float64(h.w.Bias[value]))
		step, _ := h.gate(h.w, row, value)
		h.DIn.Row(t)[col.a], h.DLog.Row(t)[value] = -float32(sum*slope), float32(sum*step)
	}
	for j, t := range c.rows[:c.own] {
		copy(h.DIn.Row(t)[col.v:][:vd], b.du[j*vd:])
		h.DIn.Row(t)[col.a] += float32(dsum[j])
		if j == c.own-1 {
			h.DIn.Row(t)[col.a] += float32(sum)
		}
	}
}
