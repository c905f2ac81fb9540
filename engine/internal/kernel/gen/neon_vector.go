package main

import "math"

// The vector functions of NEON take whole blocks of 16 floats, four registers of them; what is left is the caller's.
// Go's assembler has no mnemonics for arithmetic on vectors of float32: neonOp writes the bits, which are those of the
// Arm Architecture Reference Manual.

// The instructions on vectors of four words: operands V d, V n, V m.
const (
	fadd   = 0x4e20d400
	fsub   = 0x4ea0d400
	fmul   = 0x6e20dc00
	fdiv   = 0x6e20fc00
	fmla   = 0x4e20cc00 // d += n*m, fused
	fmls   = 0x4ea0cc00 // d -= n*m, fused
	fcmgt  = 0x6ea0e400 // n > m, not so if one is NaN
	fcmeq  = 0x4e20e400
	bit    = 0x6ea01c00 // d = n where m has ones
	and    = 0x4e201c00
	orr    = 0x4ea01c00
	bic    = 0x4e601c00 // n and not m
	addW   = 0x4ea08400 // of integers
	subW   = 0x6ea08400
	cmeqW  = 0x6ea08c00
	fneg   = 0x6ea0f800 // m is not used by this one and the next
	frintn = 0x4e218800 // to the nearest integer, halves to even
	fcvtns = 0x4e21a800 // the same as an integer, 0 for NaN
)

// neonNames are those of the assembly's comments.
var neonNames = map[int]string{fadd: "FADD", fsub: "FSUB", fmul: "FMUL", fdiv: "FDIV", fmla: "FMLA", fmls: "FMLS",
	fcmgt: "FCMGT", fcmeq: "FCMEQ", bit: "BIT", and: "AND", orr: "ORR", bic: "BIC", addW: "ADD", subW: "SUB",
	cmeqW: "CMEQ", fneg: "FNEG", frintn: "FRINTN", fcvtns: "FCVTNS"}

// neonOp writes an instruction on V d, V n and V m.
func (a *asm) neonOp(op, d, n, m int) {
	word := op | m<<16 | n<<5 | d
	if op == fneg || op == frintn || op == fcvtns {
		word = op | n<<5 | d
		a.ins("WORD $%#08x // %s V%d.4S, V%d.4S", word, neonNames[op], d, n)
		return
	}
	a.ins("WORD $%#08x // %s V%d.4S, V%d.4S, V%d.4S", word, neonNames[op], d, n, m)
}

// neonShift writes a shift of V n to V d by a number of bits.
func (a *asm) neonShift(op string, bits, d, n int) {
	word := map[string]int{"SHL": 0x4f005400 | (32+bits)<<16, "SSHR": 0x4f000400 | (64-bits)<<16,
		"USHR": 0x6f000400 | (64-bits)<<16}[op] | n<<5 | d
	a.ins("WORD $%#08x // %s V%d.4S, V%d.4S, #%d", word, op, d, n, bits)
}

// neonNarrow writes the low halves of V n, shifted right by 16 bits, to the low or the high half of V d.
func (a *asm) neonNarrow(d, n int, high bool) {
	word, name := 0x0f108400, "SHRN"
	if high {
		word, name = 0x4f108400, "SHRN2"
	}
	a.ins("WORD $%#08x // %s V%d, V%d.4S, #16", word|n<<5|d, name, d, n)
}

func (a *asm) neonMove(d, n int) { a.neonOp(orr, d, n, n) }

// neonNumber fills V v with a word, neonFloat with a float32.
func (a *asm) neonNumber(word uint32, v int) {
	a.ins("MOVW $%#x, R20", word)
	a.ins("VDUP R20, V%d.S4", v)
}

func (a *asm) neonFloat(x float32, v int) { a.neonNumber(math.Float32bits(x), v) }

// neonLoad reads 16 floats at a pointer to V v and the next three, neonStore writes them.
func (a *asm) neonLoad(pointer string, v int) {
	for i := range 4 {
		a.ins("FMOVQ %d(%s), F%d", 16*i, pointer, v+i)
	}
}

