package main

// neon emits the kernels of arm64.
func neon() arm {
	a := arm{&asm{}}
	for _, g := range []neonGEMM{neonRows, neonWide, neonWideBlocked, neonDot, neonDotBlocked} {
		g.emit(a)
	}
	neonVectorFunctions(a)
	return a
}

// arm emits arm64's instructions. A method that asm has too is NEON's.
type arm struct{ *asm }

// fn begins a function and loads its arguments: general registers, or F for a float32. result is the type of
// what it returns, or empty.
func (a arm) fn(name, doc, result string, frame int, params ...param) (ret int) {
	return a.begin(name, doc, result, frame, "MOVD", "FMOVS", params)
}

// fmlaLane adds V n times lane i of V m to V d, float32. Go's assembler has no multiplication by an element; the bits
// are those of FMLA (by element) in the Arm Architecture Reference Manual.
func (a arm) fmlaLane(d, n, m, i int) {
	word := 0x4f801000 | i&1<<21 | i>>1<<11 | m<<16 | n<<5 | d
	a.ins("WORD $%#08x // FMLA V%d.S4, V%d.S4, V%d.S[%d]", word, d, n, m, i)
}

// bfmlal adds the odd (i odd) or even elements of V n times element i of V m, m < 16, to V d: BFMLALT or BFMLALB (by
// element). The other factor of an odd element is an odd element.
func (a arm) bfmlal(d, n, m, i int) {
	word, name := 0x0fc0f000, "BFMLALB"
	if i&1 == 1 {
		word, name = 0x4fc0f000, "BFMLALT"
	}
	word |= i&1<<20 | i>>1&1<<21 | i>>2<<11 | m<<16 | n<<5 | d
	a.ins("WORD $%#08x // %s V%d.S4, V%d.H8, V%d.H[%d]", word, name, d, n, m, i)
}

// clear zeroes a register.
func (a arm) clear(v int) { a.ins("VEOR V%d.B16, V%d.B16, V%d.B16", v, v, v) }
