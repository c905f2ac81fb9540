package main

import "fmt"

// packing writes the kernels that lay rows and columns as the products read them.
func packing(a *asm) {
	packRows(a, "packRows", "writes dst[k*rows+i] = src[i][k] for k < n, rows ld bytes apart, up to 16 rows; "+
		"dst needs room for 272 floats more, which are spoiled.", false)
	packRows(a, "packRowsBF16", "is packRows with the values rounded to bf16; "+
		"the row after the last k is zero if n is odd.", true)
	packColumns(a)
	packPanel(a)
	packPairs(a)
}

// packRows writes a transposition of 16×16 blocks. Stores of 16 lanes overlap the
// next row, which is written after them.
func packRows(a *asm, name, doc string, round bool) {
	a.fn(name, doc, 0, false, num("n", "CX"), ptr("dst", "DI"), ptr("src", "SI"), num("ld", "R8"), num("rows", "R9"))
	a.ins("MOVQ R9, R10")
	a.ins("SHLQ $2, R10") // bytes of a row of dst
	a.ins("XORQ R12, R12")
	loop, full, done := a.newLabel("loop"), a.newLabel("full"), a.newLabel("done")
	a.ins("KXNORW K1, K1, K1")
	a.label(loop)
	a.ins("CMPQ CX, $16")
	a.ins("JGE %s", full)
	a.ins("TESTQ CX, CX")
	a.ins("JLE %s", done)
	a.tailMask("CX", "K1")
	a.label(full)
	if round {
		roundConstants(a)
	}
	a.ins("MOVQ SI, R11")
	for i := range 16 {
		a.ins("VMOVUPS.Z (R11), K1, Z%d", i)
		if i < 15 { // past the last row the pointer stays
			a.ins("MOVQ R8, R13")
			a.ins("CMPQ R9, $%d", i+1)
			a.ins("CMOVQLE R12, R13")
			a.ins("ADDQ R13, R11")
		}
		if round {
			roundRegister(a, i)
		}
	}
	transpose(a, func(z int) {
		a.ins("VMOVUPS Z%d, (DI)", z)
		a.ins("ADDQ R10, DI")
	})
	a.ins("ADDQ $64, SI")
	a.ins("SUBQ $16, CX")
	a.ins("JMP %s", loop)
	a.label(done)
	a.end()
}

// transpose turns rows Z0 … Z15 into columns and calls store for each, in order.
func transpose(a *asm, store func(z int)) {
	for i := 0; i < 16; i += 2 {
		a.ins("VUNPCKLPS Z%d, Z%d, Z%d", i+1, i, 16+i)
		a.ins("VUNPCKHPS Z%d, Z%d, Z%d", i+1, i, 17+i)
	}
	for g := 0; g < 16; g += 4 { // afterwards Z[g+c] holds columns c, 4+c, 8+c, 12+c of rows g … g+3
		a.ins("VUNPCKLPD Z%d, Z%d, Z%d", 18+g, 16+g, g)
		a.ins("VUNPCKHPD Z%d, Z%d, Z%d", 18+g, 16+g, g+1)
		a.ins("VUNPCKLPD Z%d, Z%d, Z%d", 19+g, 17+g, g+2)
		a.ins("VUNPCKHPD Z%d, Z%d, Z%d", 19+g, 17+g, g+3)
	}
	shuffle := func(imm, low, high, to int) { a.ins("VSHUFF32X4 $0x%x, Z%d, Z%d, Z%d", imm, high, low, to) }
	const even, odd = 0x88, 0xdd
	for c := range 4 {
		shuffle(even, c, 4+c, 16+c)
		shuffle(odd, c, 4+c, 20+c)
		shuffle(even, 8+c, 12+c, 24+c)
		shuffle(odd, 8+c, 12+c, 28+c)
	}
	for c := range 4 {
		shuffle(even, 16+c, 24+c, c)
		shuffle(even, 20+c, 28+c, 4+c)
		shuffle(odd, 16+c, 24+c, 8+c)
		shuffle(odd, 20+c, 28+c, 12+c)
	}
	for z := range 16 {
		store(z)
	}
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
