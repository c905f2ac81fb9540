package main

import "fmt"

// packing writes the kernels that lay out the operands of products.
func packing(a *asm) {
	packColumns(a)
	packPanel(a)
	packPairs(a)
}

// Rounding to bf16 keeps its constants in Z24 … Z29 and works in Z30, K2, K3.
func roundConstants(a *asm) {
	for i, v := range []uint32{1, 0x7fff, 0x7f800000, 0x80000000, 0x00400000, 0xffff0000} {
		a.broadcast(a.word(v), fmt.Sprintf("Z%d", 24+i))
	}
}

// roundRegister rounds Zz to bf16 in place: nearest even, subnormals to zeros of
// their sign, NaN quiet.
func roundRegister(a *asm, z int) {
	a.ins("VPSRLD $16, Z%d, Z30", z)
	a.ins("VPANDD Z24, Z30, Z30")
	a.ins("VPADDD Z25, Z30, Z30")
	a.ins("VPADDD Z%d, Z30, Z30", z)
	a.ins("VPTESTNMD Z26, Z%d, K2", z)
	a.ins("VCMPPS $3, Z%d, Z%d, K3", z, z)
	a.ins("VPORD Z28, Z%d, K3, Z30", z)
	a.ins("VPANDD Z29, Z30, Z%d", z)
	a.ins("VPANDD Z27, Z%d, K2, Z%d", z, z)
}

// packColumns copies rows of up to 16 floats closely together.
func packColumns(a *asm) {
	a.fn("packColumns", "writes dst[k*rows+i] = src[k][i] for k < n, up to 16 rows; rows of src are ld bytes apart.",
		0, false, num("n", "CX"), ptr("dst", "DI"), ptr("src", "SI"), num("ld", "R8"), num("rows", "R9"))
	loop := a.newLabel("loop")
	a.tailMask("R9", "K1")
	a.ins("SHLQ $2, R9")
	a.label(loop)
	a.ins("VMOVUPS.Z (SI), K1, Z0")
	a.ins("VMOVUPS Z0, K1, (DI)")
	a.ins("ADDQ R8, SI")
	a.ins("ADDQ R9, DI")
	a.ins("DECQ CX")
	a.ins("JNE %s", loop)
	a.end()
}

// packPanel copies rows of up to 32 floats into a panel.
func packPanel(a *asm) {
	a.fn("packPanel", "writes the panel dst[k*32+j] = j < cols ? src[k][j] : 0 for k < n; rows of src are ld bytes apart.",
		0, false, num("n", "CX"), ptr("dst", "DI"), ptr("src", "SI"), num("ld", "R8"), num("cols", "R9"))
	loop := a.newLabel("loop")
	a.ins("MOVL $-1, AX")
	a.ins("BZHIL R9, AX, AX")
	a.ins("KMOVW AX, K1")
	a.ins("SHRL $16, AX")
	a.ins("KMOVW AX, K2")
	a.label(loop)
	a.ins("VMOVUPS.Z (SI), K1, Z0")
	a.ins("VMOVUPS.Z 64(SI), K2, Z1")
	a.ins("VMOVUPS Z0, (DI)")
	a.ins("VMOVUPS Z1, 64(DI)")
	a.ins("ADDQ R8, SI")
	a.ins("ADDQ $128, DI")
	a.ins("DECQ CX")
	a.ins("JNE %s", loop)
	a.end()
}

// packPairs rounds a row and stores its halves, 16 of them in 32 bytes.
func packPairs(a *asm) {
	a.fn("packPairs", "writes the n values of src as bf16, closely; dst is written up to a multiple of 16 values, with zeros.",
		0, false, num("n", "CX"), ptr("dst", "DI"), ptr("src", "SI"))
	roundConstants(a)
	a.loop([]string{"SI"}, func(mask string) {
		a.load("SI", 0, mask)
		roundRegister(a, 0)
		a.ins("VPSRLD $16, Z0, Z0")
		a.ins("VPMOVDW Z0, (DI)")
		a.ins("ADDQ $32, DI")
	})
	a.end()
}
