package main

// blockSteps is the number of pairs of a block of order Blocked.
const blockSteps = 16

// blockedFrame is the stack space for the processor's state and the sums of a block's even elements.
const blockedFrame = 16 + 32*avx2Sums

// blocks writes the walk of order Blocked: each block of 16 pairs is walked twice from zero, for the even and for the
// odd elements of the pairs, so that both have all the registers; the even sums are kept on the stack. c is in memory
// and takes part once in a block.
func (g avx2GEMM) blocks(a *asm, rows int) {
	block := a.newLabel("block")
	a.label(block)
	for i, f := range g.factors {
		g.clear(a, rows)
		a.ins("MOVL $%d, AX", blockSteps/g.unroll)
		loop := a.newLabel("pairs")
		a.label(loop)
		for s := range g.unroll {
			if i == 0 {
				a.fetch(s+blockSteps/2, g.width(rows)/2) // the half of this block that is to come is on its way
			}
			g.multiply(a, rows, f, 2*s+f.k, s*rowBytes)
		}
		g.advance(a, rows, g.unroll)
		a.ins("DECL AX")
		a.ins("JNE %s", loop)
		if i == 0 {
			g.advance(a, rows, -blockSteps)
			g.each(rows, func(y int) { a.ins("VMOVUPS Y%d, %d(SP)", y, 16+32*y) })
		}
	}
	g.each(rows, func(y int) { a.ins("VADDPS %d(SP), Y%d, Y%d", 16+32*y, y, y) })
	g.addTile(a, rows)
	g.moveTile(a, rows, func(reg, at string) { a.ins("VMOVUPS %s, %s", reg, at) })
	a.ins("MOVL $1, R9")
	a.ins("SUBQ $%d, CX", blockSteps)
	a.ins("JNE %s", block)
}

// addTile adds c, or zeros where it is not continued, to the sums.
func (g avx2GEMM) addTile(a *asm, rows int) {
	add, done := a.newLabel("add"), a.newLabel("done")
	a.ins("TESTQ R9, R9")
	a.ins("JNE %s", add)
	a.clear("Y15")
	g.each(rows, func(y int) { a.ins("VADDPS Y15, Y%d, Y%d", y, y) })
	a.ins("JMP %s", done)
	a.label(add)
	g.moveTile(a, rows, func(reg, at string) { a.ins("VADDPS %s, %s, %s", at, reg, reg) })
	a.label(done)
}

// each calls f with the number of every register of the tile.
func (g avx2GEMM) each(rows int, f func(y int)) {
	for y := range rows * g.width(rows) {
		f(y)
	}
}
