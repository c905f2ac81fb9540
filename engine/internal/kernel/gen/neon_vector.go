package main

// neonVectorFunctions writes the vector functions. They take whole blocks of 16 floats, four registers of them; what is
// left is the caller's.
func neonVectorFunctions(a arm) {
	neonReductions(a)
	neonExponentials(a)
	neonSiLU(a)
	neonElements(a)
	neonRounding(a)
	neonTransposeWords(a, "neonTransposeWords", "of 4 words", false)
	neonTransposeWords(a, "neonTransposeBits", "of 4 pairs of bf16 values, whose subnormals become zeros,", true)
	neonTransposePairs(a)
	neonRotation(a)
	neonPeaks(a)
}

func neonReductions(a arm) {
	x, y, sums := ptr("x", "R1"), ptr("y", "R2"), ptr("sums", "R3")
	a.blocks("neonDot", "adds x*y to the lanes of sums, fused.", []param{x, y, sums}, 16, func() {}, func() {
		a.load("R1", 0)
		a.load("R2", 4)
		neonFour(func(i int) { a.op(fmla, 16+i, i, 4+i) })
	})
	a.blocks("neonMax", "takes greater elements of x to the lanes of top.",
		[]param{x, ptr("top", "R3")}, 16, func() {}, func() {
			a.load("R1", 0)
			neonFour(func(i int) { a.op(fcmgt, 4+i, i, 16+i) })
			neonFour(func(i int) { a.op(bit, 16+i, i, 4+i) })
		})
}

func neonElements(a arm) {
	dst, x, y, s := ptr("dst", "R1"), ptr("x", "R2"), ptr("y", "R3"), scalar("s", "F27")
	each := func(op, d, n, m, stepM int) {
		neonFour(func(i int) { a.op(op, d+i, n+i, m+stepM*i) })
	}
	simple := func(name, doc string, params []param, loads []string, body func()) {
		a.blocks(name, doc, params, -1, func() {}, func() {
			for i, p := range loads {
				a.load(p, 4*i)
			}
			body()
			a.store(0, "R1")
		})
	}
	simple("neonScaleMul", "sets dst to (x*s)*y.", []param{dst, x, y, s}, []string{"R2", "R3"}, func() {
		each(fmul, 0, 0, 27, 0)
		each(fmul, 0, 0, 4, 1)
	})
	simple("neonMul", "sets dst to x*y.", []param{dst, x, y}, []string{"R2", "R3"}, func() { each(fmul, 0, 0, 4, 1) })
	simple("neonAdd", "adds x to dst.", []param{dst, x}, []string{"R1", "R2"}, func() { each(fadd, 0, 0, 4, 1) })
	simple("neonScale", "multiplies dst by s.", []param{dst, s}, []string{"R1"}, func() { each(fmul, 0, 0, 27, 0) })
	simple("neonAXPY", "adds s*x to dst, fused.", []param{dst, x, s}, []string{"R1", "R2"}, func() {
		each(fmla, 0, 4, 27, 0)
	})
}

func neonRotation(a arm) {
	a.blocks("neonRotate", "rotates pairs of x0 and x1 by the angles whose cosines and sines are in cos and sin, "+
		"the sines times s, into y0 and y1.", []param{ptr("y0", "R1"), ptr("y1", "R2"), ptr("x0", "R3"),
		ptr("x1", "R4"), ptr("cos", "R5"), ptr("sin", "R6"), scalar("s", "F27")}, -1, func() {}, func() {
		for i, p := range []string{"R3", "R4", "R5", "R6"} {
			a.load(p, 4*i)
		}
		neonFour(func(i int) {
			x, y, cos, sin := i, 4+i, 8+i, 12+i
			a.op(fmul, sin, sin, 27)
			a.op(fmul, 16+i, x, cos)
			a.op(fmul, 20, y, sin)
			a.op(fsub, 16+i, 16+i, 20)
			a.op(fmul, 20, y, cos)
			a.op(fmul, 21, x, sin)
			a.op(fadd, 22+i%2, 20, 21)
			a.ins("FMOVQ F%d, %d(R1)", 16+i, 16*i)
			a.ins("FMOVQ F%d, %d(R2)", 22+i%2, 16*i)
		})
	})
}

// neonPeaks writes the loops that measure the arithmetic units; see peaks.
func neonPeaks(a arm) {
	for _, bf16 := range []bool{false, true} {
		name, what := "neonPeak", "float32 fused multiply-adds of 4 lanes"
		if bf16 {
			name, what = "neonPeakDot", "BFMLALB or BFMLALT"
		}
		a.fn(name, "runs n times 24 "+what+" in registers, of the 16 floats at data.", "", 0, num("n", "R0"),
			ptr("data", "R1"))
		a.loop(func() {
			a.load("R1", 0)
			for v := 8; v < 32; v++ {
				a.clear(v)
			}
		}, func() {
			for v := 8; v < 32; v++ {
				if bf16 {
					a.bfmlal(v, v%2, 2+v/2%2, v%8)
				} else {
					a.op(fmla, v, v%2, 2+v/2%2)
				}
			}
		})
	}
}