func (a *asm) neonStore(v int, pointer string) {
	for i := range 4 {
		a.ins("FMOVQ F%d, %d(%s)", v+i, 16*i, pointer)
	}
}

// neonBlocks writes a function that calls body for each of R0 blocks, after which the pointers are at the next one.
// setup comes before the first, end after the last; sums says that the last pointer is to 16 lanes, read to V v0 and
// the next three before and written after.
func (a *asm) neonBlocks(name, doc string, params []param, sums int, setup, body func()) {
	var pointers []string
	all := append([]param{num("blocks", "R0")}, params...)
	a.neonFn(name, doc, "", 0, all...)
	for _, p := range params {
		if p.kind == "*float32" {
			pointers = append(pointers, p.reg)
		} else {
			a.ins("VDUP V%s.S[0], V%s.S4", p.reg[1:], p.reg[1:])
		}
	}
	lanes := ""
	if sums >= 0 {
		lanes, pointers = pointers[len(pointers)-1], pointers[:len(pointers)-1]
		a.neonLoad(lanes, sums)
	}
	setup()
	loop, done := a.newLabel("loop"), a.newLabel("done")
	a.ins("CBZ R0, %s", done)
	a.label(loop)
	body()
	for _, p := range pointers {
		a.ins("ADD $64, %s", p)
	}
	a.ins("SUBS $1, R0")
	a.ins("BNE %s", loop)
	a.label(done)
	if sums >= 0 {
		a.neonStore(sums, lanes)
	}
	a.ins("RET")
}

// neonFour calls f for each of four registers.
func neonFour(f func(i int)) {
	for i := range 4 {
		f(i)
	}
}

func neonVectorFunctions(a *asm) {
	neonReductions(a)
	neonExponentials(a)
	neonSiLU(a)
	neonElements(a)
	neonRounding(a)
	neonRotation(a)
	neonPeaks(a)
}

func neonReductions(a *asm) {
	x, y, sums := ptr("x", "R1"), ptr("y", "R2"), ptr("sums", "R3")
	a.neonBlocks("neonDot", "adds x*y to the lanes of sums, fused.", []param{x, y, sums}, 16, func() {}, func() {
		a.neonLoad("R1", 0)
		a.neonLoad("R2", 4)
		neonFour(func(i int) { a.neonOp(fmla, 16+i, i, 4+i) })
	})
	a.neonBlocks("neonMax", "takes greater elements of x to the lanes of top.",
		[]param{x, ptr("top", "R3")}, 16, func() {}, func() {
			a.neonLoad("R1", 0)
			neonFour(func(i int) { a.neonOp(fcmgt, 4+i, i, 16+i) })
			neonFour(func(i int) { a.neonOp(bit, 16+i, i, 4+i) })
		})
}

// The registers of neonExp: its constants, in the order of neonExpConstants.
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

// neonExpConstants fills the registers from V16 on with the constants of exp32.
func (a *asm) neonExpConstants() {
	for i, c := range []float32{-104, 89, 1.44269504, 0.693359375, -2.12194440e-4, 0.0013814535, 0.008368745,
		0.041668393, 0.16666521, 0.49999994, 1} {
		a.neonFloat(c, expLow+i)
	}
}

