package kernel

import "unsafe"

// amx is the path of AVX-512 with bf16 products by the tiles of AMX.
type amx struct{ avx512 }

const (
	// amxTile is the number of rows of a tile; the larger micro-kernel takes InputRows, two of them.
	amxTile = 16
	// amxFew is the number of rows up to which the kernels of AVX-512 are faster: a tile would be almost empty.
	amxFew = 2
	// amxBlocks is the number of blocks of 32 k that the kernel walks before the next rows: 32 KiB of panel, which
	// stay in the first cache while the rows pass.
	amxBlocks = 16
	// amxFewBlocks is the same for few rows, which stay in the first cache themselves.
	amxFewBlocks = 8
	// amxHeight is the number of rows that a panel is multiplied with before the next one. amxWords limits the words
	// of those rows: 1 MiB, half of the second cache. If K has more, amxGroup panels alternate, each with its own
	// sums.
	amxHeight = 512
	amxWords  = 1 << 18
	amxGroup  = 8
	// amxTransposeRows and amxTransposeCols are the size of the part of W that is transposed at once: 512 KiB,
	// together with as much of the rows and 1 MiB of sums.
	amxTransposeRows, amxTransposeCols = 512, 512
	// amxFewPairs is the number of 32 rows up to which a panel passes faster than memory brings the next one.
	amxFewPairs = 2
	// amxStream is the size of an output that is too large for the second cache.
	amxStream = 1 << 18
)

// matMul is for rows that are used in one product only.
func (v amx) matMul(sc *Scratch, out []float32, ldo int, x []float32, ldx, M int, w *Panels, p0, p1 int, acc bool) {
	if !w.BF16 || w.K == 0 || M <= amxFew {
		v.avx512.matMul(sc, out, ldo, x, ldx, M, w, p0, p1, acc)
		return
	}
	in, s := &sc.input, Set{ops: v, packer: v}
	s.Use(in, x, ldx, M, w.K, true)
	v.packInput(in, 0, M)
	v.multiply(sc, out, ldo, in, 0, M, w, p0, p1, acc, nil)
}

func (amx) inside(a *Addition) bool { return a.X.packed != nil }

// multiply multiplies some hundred rows at a time.
func (amx) multiply(sc *Scratch, out []float32, ldo int, x *Input, m0, m1 int, w *Panels, p0, p1 int, acc bool,
	more []Addition) {
	for m := m0 &^ (InputRows - 1); m < m1; m += amxHeight {
		p := amxProduct{sc: sc, x: x, w: w, out: out, ldo: ldo, base: m, from: max(m, m0), to: min(m+amxHeight, m1),
			acc: acc, more: more, last: true}
		p.panels(p0, p1)
	}
}

// multiplyTransposed keeps the sums of some columns while the rows of W pass, transposed a part at a time. Additions
// of so few rows that they are not packed come last, as in Multiply.
func (v amx) multiplyTransposed(sc *Scratch, out []float32, ldo int, x *Input, m0, m1 int, w *Panels, k0, k1 int,
	acc bool, more []Addition) {
	s := Set{ops: v, packer: v}
	for m := m0 &^ (InputRows - 1); m < m1; m += amxHeight {
		for k := k0; k < k1; k += amxTransposeCols {
			to := min(k+amxTransposeCols, k1)
			p := amxProduct{sc: sc, out: out[k:], ldo: ldo, base: m, from: max(m, m0), to: min(m+amxHeight, m1),
				acc: acc, more: s.transposeAdditions(sc, more, k, to)}
			p.transposed(&s, x, w, k, to)
			for i := range p.more {
				if !v.inside(&p.more[i]) {
					s.addition(sc, p.out, ldo, &p.more[i], p.from, p.to, 0, p.w.Count())
				}
			}
		}
	}
}

