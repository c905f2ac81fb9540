package main

import "math"

// avx2Vectors writes the element-wise kernels and the reductions.
func avx2Vectors(a *asm) {
	avx2Reductions(a)
	avx2Exponentials(a)
	avx2SiLU(a)
	avx2Elements(a)
	avx2Rotation(a)
}

// number returns the operand of a float32 that stands in all 8 lanes.
func (a *asm) number(v float32) string { return a.eight(math.Float32bits(v)) }

// reduce folds the lanes of register acc of both halves by the tree 8-4-2-1 and returns the result at offset ret
// of the frame. Where op keeps one of two, the upper half is its first operand.
func (a *asm) reduce(op string, acc, ret int) {
	low, high := half{a, 0, false}, half{a, 1, false}
	a.ins("%s %s, %s, Y0", op, low.reg(acc), high.reg(acc))
	a.ins("VEXTRACTF128 $1, Y0, X1")
	a.ins("%s X0, X1, X0", op)
	a.ins("VPERMILPS $0x0e, X0, X1")
	a.ins("%s X0, X1, X0", op)
	a.ins("VPERMILPS $0x01, X0, X1")
	a.ins("%s X0, X1, X0", op)
	a.ins("VMOVSS X0, ret+%d(FP)", ret)
	a.end()
}

func avx2Reductions(a *asm) {
	a.fn("avx2Dot", "returns the lane sum of x*y.", 0, true, num("n", "CX"), ptr("x", "SI"), ptr("y", "DI"))
	a.each(false, func(h half) { a.clear(h.reg(0)) })
	a.sixteens([]string{"SI", "DI"}, func(h half) {
		h.load("SI", 1)
		h.load("DI", 2)
		h.op("VMOVAPS", 0, 3)
		h.op("VFMADD231PS", 2, 1, 3)
		h.keep(3, 0)
	})
	a.reduce("VADDPS", 0, 24)

	a.fn("avx2Max", "returns the largest element, +0 for any zero.", 0, true, num("n", "CX"), ptr("x", "SI"))
	for y := range 8 {
		low := half{a, 0, false}
		low.op("VMOVUPS", a.number(float32(math.Inf(-1))), y)
	}
	avx2MaxBlocks(a)
	for y := 2; y < 8; y++ {
		a.ins("VMAXPS Y0, %s, Y0", half{a, 0, false}.reg(y))
	}
	a.ins("VMOVAPS Y1, Y8")
	a.sixteens([]string{"SI"}, func(h half) {
		h.load("SI", 1)
		h.op("VMAXPS", 0, 1, 1) // the old one if the new one is NaN
		h.keep(1, 0)
	})
	a.each(false, func(h half) {
		a.clear(h.reg(1))
		h.op("VADDPS", 1, 0, 0)
	})
	a.reduce("VMAXPS", 0, 16)
}

// avx2MaxBlocks takes 64 floats at a time into Y0 … Y7, whatever the order.
func avx2MaxBlocks(a *asm) {
	loop, done := a.newLabel("loop"), a.newLabel("done")
	a.label(loop)
	a.ins("CMPQ CX, $64")
	a.ins("JLT %s", done)
	for y := range 8 {
		a.ins("VMOVUPS %d(SI), Y%d", 32*y, 8+y)
		a.ins("VMAXPS Y%d, Y%d, Y%d", y, 8+y, y)
	}
	a.ins("ADDQ $256, SI")
	a.ins("SUBQ $64, CX")
	a.ins("JMP %s", loop)
	a.label(done)
}

// exp sets register 0 to its exponential, using 1 and 2. The power 2^n of exp32 is the product of 2^a and 2^(n-a), a =
// n/2 rounded down: both are normal numbers, the first product is exact, and the second rounds once, also to
// subnormals and infinity.
func (h half) exp() {
	h.op("VMOVUPS", h.number(-104), 1)
	h.op("VMAXPS", 0, 1, 0) // x if it is NaN
	h.op("VMOVUPS", h.number(89), 1)
	h.op("VMINPS", 0, 1, 0)
	h.op("VMULPS", h.number(1.44269504), 0, 1)
	h.op("VROUNDPS $8,", 1, 1) // n, to nearest even
	h.op("VFMADD231PS", h.number(-0.693359375), 1, 0)
	h.op("VFMADD231PS", h.number(2.12194440e-4), 1, 0)
	h.op("VMOVUPS", h.number(0.0013814535), 2)
	for _, c := range []float32{0.008368745, 0.041668393, 0.16666521, 0.49999994, 1, 1} {
		h.op("VFMADD213PS", h.number(c), 0, 2)
	}
	h.op("VCVTPS2DQ", 1, 1)
	h.op("VPSRAD $1,", 1, 0)
	h.op("VPSUBD", 0, 1, 1)
	for _, power := range []int{0, 1} {
		h.op("VPADDD", h.eight(127), power, power)
		h.op("VPSLLD $23,", power, power)
		h.op("VMULPS", power, 2, 2)
	}
	h.op("VMOVAPS", 2, 0)
}

func avx2Exponentials(a *asm) {
	a.fn("avx2Exp", "sets dst to s*exp(src-sub) and returns the lane sum.", 0, true,
		num("n", "CX"), ptr("dst", "DI"), ptr("src", "SI"), scalar("sub", "Y6"), scalar("s", "Y14"))
	a.each(false, func(h half) { a.clear(h.reg(3)) })
	a.sixteens([]string{"SI", "DI"}, func(h half) {
		h.load("SI", 0)
		h.op("VSUBPS", "Y6", 0, 0)
		h.exp()
		h.op("VMULPS", "Y14", 0, 0)
		h.store(0, "DI")
		h.op("VADDPS", 0, 3, 4)
		h.keep(4, 3)
	})
	a.reduce("VADDPS", 3, 32)

	a.fn("avx2ExpSum", "returns the lane sum of exp(src-sub).", 0, true,
		num("n", "CX"), ptr("src", "SI"), scalar("sub", "Y6"))
	a.each(false, func(h half) { a.clear(h.reg(3)) })
	a.sixteens([]string{"SI"}, func(h half) {
		h.load("SI", 0)
		h.op("VSUBPS", "Y6", 0, 0)
		h.exp()
		h.op("VADDPS", 0, 3, 4)
		h.keep(4, 3)
	})
	a.reduce("VADDPS", 3, 24)
}