// neonExp sets V8 … V11 to the exponentials of V0 … V3, using V4 … V7 and V12 … V15, in the steps of exp32. The power
// 2^n is the product of 2^a and 2^(n-a), a = n/2 rounded down: the first product is exact and the second rounds once.
func (a *asm) neonExp() {
	each := func(op, d, n, m int, stepD, stepN, stepM int) {
		neonFour(func(i int) { a.neonOp(op, d+stepD*i, n+stepN*i, m+stepM*i) })
	}
	each(fcmgt, 12, expLow, 0, 1, 0, 1)
	each(bit, 0, expLow, 12, 1, 0, 1)
	each(fcmgt, 12, 0, expHigh, 1, 1, 0)
	each(bit, 0, expHigh, 12, 1, 0, 1)
	each(fmul, 4, 0, expLog2e, 1, 1, 0)
	each(frintn, 4, 4, 0, 1, 1, 0)
	each(fmls, 0, 4, expLn2High, 1, 1, 0)
	each(fmls, 0, 4, expLn2Low, 1, 1, 0)
	neonFour(func(i int) { a.neonMove(8+i, exp6) })
	from, to := 8, 12
	for _, c := range []int{exp5, exp4, exp3, exp2, expOne, expOne} {
		neonFour(func(i int) { a.neonMove(to+i, c) })
		each(fmla, to, from, 0, 1, 1, 1)
		from, to = to, from
	}
	each(fcvtns, 4, 4, 0, 1, 1, 0)
	neonFour(func(i int) { a.neonShift("SSHR", 1, 12+i, 4+i) })
	each(subW, 4, 4, 12, 1, 1, 1)
	a.neonNumber(127, 31)
	for _, power := range []int{12, 4} {
		each(addW, power, power, 31, 1, 1, 0)
		neonFour(func(i int) { a.neonShift("SHL", 23, power+i, power+i) })
		each(fmul, 8, 8, power, 1, 1, 1)
	}
}

func neonExponentials(a *asm) {
	src, sub := ptr("src", "R2"), scalar("sub", "F27")
	a.neonSums("neonExp", "sets dst to s*exp(src-sub) and adds it to the lanes of sums.",
		[]param{ptr("dst", "R1"), src, sub, scalar("s", "F28"), ptr("sums", "R3")}, func() {
			neonFour(func(i int) { a.neonOp(fmul, 8+i, 8+i, 28) })
			a.neonStore(8, "R1")
		})
	a.neonSums("neonExpSum", "adds exp(src-sub) to the lanes of sums.", []param{src, sub, ptr("sums", "R3")}, func() {})
}

