package main

// The registers of exp: its constants, in the order of expConstants.
const (
	expLow = 16 + iota
	expHigh
	expLog2e
	expLn2High
	expLn2Low
	exp6
	exp5
	exp4
	exp3
	exp2
	expOne
)

// expConstants fills the registers from V16 on with the constants of exp32.
func (a arm) expConstants() {
	for i, c := range []float32{-104, 89, 1.44269504, 0.693359375, -2.12194440e-4, 0.0013814535, 0.008368745,
		0.041668393, 0.16666521, 0.49999994, 1} {
		a.float(c, expLow+i)
	}
}

// exp sets V8 … V11 to the exponentials of V0 … V3, using V4 … V7 and V12 … V15, in the steps of exp32. The
// power 2^n is the product of 2^a and 2^(n-a), a = n/2 rounded down: the first product is exact and the second rounds
// once.
func (a arm) exp() {
	each := func(op, d, n, m int, stepD, stepN, stepM int) {
		neonFour(func(i int) { a.op(op, d+stepD*i, n+stepN*i, m+stepM*i) })
	}
	each(fcmgt, 12, expLow, 0, 1, 0, 1)
	each(bit, 0, expLow, 12, 1, 0, 1)
	each(fcmgt, 12, 0, expHigh, 1, 1, 0)
	each(bit, 0, expHigh, 12, 1, 0, 1)
	each(fmul, 4, 0, expLog2e, 1, 1, 0)
	each(frintn, 4, 4, 0, 1, 1, 0)
	each(fmls, 0, 4, expLn2High, 1, 1, 0)
	each(fmls, 0, 4, expLn2Low, 1, 1, 0)
	neonFour(func(i int) { a.move(8+i, exp6) })
	from, to := 8, 12
	for _, c := range []int{exp5, exp4, exp3, exp2, expOne, expOne} {
		neonFour(func(i int) { a.move(to+i, c) })
		each(fmla, to, from, 0, 1, 1, 1)
		from, to = to, from
	}
	each(fcvtns, 4, 4, 0, 1, 1, 0)
	neonFour(func(i int) { a.shift("SSHR", 1, 12+i, 4+i) })
	each(subW, 4, 4, 12, 1, 1, 1)
	a.number(127, 31)
	for _, power := range []int{12, 4} {
		each(addW, power, power, 31, 1, 1, 0)
		neonFour(func(i int) { a.shift("SHL", 23, power+i, power+i) })
		each(fmul, 8, 8, power, 1, 1, 1)
	}
}

func neonExponentials(a arm) {
	src, sub := ptr("src", "R2"), scalar("sub", "F27")
	a.sums("neonExp", "sets dst to s*exp(src-sub) and adds it to the lanes of sums.",
		[]param{ptr("dst", "R1"), src, sub, scalar("s", "F28"), ptr("sums", "R3")}, func() {
			neonFour(func(i int) { a.op(fmul, 8+i, 8+i, 28) })
			a.store(8, "R1")
		})
	a.sums("neonExpSum", "adds exp(src-sub) to the lanes of sums.", []param{src, sub, ptr("sums", "R3")},
		func() {})
}

// sums writes a kernel of exponentials in V8 … V11. The lanes are in memory: there are not enough registers.
func (a arm) sums(name, doc string, params []param, then func()) {
	a.fn(name, doc, "", 0, append([]param{num("blocks", "R0")}, params...)...)
	for _, p := range params {
		if p.kind == "float32" {
			a.ins("VDUP V%s.S[0], V%s.S4", p.reg[1:], p.reg[1:])
		}
	}
	a.expConstants()
	loop, done := a.newLabel("loop"), a.newLabel("done")
	a.ins("CBZ R0, %s", done)
	a.label(loop)
	a.load("R2", 0)
	neonFour(func(i int) { a.op(fsub, i, i, 27) })
	a.exp()
	then()
	a.load("R3", 0)
	neonFour(func(i int) { a.op(fadd, i, i, 8+i) })
	a.store(0, "R3")
	for _, p := range params[:len(params)-1] {
		if p.kind == "*float32" {
			a.ins("ADD $64, %s", p.reg)
		}
	}
	a.ins("SUBS $1, R0")
	a.ins("BNE %s", loop)
	a.label(done)
	a.ins("RET")
}

func neonSiLU(a arm) {
	denominator := func(gate string) { // V8 … V11 = 1+exp(-gate), V0 … V3 = gate
		a.load(gate, 0)
		neonFour(func(i int) { a.op(fneg, i, i, 0) })
		a.exp()
		neonFour(func(i int) { a.op(fadd, 8+i, 8+i, expOne) })
		a.load(gate, 0)
	}
	a.blocks("neonSiLUMul", "sets dst to silu(gate)*up.",
		[]param{ptr("dst", "R1"), ptr("gate", "R2"), ptr("up", "R3")}, -1, a.expConstants, func() {
			denominator("R2")
			a.load("R3", 4)
			neonFour(func(i int) { a.op(fdiv, i, i, 8+i) })
			neonFour(func(i int) { a.op(fmul, i, i, 4+i) })
			a.store(0, "R1")
		})
	a.blocks("neonSiLUMulBackward", "sets dgate and dup to the gradients of silu(gate)*up under dout.",
		[]param{ptr("dgate", "R1"), ptr("dup", "R2"), ptr("dout", "R3"), ptr("gate", "R4"), ptr("up", "R5")}, -1,
		a.expConstants, func() {
			denominator("R4")
			neonFour(func(i int) { a.op(fdiv, 8+i, expOne, 8+i) }) // s
			a.load("R3", 4)
			a.load("R5", 12)
			neonFour(func(i int) {
				g, d, u, s := i, 4+i, 12+i, 8+i
				a.op(fmul, 27, d, g)
				a.op(fmul, 27, 27, s)
				a.op(fmul, 28, d, u)
				a.op(fmul, 28, 28, s)
				a.op(fsub, 29, expOne, s)
				a.move(30, expOne)
				a.op(fmla, 30, g, 29) // g*(1-s)+1
				a.op(fmul, 28, 28, 30)
				a.ins("FMOVQ F27, %d(R2)", 16*i)
				a.ins("FMOVQ F28, %d(R1)", 16*i)
			})
		})
}
