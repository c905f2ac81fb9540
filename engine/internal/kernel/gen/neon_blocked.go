package main

// blocks writes the walk of order Blocked: each block of 16 pairs is walked twice from zero, for the even and for the
// odd elements of the pairs; the even sums are kept on the stack. c is in memory and takes part once in a block.
func (t neonTile) blocks(failed string) {
	block := t.newLabel("block")
	n := t.perLoad()
	t.label(block)
	for k := range 2 {
		t.clearSums()
		t.ins("MOVD $%d, R7", blockSteps/n)
		loop := t.newLabel("pairs")
		t.label(loop)
		t.loadRows()
		for s := range n {
			if k == 0 {
				t.fetch(s)
			}
			t.half(s, k)
		}
		t.ins("ADD $%d, R1", n*rowBytes)
		t.ins("SUBS $1, R7")
		t.ins("BNE %s", loop)
		if k == 0 {
			t.ins("SUB $%d, R1", blockSteps*rowBytes)
			for i := range t.rows {
				t.ins("SUB $%d, %s", blockSteps/n*16, t.row(i))
			}
			t.eachSum(func(i, j, v int) { t.ins("FMOVQ F%d, even-%d(SP)", v, t.place(i, j)) })
		}
	}
	t.finishBlock(failed)
	t.ins("MOVD $1, R4")
	t.ins("SUBS $%d, R0", blockSteps)
	t.ins("BNE %s", block)
}

// place is the distance of a sum of even elements from the end of the frame.
func (t neonTile) place(i, j int) int { return 16 * (i*t.width() + j + 1) }

// half adds the products of the even (k = 0) or odd elements of step s.
func (t neonTile) half(s, k int) {
	group := min(t.width(), 2)
	for j := 0; j < t.width(); j += group {
		for v := range group {
			t.ins("FMOVQ %d(R1), F%d", s*rowBytes+16*(j+v), t.temp(v))
		}
		t.factors(s, j, group, k)
	}
}

// finishBlock adds the sums of the even elements to those of the odd ones, and c, or zeros where it is not continued.
func (t neonTile) finishBlock(failed string) {
	add, done := t.newLabel("add"), t.newLabel("done")
	t.eachSum(func(i, j, v int) {
		t.ins("FMOVQ even-%d(SP), F%d", t.place(i, j), t.temp(0))
		t.fadd(v, v, t.temp(0))
	})
	t.ins("CBNZ R4, %s", add)
	t.clear(t.temp(0))
	t.eachSum(func(_, _, v int) { t.fadd(v, v, t.temp(0)) })
	t.ins("B %s", done)
	t.label(add)
	t.moveTile(func(v int, at string) {
		t.ins("FMOVQ %s, F%d", at, t.temp(0))
		t.fadd(v, v, t.temp(0))
	})
	t.label(done)
	t.ifFlushed(failed)
	t.moveTile(func(v int, at string) { t.ins("FMOVQ F%d, %s", v, at) })
}

// fadd sets V d to V n + V m, float32: FADD (vector).
func (a arm) fadd(d, n, m int) {
	a.ins("WORD $%#08x // FADD V%d.S4, V%d.S4, V%d.S4", 0x4e20d400|m<<16|n<<5|d, d, n, m)
}