// amxProduct is one product of rows from to to-1 while it runs. base is the first row of from's tile.
type amxProduct struct {
	sc             *Scratch
	x              *Input
	w              *Panels
	out            []float32
	ldo            int
	base, from, to int
	acc            bool
	more           []Addition
	// begun means that the sums include an earlier part of k, last that there is no later part.
	begun, last bool
	// c holds the sums of some panels, the 32 columns of each for all rows in one stretch of memory. In out the rows
	// may be a power of 2 apart and evict each other from the caches.
	c []float32
}

// panels multiplies the rows with panels [p0,p1).
func (p *amxProduct) panels(p0, p1 int) {
	steps, height := p.w.steps(), p.height()
	chunk, group := max(amxWords/height/blockPairs, amxBlocks)*blockPairs, 1
	if chunk < steps {
		group = amxGroup
	}
	p.c = grow(&p.sc.edge, group*height*NR)
	for q0 := p0; q0 < p1; q0 += group {
		q1 := min(q0+group, p1)
		for s := 0; s < steps; s += chunk {
			for q := q0; q < q1; q++ {
				p.fold(q, p.c[(q-q0)*height*NR:], s, min(s+chunk, steps))
			}
		}
		for q := q0; q < q1; q++ {
			p.finish(q, p.c[(q-q0)*height*NR:])
		}
	}
}

// height is the number of rows for which there are sums.
func (p *amxProduct) height() int { return (p.to - p.base + InputRows - 1) / InputRows * InputRows }

// transposed multiplies the rows with columns [k0,k1) of w, at most amxTransposeCols.
func (p *amxProduct) transposed(s *Set, x *Input, w *Panels, k0, k1 int) {
	height := p.height()
	c := grow(&p.sc.edge, (k1-k0+NR-1)/NR*NR*height)
	for n := 0; n < w.N; n += amxTransposeRows {
		to := min(n+amxTransposeRows, w.N)
		part := x.Columns(n, to)
		p.x, p.w, p.begun, p.last = &part, s.TransposePart(p.sc.transposedAt(0), w, n, to, k0, k1), n > 0, to == w.N
		for q := range p.w.Count() {
			p.fold(q, c[q*height*NR:], 0, p.w.steps())
		}
	}
	for q := range p.w.Count() {
		p.finish(q, c[q*height*NR:])
	}
}

// ending is what the kernel does with the sums of a panel after its last block: it continues them with the addition to
// all rows, if that is the only addition, and then writes whole groups of rows to out. finish does the rest.
type ending struct {
	blocks int
	a, b   *float32
	step   int
	out    *float32
	stream int
}

// ending returns the ending of panel q, and whether finish must look for additions.
func (p *amxProduct) ending(q int) (e ending, rest bool) {
	var one *Addition
	var at int
	for i := range p.more {
		a := &p.more[i]
		q0, q1, r0, r1 := a.overlap(q, q+1, p.from, p.to)
		if a.X.packed == nil || q0 >= q1 || r0 >= r1 {
			continue
		}
		if one != nil || r1-r0 < p.to-p.from || (p.base-a.From)%InputRows != 0 || p.base < a.From {
			return ending{}, true
		}
		one, at = a, q0
	}
	if one != nil {
		steps := one.W.steps()
		e = ending{blocks: steps / blockPairs, a: &one.X.packed[one.X.tile(p.base-one.From)],
			b: (*float32)(unsafe.Pointer(&one.W.Pairs[at*one.W.stride()*NR])), step: one.X.step * 4}
	}
	if p.direct(q) {
		e.out = &p.out[p.base*p.ldo+q*NR]
		e.stream = flag(p.streams(e.out))
	}
	return e, false
}

// direct reports whether the kernel can write the sums of panel q: all columns of rows from the first of a tile on.
func (p *amxProduct) direct(q int) bool {
	return p.from == p.base && (q+1)*NR <= p.w.N && p.to-p.base >= InputRows
}

// streams reports whether writes to out should bypass the caches, since out is too large to stay there.
func (p *amxProduct) streams(out *float32) bool {
	const line = 64
	return (p.to-p.base)*p.ldo >= amxStream && p.ldo*4%line == 0 && uintptr(unsafe.Pointer(out))%line == 0
}

