package main

import "fmt"

// loop writes a walk over CX floats, 16 at a time; the last ones run under mask K1.
func (a *asm) loop(pointers []string, body func(mask string)) {
	loop, tail, done := a.newLabel("loop"), a.newLabel("tail"), a.newLabel("done")
	a.ins("SUBQ $16, CX")
	a.ins("JLT %s", tail)
	a.ins("PCALIGN $32")
	a.label(loop)
	body("")
	for _, p := range pointers {
		a.ins("ADDQ $64, %s", p)
	}
	a.ins("SUBQ $16, CX")
	a.ins("JGE %s", loop)
	a.label(tail)
	a.ins("ADDQ $16, CX")
	a.ins("JEQ %s", done)
	a.tailMask("CX", "K1")
	body("K1, ")
	a.label(done)
}

// load reads 16 floats, zeros where the mask is off.
func (a *asm) load(p string, z int, mask string) {
	if mask == "" {
		a.ins("VMOVUPS (%s), Z%d", p, z)
		return
	}
	a.ins("VMOVUPS.Z (%s), %sZ%d", p, mask, z)
}

func (a *asm) store(z int, p, mask string) { a.ins("VMOVUPS Z%d, %s(%s)", z, mask, p) }

// reduceTo folds the lanes of Z0 by the tree 8-4-2-1 and returns the result at
// offset ret of the frame. Where op keeps one of two, the upper half is its first
// operand.
func (a *asm) reduceTo(op string, ret int) {
	a.ins("VEXTRACTF64X4 $1, Z0, Y1")
	a.ins("%s Y0, Y1, Y0", op)
	a.ins("VEXTRACTF128 $1, Y0, X1")
	a.ins("%s X0, X1, X0", op)
	a.ins("VPERMILPS $0x0e, X0, X1")
	a.ins("%s X0, X1, X0", op)
	a.ins("VPERMILPS $0x01, X0, X1")
	a.ins("%s X0, X1, X0", op)
	a.ins("MOVSS X0, ret+%d(FP)", ret)
	a.end()
}

// expConstants fills Z16 … Z26; the numbers are those of exp32.
func expConstants(a *asm) {
	for i, v := range []float32{
		1.44269504, -0.693359375, 2.12194440e-4,
		0.0013814535, 0.008368745, 0.041668393, 0.16666521, 0.49999994,
		1, -104, 89,
	} {
		a.broadcast(a.float(v), fmt.Sprintf("Z%d", 16+i))
	}
}

// exp sets Z0 to e^Z0, using Z1 and Z2.
func exp(a *asm) {
	a.ins("VMAXPS Z0, Z25, Z0")
	a.ins("VMINPS Z0, Z26, Z0")
	a.ins("VMULPS Z16, Z0, Z1")
	a.ins("VRNDSCALEPS $8, Z1, Z1")
	a.ins("VFMADD231PS Z17, Z1, Z0")
	a.ins("VFMADD231PS Z18, Z1, Z0")
	a.ins("VMOVAPS Z19, Z2")
	for _, c := range []int{20, 21, 22, 23, 24, 24} {
		a.ins("VFMADD213PS Z%d, Z0, Z2", c)
	}
	a.ins("VSCALEFPS Z1, Z2, Z0")
}

// vectors writes the element-wise kernels and the reductions.
func vectors(a *asm) {
	reductions(a)
	exponentials(a)
	silu(a)
	elementwise(a)
	rotation(a)
}

func reductions(a *asm) {
	a.fn("vecDot", "returns the lane sum of x*y.", 0, true, num("n", "CX"), ptr("x", "SI"), ptr("y", "DI"))
	a.zero("Z0")
	a.loop([]string{"SI", "DI"}, func(mask string) {
		a.load("SI", 1, mask)
		a.load("DI", 2, mask)
		a.ins("VFMADD231PS Z2, Z1, %sZ0", mask)
	})
	a.reduceTo("VADDPS", 24)

	a.fn("vecMax", "returns the largest element, +0 for any zero.", 0, true, num("n", "CX"), ptr("x", "SI"))
	for z := range 4 {
		a.broadcast(a.word(0xff800000), fmt.Sprintf("Z%d", z))
	}
	maxBlocks(a)
	a.loop([]string{"SI"}, func(mask string) {
		a.load("SI", 4, mask)
		a.ins("VMAXPS Z0, Z4, %sZ0", mask)
	})
	for z := 1; z < 4; z++ {
		a.ins("VMAXPS Z0, Z%d, Z0", z)
	}
	a.zero("Z1")
	a.ins("VADDPS Z1, Z0, Z0")
	a.reduceTo("VMAXPS", 16)
}

