package main

// round rounds V v and the next three to bf16: nearest even, subnormals to zeros of their sign, NaN quiet. It uses
// V 16 … 31 and the constants of roundConstants.
func (a arm) round(v int) {
	neonFour(func(i int) {
		x := v + i
		a.shift("USHR", 16, 16, x)
		a.op(and, 16, 16, 24)
		a.op(addW, 16, 16, 25)
		a.op(addW, 16, 16, x) // rounded, in the high half
		a.op(orr, 17, x, 26)  // quiet
		a.op(fcmeq, 18, x, x)
		a.op(bit, 17, 16, 18)
		a.op(and, 17, 17, 27)
		a.op(and, 18, x, 28)
		a.op(cmeqW, 18, 18, 30) // subnormal or zero
		a.op(and, 16, x, 29)
		a.op(bit, 17, 16, 18)
		a.move(x, 17)
	})
}

func (a arm) roundConstants() {
	for i, c := range []uint32{1, 0x7fff, 0x00400000, 0xffff0000, 0x7f800000, 0x80000000} {
		a.number(c, 24+i)
	}
	a.clear(30)
}

func neonRounding(a arm) {
	a.blocks("neonRoundBF16", "sets dst to x rounded to bf16.", []param{ptr("dst", "R1"), ptr("x", "R2")}, -1,
		a.roundConstants, func() {
			a.load("R2", 0)
			a.round(0)
			a.store(0, "R1")
		})
	narrow := "writes blocks of 16 values of x as bf16, closely."
	a.fn("neonPackPairs", narrow, "", 0, num("blocks", "R0"), ptr("dst", "R1"), ptr("x", "R2"))
	a.loop(a.roundConstants, func() {
		a.load("R2", 0)
		a.round(0)
		neonFour(func(i int) { a.narrow(4+i/2, i, i%2 == 1) })
		a.ins("FMOVQ F4, (R1)")
		a.ins("FMOVQ F5, 16(R1)")
		a.ins("ADD $32, R1")
		a.ins("ADD $64, R2")
	})
	a.fn("neonPackRowPairs", "writes rows of 32 pairs of a panel: dst[k*32+j] = src[2k][j] as bf16, and "+
		"src[2k+1][j] above it; rows of src are ld bytes apart.", "", 0, num("n", "R0"), ptr("dst", "R1"),
		ptr("src", "R2"), num("ld", "R3"))
	a.loop(a.roundConstants, func() {
		a.ins("ADD R2, R3, R4")
		for half := range 2 {
			a.ins("ADD $%d, R2, R5", 64*half)
			a.load("R5", 0)
			a.ins("ADD $%d, R4, R5", 64*half)
			a.load("R5", 4)
			a.round(0)
			a.round(4)
			neonFour(func(i int) {
				a.shift("USHR", 16, i, i)
				a.op(orr, i, i, 4+i)
			})
			a.ins("ADD $%d, R1, R5", 64*half)
			a.store(0, "R5")
		}
		a.ins("ADD R3<<1, R2, R2")
		a.ins("ADD $128, R1")
	})
}

