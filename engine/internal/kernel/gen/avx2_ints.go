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
	avx2UnpackQuads(a)
	avx2GroupSums(a)
	avx2Nibbles.emit(a)
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

// avx2UnpackQuads multiplies the nibbles of a word, from 0 to 15, by their group's factor, from 0 to 15, two bytes at a
// time: no product carries into the byte above it.
func avx2UnpackQuads(a *asm) {
	a.fn("avx2UnpackQuads", "unpacks n groups of 8 rows of 32 fours of int8 from 4 rows of nibbles and their factors. "+
		"What lies 8 KiB behind a group is prefetched.", 0, false,
		num("n", "CX"), ptr("dst", "DI"), ptr("src", "SI"), ptr("groups", "BX"))
	loop := a.newLabel("loop")
	a.ins("VMOVDQU %s, Y15", a.eight(0x0f0f0f0f))
	a.label(loop)
	for part := range 4 { // of the columns
		a.ins("VPMOVZXBD %d(BX), Y0", part%2*8)
		a.ins("VPSRLD $%d, Y0, Y0", part/2*4)
		a.ins("VPAND Y15, Y0, Y0")
		a.ins("VPSLLD $16, Y0, Y1")
		a.ins("VPOR Y1, Y0, Y0") // factors as words
		a.ins("VPSLLW $3, Y0, Y1")
		a.ins("VPSLLW $8, Y1, Y2")
		a.ins("VPOR Y2, Y1, Y1") // 8 of them as bytes
		a.ins("PREFETCHT1 %d(SI)", 8192+128*part)
		a.ins("PREFETCHT1 %d(SI)", 8192+128*part+64)
		for row := range 4 {
			a.ins("VMOVDQU %d(SI), Y3", 128*row+32*part)
			a.ins("VPSRLW $4, Y3, Y4")
			for half := range 2 {
				reg := fmt.Sprintf("Y%d", 3+half)
				a.ins("VPAND Y15, %s, %s", reg, reg)
				a.ins("VPMULLW Y0, %s, %s", reg, reg)
				a.ins("VPSUBB Y1, %s, %s", reg, reg)
				a.ins("VMOVDQU %s, %d(DI)", reg, 128*(2*row+half)+32*part)
			}
		}
	}
	a.ins("ADDQ $16, BX")
	a.ins("ADDQ $512, SI")
	a.ins("ADDQ $1024, DI")
	a.ins("DECQ CX")
	a.ins("JNE %s", loop)
	a.end()
}