// maxBlocks takes 64 floats at a time into Z0 … Z3, whatever the order.
func maxBlocks(a *asm) {
	loop, done := a.newLabel("loop"), a.newLabel("done")
	a.label(loop)
	a.ins("CMPQ CX, $64")
	a.ins("JLT %s", done)
	for z := range 4 {
		a.ins("VMOVUPS %d(SI), Z%d", 64*z, 4+z)
		a.ins("VMAXPS Z%d, Z%d, Z%d", z, 4+z, z)
	}
	a.ins("ADDQ $256, SI")
	a.ins("SUBQ $64, CX")
	a.ins("JMP %s", loop)
	a.label(done)
}

func exponentials(a *asm) {
	a.fn("vecExp", "sets dst to s*exp(src-sub) and returns the lane sum.", 0, true,
		num("n", "CX"), ptr("dst", "DI"), ptr("src", "SI"), scalar("sub", "Z10"), scalar("s", "Z11"))
	expConstants(a)
	a.zero("Z3")
	a.loop([]string{"SI", "DI"}, func(mask string) {
		a.load("SI", 0, mask)
		a.ins("VSUBPS Z10, Z0, Z0")
		exp(a)
		a.ins("VMULPS Z11, Z0, Z0")
		a.ins("VADDPS Z0, Z3, %sZ3", mask)
		a.store(0, "DI", mask)
	})
	a.ins("VMOVAPS Z3, Z0")
	a.reduceTo("VADDPS", 32)

	a.fn("vecExpSum", "returns the lane sum of exp(src-sub).", 0, true,
		num("n", "CX"), ptr("src", "SI"), scalar("sub", "Z10"))
	expConstants(a)
	a.zero("Z3")
	a.loop([]string{"SI"}, func(mask string) {
		a.load("SI", 0, mask)
		a.ins("VSUBPS Z10, Z0, Z0")
		exp(a)
		a.ins("VADDPS Z0, Z3, %sZ3", mask)
	})
	a.ins("VMOVAPS Z3, Z0")
	a.reduceTo("VADDPS", 24)
}

// sigmoidDenominator sets Z0 to 1+exp(-Z3); Z12 holds the sign bits.
func sigmoidDenominator(a *asm) {
	a.ins("VPXORD Z12, Z3, Z0")
	exp(a)
	a.ins("VADDPS Z0, Z24, Z0")
}

func silu(a *asm) {
	a.fn("vecSiLUMul", "sets dst to silu(gate)*up.", 0, false,
		num("n", "CX"), ptr("dst", "DI"), ptr("gate", "SI"), ptr("up", "DX"))
	expConstants(a)
	a.broadcast(a.word(0x80000000), "Z12")
	a.loop([]string{"DI", "SI", "DX"}, func(mask string) {
		a.load("SI", 3, mask)
		a.load("DX", 4, mask)
		sigmoidDenominator(a)
		a.ins("VDIVPS Z0, Z3, Z0")
		a.ins("VMULPS Z4, Z0, Z0")
		a.store(0, "DI", mask)
	})
	a.end()

	a.fn("vecSiLUMulBackward", "sets dgate and dup to the gradients of silu(gate)*up under dout.", 0, false,
		num("n", "CX"), ptr("dgate", "DI"), ptr("dup", "R8"), ptr("dout", "R9"), ptr("gate", "SI"), ptr("up", "DX"))
	expConstants(a)
	a.broadcast(a.word(0x80000000), "Z12")
	a.loop([]string{"DI", "R8", "R9", "SI", "DX"}, func(mask string) {
		a.load("SI", 3, mask)
		a.load("R9", 4, mask)
		a.load("DX", 5, mask)
		sigmoidDenominator(a)
		a.ins("VDIVPS Z0, Z24, Z0") // s
		a.ins("VMULPS Z3, Z4, Z6")
		a.ins("VMULPS Z0, Z6, Z6")
		a.store(6, "R8", mask)
		a.ins("VSUBPS Z0, Z24, Z7")
		a.ins("VFMADD213PS Z24, Z3, Z7") // g*(1-s)+1
		a.ins("VMULPS Z5, Z4, Z5")
		a.ins("VMULPS Z0, Z5, Z5")
		a.ins("VMULPS Z7, Z5, Z5")
		a.store(5, "DI", mask)
	})
	a.end()
}