// neonSums writes a kernel of exponentials in V8 … V11. The lanes are in memory: there are not enough registers.
func (a *asm) neonSums(name, doc string, params []param, then func()) {
	lanes := params[len(params)-1]
	params = append(params[:len(params)-1:len(params)-1], lanes)
	a.neonFn(name, doc, "", 0, append([]param{num("blocks", "R0")}, params...)...)
	for _, p := range params {
		if p.kind == "float32" {
			a.ins("VDUP V%s.S[0], V%s.S4", p.reg[1:], p.reg[1:])
		}
	}
	a.neonExpConstants()
	loop, done := a.newLabel("loop"), a.newLabel("done")
	a.ins("CBZ R0, %s", done)
	a.label(loop)
	a.neonLoad("R2", 0)
	neonFour(func(i int) { a.neonOp(fsub, i, i, 27) })
	a.neonExp()
	then()
	a.neonLoad("R3", 0)
	neonFour(func(i int) { a.neonOp(fadd, i, i, 8+i) })
	a.neonStore(0, "R3")
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

func neonSiLU(a *asm) {
	denominator := func(gate string) { // V8 … V11 = 1+exp(-gate), V0 … V3 = gate
		a.neonLoad(gate, 0)
		neonFour(func(i int) { a.neonOp(fneg, i, i, 0) })
		a.neonExp()
		neonFour(func(i int) { a.neonOp(fadd, 8+i, 8+i, expOne) })
		a.neonLoad(gate, 0)
	}
	a.neonBlocks("neonSiLUMul", "sets dst to silu(gate)*up.",
		[]param{ptr("dst", "R1"), ptr("gate", "R2"), ptr("up", "R3")}, -1, a.neonExpConstants, func() {
			denominator("R2")
			a.neonLoad("R3", 4)
			neonFour(func(i int) { a.neonOp(fdiv, i, i, 8+i) })
			neonFour(func(i int) { a.neonOp(fmul, i, i, 4+i) })
			a.neonStore(0, "R1")
		})
	a.neonBlocks("neonSiLUMulBackward", "sets dgate and dup to the gradients of silu(gate)*up under dout.",
		[]param{ptr("dgate", "R1"), ptr("dup", "R2"), ptr("dout", "R3"), ptr("gate", "R4"), ptr("up", "R5")}, -1,
		a.neonExpConstants, func() {
			denominator("R4")
			neonFour(func(i int) { a.neonOp(fdiv, 8+i, expOne, 8+i) }) // s
			a.neonLoad("R3", 4)
			a.neonLoad("R5", 12)
			neonFour(func(i int) {
				g, d, u, s := i, 4+i, 12+i, 8+i
				a.neonOp(fmul, 27, d, g)
				a.neonOp(fmul, 27, 27, s)
				a.neonOp(fmul, 28, d, u)
				a.neonOp(fmul, 28, 28, s)
				a.neonOp(fsub, 29, expOne, s)
				a.neonMove(30, expOne)
				a.neonOp(fmla, 30, g, 29) // g*(1-s)+1
				a.neonOp(fmul, 28, 28, 30)
				a.ins("FMOVQ F27, %d(R2)", 16*i)
				a.ins("FMOVQ F28, %d(R1)", 16*i)
			})
		})
}

func neonElements(a *asm) {
	dst, x, y, s := ptr("dst", "R1"), ptr("x", "R2"), ptr("y", "R3"), scalar("s", "F27")
	each := func(op, d, n, m, stepM int) {
		neonFour(func(i int) { a.neonOp(op, d+i, n+i, m+stepM*i) })
	}
	simple := func(name, doc string, params []param, loads []string, body func()) {
		a.neonBlocks(name, doc, params, -1, func() {}, func() {
			for i, p := range loads {
				a.neonLoad(p, 4*i)
			}
			body()
			a.neonStore(0, "R1")
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

// neonRound rounds V v and the next three to bf16: nearest even, subnormals to zeros of their sign, NaN quiet. It uses
// V 16 … 31 and the constants of neonRoundConstants.
func (a *asm) neonRound(v int) {
	neonFour(func(i int) {
		x := v + i
		a.neonShift("USHR", 16, 16, x)
		a.neonOp(and, 16, 16, 24)
		a.neonOp(addW, 16, 16, 25)
		a.neonOp(addW, 16, 16, x) // rounded, in the high half
		a.neonOp(orr, 17, x, 26)  // quiet
		a.neonOp(fcmeq, 18, x, x)
		a.neonOp(bit, 17, 16, 18)
		a.neonOp(and, 17, 17, 27)
		a.neonOp(and, 18, x, 28)
		a.neonOp(cmeqW, 18, 18, 30) // subnormal or zero
		a.neonOp(and, 16, x, 29)
		a.neonOp(bit, 17, 16, 18)
		a.neonMove(x, 17)
	})
}

func (a *asm) neonRoundConstants() {
	for i, c := range []uint32{1, 0x7fff, 0x00400000, 0xffff0000, 0x7f800000, 0x80000000} {
		a.neonNumber(c, 24+i)
	}
	a.neonClear(30)
}

func neonRounding(a *asm) {
	a.neonBlocks("neonRoundBF16", "sets dst to x rounded to bf16.", []param{ptr("dst", "R1"), ptr("x", "R2")}, -1,
		a.neonRoundConstants, func() {
			a.neonLoad("R2", 0)
			a.neonRound(0)
			a.neonStore(0, "R1")
		})
	narrow := "writes blocks of 16 values of x as bf16, closely."
	a.neonFn("neonPackPairs", narrow, "", 0, num("blocks", "R0"), ptr("dst", "R1"), ptr("x", "R2"))
	a.neonLoop(a.neonRoundConstants, func() {
		a.neonLoad("R2", 0)
		a.neonRound(0)
		neonFour(func(i int) { a.neonNarrow(4+i/2, i, i%2 == 1) })
		a.ins("FMOVQ F4, (R1)")
		a.ins("FMOVQ F5, 16(R1)")
		a.ins("ADD $32, R1")
		a.ins("ADD $64, R2")
	})
	a.neonFn("neonPackRowPairs", "writes rows of 32 pairs of a panel: dst[k*32+j] = src[2k][j] as bf16, and src[2k+1][j] "+
		"above it; rows of src are ld bytes apart.", "", 0, num("n", "R0"), ptr("dst", "R1"), ptr("src", "R2"),
		num("ld", "R3"))
	a.neonLoop(a.neonRoundConstants, func() {
		a.ins("ADD R2, R3, R4")
		for half := range 2 {
			a.ins("ADD $%d, R2, R5", 64*half)
			a.neonLoad("R5", 0)
			a.ins("ADD $%d, R4, R5", 64*half)
			a.neonLoad("R5", 4)
			a.neonRound(0)
			a.neonRound(4)
			neonFour(func(i int) {
				a.neonShift("USHR", 16, i, i)
				a.neonOp(orr, i, i, 4+i)
			})
			a.ins("ADD $%d, R1, R5", 64*half)
			a.neonStore(0, "R5")
		}
		a.ins("ADD R3<<1, R2, R2")
		a.ins("ADD $128, R1")
	})
}

// neonLoop writes a loop of R0 rounds and the end of the function.
func (a *asm) neonLoop(setup, body func()) {
	loop, done := a.newLabel("loop"), a.newLabel("done")
	setup()
	a.ins("CBZ R0, %s", done)
	a.label(loop)
	body()
	a.ins("SUBS $1, R0")
	a.ins("BNE %s", loop)
	a.label(done)
	a.ins("RET")
}

func neonRotation(a *asm) {
	a.neonBlocks("neonRotate", "rotates pairs of x0 and x1 by the angles whose cosines and sines are in cos and sin, "+
		"the sines times s, into y0 and y1.", []param{ptr("y0", "R1"), ptr("y1", "R2"), ptr("x0", "R3"),
		ptr("x1", "R4"), ptr("cos", "R5"), ptr("sin", "R6"), scalar("s", "F27")}, -1, func() {}, func() {
		for i, p := range []string{"R3", "R4", "R5", "R6"} {
			a.neonLoad(p, 4*i)
		}
		neonFour(func(i int) {
			x, y, cos, sin := i, 4+i, 8+i, 12+i
			a.neonOp(fmul, sin, sin, 27)
			a.neonOp(fmul, 16+i, x, cos)
			a.neonOp(fmul, 20, y, sin)
			a.neonOp(fsub, 16+i, 16+i, 20)
			a.neonOp(fmul, 20, y, cos)
			a.neonOp(fmul, 21, x, sin)
			a.neonOp(fadd, 22+i%2, 20, 21)
			a.ins("FMOVQ F%d, %d(R1)", 16+i, 16*i)
			a.ins("FMOVQ F%d, %d(R2)", 22+i%2, 16*i)
		})
	})
}

// neonPeaks writes the loops that measure the arithmetic units; see peaks.
func neonPeaks(a *asm) {
	for _, bf16 := range []bool{false, true} {
		name, what := "neonPeak", "float32 fused multiply-adds of 4 lanes"
		if bf16 {
			name, what = "neonPeakDot", "BFMLALB or BFMLALT"
		}
		a.neonFn(name, "runs n times 24 "+what+" in registers, of the 16 floats at data.", "", 0, num("n", "R0"),
			ptr("data", "R1"))
		a.neonLoop(func() {
			a.neonLoad("R1", 0)
			for v := 8; v < 32; v++ {
				a.neonClear(v)
			}
		}, func() {
			for v := 8; v < 32; v++ {
				if bf16 {
					a.bfmlal(v, v%2, 2+v/2%2, v%8)
				} else {
					a.neonOp(fmla, v, v%2, 2+v/2%2)
				}
			}
		})
	}
}