// neonTransposeWords transposes blocks of 8 rows of 4 words. flush takes subnormal halves to zeros of their sign.
func neonTransposeWords(a arm, name, what string, flush bool) {
	a.fn(name, "writes n blocks "+what+" from 8 rows, ld bytes apart, as 4 n rows of a panel: dst[k*32+i] = "+
		"src[i][k].", "", 0, num("n", "R0"), ptr("dst", "R1"), ptr("src", "R8"), num("ld", "R2"))
	for i := 1; i < 8; i++ {
		a.ins("ADD R2, R%d, R%d", 7+i, 8+i)
	}
	a.loop(func() {
		if flush {
			a.number(0x7f807f80, 28)
			a.number(0x7fff7fff, 29)
			a.clear(30)
		}
	}, func() {
		for i := range 8 {
			a.ins("FMOVQ.P 16(R%d), F%d", 8+i, i)
			if flush {
				a.flushHalves(i)
			}
		}
		for half := range 2 {
			first, pairs, rows := 4*half, 8+4*half, 16+4*half
			for i := range 2 { // rows i and 2+i, then all four
				a.ins("VZIP1 V%d.S4, V%d.S4, V%d.S4", first+2+i, first+i, pairs+2*i)
				a.ins("VZIP2 V%d.S4, V%d.S4, V%d.S4", first+2+i, first+i, pairs+2*i+1)
			}
			for i := range 2 {
				a.ins("VZIP1 V%d.S4, V%d.S4, V%d.S4", pairs+2+i, pairs+i, rows+2*i)
				a.ins("VZIP2 V%d.S4, V%d.S4, V%d.S4", pairs+2+i, pairs+i, rows+2*i+1)
			}
		}
		for c := range 4 {
			a.ins("FMOVQ F%d, %d(R1)", 16+c, rowBytes*c)
			a.ins("FMOVQ F%d, %d(R1)", 20+c, rowBytes*c+16)
		}
		a.ins("ADD $%d, R1", 4*rowBytes)
	})
}

// flushHalves takes the subnormal halves of V v to zeros of their sign, using V24 and the constants V28 … V30.
func (a arm) flushHalves(v int) {
	a.ins("VAND V28.B16, V%d.B16, V24.B16", v)
	a.ins("VCMEQ V30.H8, V24.H8, V24.H8")
	a.ins("VAND V29.B16, V24.B16, V24.B16")
	a.op(bic, v, v, 24)
}

// neonTransposePairs transposes blocks of 16 rows of 32 words, pairs of k for 32 columns n, into pairs of n for 32
// columns k. Of two rows and four columns, the even halves are collected in one register and the odd ones in another;
// their even words, side by side, are a piece of one row of the result, and their odd words of the next.
func neonTransposePairs(a arm) {
	a.fn("neonTransposePairs", "writes n blocks of 16 rows of a panel, pairs of k by columns n, as pairs of n by "+
		"columns k. Blocks of src follow each other, those of dst are step bytes apart. What lies ahead bytes behind "+
		"a block of src is prefetched.", "", 0, num("n", "R0"), ptr("dst", "R1"), ptr("src", "R2"), num("step", "R3"),
		num("ahead", "R4"))
	a.loop(func() {}, func() {
		rows := a.newLabel("rows")
		a.ins("MOVD R1, R5")
		a.ins("MOVD $8, R6")
		a.label(rows)
		a.ins("ADD R4, R2, R7")
		for line := 0; line < 2*rowBytes; line += 64 {
			a.ins("PRFM %d(R7), PLDL2KEEP", line)
		}
		for j := range 8 {
			v := j % 4 * 4
			a.ins("FMOVQ %d(R2), F%d", 16*j, v)
			a.ins("FMOVQ %d(R2), F%d", rowBytes+16*j, v+1)
			a.ins("VUZP1 V%d.H8, V%d.H8, V%d.H8", v+1, v, v+2)
			a.ins("VUZP2 V%d.H8, V%d.H8, V%d.H8", v+1, v, v+3)
			a.ins("VTRN1 V%d.S4, V%d.S4, V%d.S4", v+3, v+2, v)
			a.ins("VTRN2 V%d.S4, V%d.S4, V%d.S4", v+3, v+2, v+1)
			a.ins("FMOVQ F%d, %d(R5)", v, 2*j*rowBytes)
			a.ins("FMOVQ F%d, %d(R5)", v+1, (2*j+1)*rowBytes)
		}
		a.ins("ADD $%d, R2", 2*rowBytes)
		a.ins("ADD $16, R5")
		a.ins("SUBS $1, R6")
		a.ins("BNE %s", rows)
		a.ins("ADD R3, R1")
	})
}