func elementwise(a *asm) {
	dst, x, y := ptr("dst", "DI"), ptr("x", "SI"), ptr("y", "DX")
	a.elements("vecScaleMul", "sets dst to (x*s)*y.", []param{dst, x, y, scalar("s", "Z10")}, func() {
		a.ins("VMULPS Z10, Z1, Z0")
		a.ins("VMULPS Z2, Z0, Z0")
	})
	a.elements("vecMul", "sets dst to x*y.", []param{dst, x, y}, func() { a.ins("VMULPS Z2, Z1, Z0") })
	a.elements("vecAdd", "adds x to dst.", []param{dst, x}, func() { a.ins("VADDPS Z1, Z0, Z0") })
	a.elements("vecScale", "multiplies dst by s.", []param{dst, scalar("s", "Z10")},
		func() { a.ins("VMULPS Z10, Z0, Z0") })
	a.elements("vecAXPY", "adds s*x to dst, fused.", []param{dst, x, scalar("s", "Z10")}, func() {
		a.ins("VFMADD231PS Z1, Z10, Z0")
	})

	a.fn("vecRoundBF16", "sets dst to x rounded to bf16.", 0, false, num("n", "CX"), dst, x)
	roundConstants(a)
	a.loop([]string{"DI", "SI"}, func(mask string) {
		a.load("SI", 0, mask)
		roundRegister(a, 0)
		a.store(0, "DI", mask)
	})
	a.end()
}

const rotationDoc = "rotates the n pairs of x by the angles of table, with s times their sines, into y. In all three " +
	"the second elements follow the n first ones."

// rotation writes the kernel of Rotate.
func rotation(a *asm) {
	a.fn("vecRotate", rotationDoc, 0, false, num("n", "CX"), ptr("y", "DI"), ptr("x", "SI"), ptr("table", "DX"),
		scalar("s", "Z10"))
	a.secondHalves()
	a.loop([]string{"DI", "SI", "DX", "R8", "R9", "R10"}, func(mask string) {
		a.load("SI", 0, mask)
		a.load("R9", 1, mask)
		a.load("DX", 2, mask)
		a.load("R10", 3, mask)
		a.ins("VMULPS Z10, Z3, Z3")
		a.ins("VMULPS Z2, Z0, Z4")
		a.ins("VMULPS Z3, Z1, Z5")
		a.ins("VSUBPS Z5, Z4, Z4")
		a.ins("VMULPS Z2, Z1, Z5")
		a.ins("VMULPS Z3, Z0, Z0")
		a.ins("VADDPS Z0, Z5, Z5")
		a.store(4, "DI", mask)
		a.store(5, "R8", mask)
	})
	a.end()
}

// secondHalves points R8, R9 and R10 CX floats behind DI, SI and DX.
func (a *asm) secondHalves() {
	a.ins("LEAQ (DI)(CX*4), R8")
	a.ins("LEAQ (SI)(CX*4), R9")
	a.ins("LEAQ (DX)(CX*4), R10")
}

// elements writes a kernel whose body maps Z1 = x and Z2 = y, or Z0 = dst and Z1 = x, to
// Z0. The first two pointers are dst and x.
func (a *asm) elements(name, doc string, params []param, body func()) {
	a.fn(name, doc, 0, false, append([]param{num("n", "CX")}, params...)...)
	var pointers []string
	for _, p := range params {
		if p.kind == "*float32" {
			pointers = append(pointers, p.reg)
		}
	}
	a.loop(pointers, func(mask string) {
		for z, p := range pointers {
			if z > 0 || len(pointers) < 3 {
				a.load(p, z, mask)
			}
		}
		body()
		a.store(0, pointers[0], mask)
	})
	a.end()
}
