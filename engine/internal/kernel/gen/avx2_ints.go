package main

import "fmt"

// avx2Ints writes the kernels that convert operands of int8 products; the AVX-512 paths use them too.
func avx2Ints(a *asm) {
	a.fn("avx2MaxBits", "returns the largest of the bits of 8 n floats without their signs.", 0, true,
		num("n", "CX"), ptr("src", "SI"))
	loop := a.newLabel("loop")
	a.clear("Y0")
	a.ins("VMOVDQU %s, Y2", a.eight(0x7fffffff))
	a.label(loop)
	a.ins("VPAND (SI), Y2, Y1")
	a.ins("VPMAXUD Y1, Y0, Y0")
	a.ins("ADDQ $32, SI")
	a.ins("DECQ CX")
	a.ins("JNE %s", loop)
	a.ins("VEXTRACTI128 $1, Y0, X1")
	a.ins("VPMAXUD X1, X0, X0")
	for _, order := range []string{"0x4e", "0xb1"} {
		a.ins("VPSHUFD $%s, X0, X1", order)
		a.ins("VPMAXUD X1, X0, X0")
	}
	a.ins("VMOVSS X0, ret+16(FP)")
	a.end()
	avx2ToInts(a)
	avx2WidenQuads(a)
}

// avx2ToInts rounds 16 products to int16 at a time; of each four the middle two change places.
func avx2ToInts(a *asm) {
	a.fn("avx2ToInts", "writes 16 n floats of src times by as int16, of each four 0, 2, 1, 3.", 0, false,
		num("n", "CX"), ptr("dst", "DI"), ptr("src", "SI"), scalar("by", "Y15"))
	loop := a.newLabel("loop")
	a.label(loop)
	for y := range 2 {
		a.ins("VMULPS %d(SI), Y15, Y%d", 32*y, y)
		a.ins("VCVTPS2DQ Y%d, Y%d", y, y)
	}
	a.ins("VPACKSSDW Y1, Y0, Y0")
	a.ins("VPERMQ $0xd8, Y0, Y0")
	a.ins("VPSHUFLW $0xd8, Y0, Y0")
	a.ins("VPSHUFHW $0xd8, Y0, Y0")
	a.ins("VMOVDQU Y0, (DI)")
	a.ins("ADDQ $64, SI")
	a.ins("ADDQ $32, DI")
	a.ins("DECQ CX")
	a.ins("JNE %s", loop)
	a.end()
}

// avx2WidenQuads writes each byte as bf16, which is exact.
func avx2WidenQuads(a *asm) {
	a.fn("avx2WidenQuads", "writes n rows of 32 fours of int8 as two rows of pairs of bf16 each.", 0, false,
		num("n", "CX"), ptr("dst", "DI"), ptr("src", "SI"))
	loop := a.newLabel("loop")
	a.label(loop)
	for part := range 4 {
		a.ins("VMOVDQU %d(SI), Y0", 32*part)
		for half := range 2 {
			for i := range 2 {
				reg := fmt.Sprintf("Y%d", 1+i)
				a.ins("VPSLLD $%d, Y0, %s", 24-16*half-8*i, reg)
				a.ins("VPSRAD $24, %s, %s", reg, reg)
				a.ins("VCVTDQ2PS %s, %s", reg, reg)
			}
			a.ins("VPSRLD $16, Y1, Y1")
			a.ins("VPOR Y1, Y2, Y1")
			a.ins("VMOVDQU Y1, %d(DI)", 128*half+32*part)
		}
	}
	a.ins("ADDQ $128, SI")
	a.ins("ADDQ $256, DI")
	a.ins("DECQ CX")
	a.ins("JNE %s", loop)
	a.end()
}