// sigmoidDenominator sets register 0 to 1+exp(-register 3).
func (h half) sigmoidDenominator() {
	h.op("VPXOR", h.eight(0x80000000), 3, 0)
	h.exp()
	h.op("VADDPS", h.number(1), 0, 0)
}

func avx2SiLU(a *asm) {
	a.fn("avx2SiLUMul", "sets dst to silu(gate)*up.", 0, false,
		num("n", "CX"), ptr("dst", "DI"), ptr("gate", "SI"), ptr("up", "DX"))
	a.sixteens([]string{"DI", "SI", "DX"}, func(h half) {
		h.load("SI", 3)
		h.load("DX", 4)
		h.sigmoidDenominator()
		h.op("VDIVPS", 0, 3, 0)
		h.op("VMULPS", 4, 0, 0)
		h.store(0, "DI")
	})
	a.end()

	a.fn("avx2SiLUMulBackward", "sets dgate and dup to the gradients of silu(gate)*up under dout.", 0, false,
		num("n", "CX"), ptr("dgate", "DI"), ptr("dup", "R8"), ptr("dout", "R9"), ptr("gate", "SI"), ptr("up", "DX"))
	a.sixteens([]string{"DI", "R8", "R9", "SI", "DX"}, func(h half) {
		h.load("SI", 3)
		h.load("R9", 4)
		h.load("DX", 5)
		h.sigmoidDenominator()
		h.op("VMOVUPS", h.number(1), 6)
		h.op("VDIVPS", 0, 6, 0) // s
		h.op("VMULPS", 3, 4, 1)
		h.op("VMULPS", 0, 1, 1)
		h.store(1, "R8")
		h.op("VSUBPS", 0, 6, 2)
		h.op("VFMADD213PS", 6, 3, 2) // g*(1-s)+1
		h.op("VMULPS", 5, 4, 5)
		h.op("VMULPS", 0, 5, 5)
		h.op("VMULPS", 2, 5, 5)
		h.store(5, "DI")
	})
	a.end()
}

func avx2Elements(a *asm) {
	dst, x, y, s := ptr("dst", "DI"), ptr("x", "SI"), ptr("y", "DX"), scalar("s", "Y6")
	a.halves("avx2ScaleMul", "sets dst to (x*s)*y.", []param{dst, x, y, s}, func(h half) {
		h.op("VMULPS", "Y6", 1, 0)
		h.op("VMULPS", 2, 0, 0)
	})
	a.halves("avx2Mul", "sets dst to x*y.", []param{dst, x, y}, func(h half) { h.op("VMULPS", 2, 1, 0) })
	a.halves("avx2Add", "adds x to dst.", []param{dst, x}, func(h half) { h.op("VADDPS", 1, 0, 0) })
	a.halves("avx2Scale", "multiplies dst by s.", []param{dst, s}, func(h half) { h.op("VMULPS", "Y6", 0, 0) })
	a.halves("avx2AXPY", "adds s*x to dst, fused.", []param{dst, x, s}, func(h half) {
		h.op("VFMADD231PS", 1, "Y6", 0)
	})

	a.fn("avx2RoundBF16", "sets dst to x rounded to bf16.", 0, false, num("n", "CX"), dst, x)
	a.sixteens([]string{"DI", "SI"}, func(h half) {
		h.load("SI", 0)
		h.round()
		h.store(0, "DI")
	})
	a.end()
}

func avx2Rotation(a *asm) {
	a.fn("avx2Rotate", rotationDoc, 0, false, num("n", "CX"), ptr("y", "DI"), ptr("x", "SI"), ptr("table", "DX"),
		scalar("s", "Y6"))
	a.secondHalves()
	a.sixteens([]string{"DI", "SI", "DX", "R8", "R9", "R10"}, func(h half) {
		h.load("SI", 0)
		h.load("R9", 1)
		h.load("DX", 2)
		h.load("R10", 3)
		h.op("VMULPS", "Y6", 3, 3)
		h.op("VMULPS", 2, 0, 4)
		h.op("VMULPS", 3, 1, 5)
		h.op("VSUBPS", 5, 4, 4)
		h.op("VMULPS", 2, 1, 5)
		h.op("VMULPS", 3, 0, 0)
		h.op("VADDPS", 0, 5, 5)
		h.store(4, "DI")
		h.store(5, "R8")
	})
	a.end()
}

// halves writes a kernel whose body maps register 1 = x and 2 = y, or 0 = dst and 1 = x, to
// 0. The first two pointers are dst and x.
func (a *asm) halves(name, doc string, params []param, body func(h half)) {
	a.fn(name, doc, 0, false, append([]param{num("n", "CX")}, params...)...)
	var pointers []string
	for _, p := range params {
		if p.kind == "*float32" {
			pointers = append(pointers, p.reg)
		}
	}
	a.sixteens(pointers, func(h half) {
		for i, p := range pointers {
			if i > 0 || len(pointers) < 3 {
				h.load(p, i)
			}
		}
		body(h)
		h.store(0, pointers[0])
	})
	a.end()
}