// fold continues the sums c with steps [s0,s1) of panel q.
func (p *amxProduct) fold(q int, c []float32, s0, s1 int) {
	rows, steps := p.to-p.base, p.w.steps()
	groups, rest := rows/InputRows, rows%InputRows
	if p.acc && !p.begun && s0 == 0 {
		packPanel(p.to-p.from, &c[(p.from-p.base)*NR], &p.out[p.from*p.ldo+q*NR], p.ldo*4, min(NR, p.w.N-q*NR))
	}
	tall, most := amxRows32, amxBlocks
	if groups <= amxFewPairs {
		tall, most = amxFew32, amxFewBlocks
	}
	var e ending
	for s := s0; s < s1; s += most * blockPairs {
		blocks, acc := min(most, (s1-s)/blockPairs), flag(p.acc || p.begun || s > 0)
		if p.last && s+blocks*blockPairs == steps {
			e, _ = p.ending(q)
		}
		a, b := p.x.packed[p.x.tile(p.base)+s*InputRows:], (*float32)(unsafe.Pointer(&p.w.Pairs[(q*p.w.stride()+s)*NR]))
		if groups > 0 {
			tall(blocks, &a[0], b, &c[0], acc, p.x.step*4, groups, e.blocks, e.a, e.b, e.step, e.out, p.ldo*4, e.stream)
		}
		if rest == 0 {
			continue
		}
		kernel := amxRows16
		if rest > amxTile {
			kernel = tall
		}
		if e.blocks > 0 {
			e.a = (*float32)(unsafe.Add(unsafe.Pointer(e.a), groups*e.step))
		}
		kernel(blocks, &a[groups*p.x.step], b, &c[groups*InputRows*NR], acc, 0, 1, e.blocks, e.a, e.b, 0, nil, 0, 0)
	}
}

// finish continues the sums of panel q with the additions and writes them to out, as far as the kernel has not.
func (p *amxProduct) finish(q int, c []float32) {
	e, rest := p.ending(q)
	if rest {
		p.additions(q, c)
	}
	from := p.from
	if e.out != nil {
		from = p.base + (p.to-p.base)/InputRows*InputRows
	}
	if from < p.to {
		storePanel(p.to-from, &p.out[from*p.ldo+q*NR], &c[(from-p.base)*NR], p.ldo*4, min(NR, p.w.N-q*NR))
	}
}

// additions continues the sums of panel q with all additions.
func (p *amxProduct) additions(q int, c []float32) {
	for i := range p.more {
		a := &p.more[i]
		q0, q1, r0, r1 := a.overlap(q, q+1, p.from, p.to)
		if a.X.packed != nil && q0 < q1 && r0 < r1 {
			p.add(a, q0, c, r0, r1)
		}
	}
}

// add continues c with panel q of rows [r0,r1) of a. Rows that are not 32 consecutive rows of a are computed in
// separate memory, so that not even zeros are added to their neighbours.
func (p *amxProduct) add(a *Addition, q int, c []float32, r0, r1 int) {
	steps := a.W.steps()
	b, blocks := (*float32)(unsafe.Pointer(&a.W.Pairs[q*a.W.stride()*NR])), steps/blockPairs
	row := func(r int) []float32 { return c[(a.From+r-p.base)*NR:] }
	for r := r0 &^ (InputRows - 1); r < r1; {
		x := &a.X.packed[a.X.tile(r)]
		if n := (r1 - r) / InputRows; r >= r0 && n > 0 {
			amxRows32(blocks, x, b, &row(r)[0], 1, a.X.step*4, n, 0, nil, nil, 0, nil, 0, 0)
			r += n * InputRows
			continue
		}
		from, to := max(r, r0), min(r+InputRows, r1)
		part := grow(&p.sc.part, InputRows*NR)
		copy(part[(from-r)*NR:(to-r)*NR], row(from))
		amxRows32(blocks, x, b, &part[0], 1, 0, 1, 0, nil, nil, 0, nil, 0, 0)
		copy(row(from), part[(from-r)*NR:(to-r)*NR])
		r += InputRows
	}
}
