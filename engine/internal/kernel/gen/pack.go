package main

import "fmt"

// packing writes the kernels that pack the operands of products.
func packing(a *asm) {
	packColumns(a)
	packPanel(a)
	storePanel(a)
	packPairs(a)
	packRowPairs(a)
	transposeWords(a, "transposeWords", "of 16 words", false)
	transposeWords(a, "transposeBits", "of 16 pairs of bf16 values, whose subnormals become zeros,", true)
	transposePairs(a)
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
	a.fn("packPanel", "writes the panel dst[k*32+j] = j < cols ? src[k][j] : 0 for k < n; rows of src are ld bytes "+
		"apart.",
		0, false, num("n", "CX"), ptr("dst", "DI"), ptr("src", "SI"), num("ld", "R8"), num("cols", "R9"))
	loop := a.newLabel("loop")
	a.panelMasks()
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

// storePanel is the inverse of packPanel.
func storePanel(a *asm) {
	a.fn("storePanel", "writes dst[k][j] = src[k*32+j] for k < n and j < cols; rows of dst are ld bytes apart.",
		0, false, num("n", "CX"), ptr("dst", "DI"), ptr("src", "SI"), num("ld", "R8"), num("cols", "R9"))
	loop := a.newLabel("loop")
	a.panelMasks()
	a.label(loop)
	a.ins("VMOVUPS (SI), Z0")
	a.ins("VMOVUPS 64(SI), Z1")
	a.ins("VMOVUPS Z0, K1, (DI)")
	a.ins("VMOVUPS Z1, K2, 64(DI)")
	a.ins("ADDQ R8, DI")
	a.ins("ADDQ $128, SI")
	a.ins("DECQ CX")
	a.ins("JNE %s", loop)
	a.end()
}

// panelMasks sets K1 and K2 to the lowest R9 of 32 columns.
func (a *asm) panelMasks() {
	a.ins("MOVL $-1, AX")
	a.ins("BZHIL R9, AX, AX")
	a.ins("KMOVW AX, K1")
	a.ins("SHRL $16, AX")
	a.ins("KMOVW AX, K2")
}

// packPairs rounds a row and stores its halves, 16 of them in 32 bytes.
func packPairs(a *asm) {
	a.fn("packPairs", "writes the n values of src as bf16, closely; dst is written up to a multiple of 16 values, "+
		"with zeros.",
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

// packRowPairs rounds two rows and lays their elements side by side.
func packRowPairs(a *asm) {
	a.fn("packRowPairs", "writes the panel dst[k*32+j] = j < cols ? src[2k][j] as bf16, and src[2k+1][j] above it : "+
		"0 for k < n; rows of src are ld bytes apart.",
		0, false, num("n", "CX"), ptr("dst", "DI"), ptr("src", "SI"), num("ld", "R8"), num("cols", "R9"))
	loop := a.newLabel("loop")
	a.panelMasks()
	a.ins("KMOVW K1, K4")
	a.ins("KMOVW K2, K5")
	roundConstants(a)
	a.label(loop)
	for row := range 2 {
		a.ins("VMOVUPS.Z (SI), K4, Z%d", 2*row)
		a.ins("VMOVUPS.Z 64(SI), K5, Z%d", 2*row+1)
		a.ins("ADDQ R8, SI")
	}
	for z := range 4 {
		roundRegister(a, z)
	}
	for z := range 2 {
		a.ins("VPSRLD $16, Z%d, Z%d", z, z)
		a.ins("VPORD Z%d, Z%d, Z%d", 2+z, z, z)
		a.ins("VMOVDQU32 Z%d, %d(DI)", z, 64*z)
	}
	a.ins("ADDQ $128, DI")
	a.ins("DECQ CX")
	a.ins("JNE %s", loop)
	a.end()
}

// transposeWords transposes blocks of 16 rows of 16 words. flush takes subnormal halves to zeros of their sign.
func transposeWords(a *asm, name, what string, flush bool) {
	a.fn(name, "writes n blocks "+what+" from 16 rows, ld bytes apart, as 16 n rows of a panel: dst[k*32+i] = "+
		"src[i][k].",
		0, false, num("n", "CX"), ptr("dst", "DI"), ptr("src", "SI"), num("ld", "R8"))
	loop := a.newLabel("loop")
	a.label(loop)
	if flush {
		a.broadcast(a.word(0x7f807f80), "Z30")
		a.broadcast(a.word(0x80008000), "Z31")
	}
	a.ins("MOVQ SI, AX")
	for i := range 16 {
		a.ins("VMOVDQU32 (AX), Z%d", i)
		a.ins("ADDQ R8, AX")
		if flush {
			a.ins("VPTESTNMW Z30, Z%d, K1", i)
			a.ins("VPANDD Z31, Z%d, Z29", i)
			a.ins("VMOVDQU16 Z29, K1, Z%d", i)
		}
	}
	for i := 0; i < 16; i += 2 {
		a.ins("VPUNPCKLDQ Z%d, Z%d, Z%d", i+1, i, 16+i)
		a.ins("VPUNPCKHDQ Z%d, Z%d, Z%d", i+1, i, 17+i)
	}
	for g := 0; g < 16; g += 4 {
		for half := range 2 {
			low, high := 16+g+half, 18+g+half
			a.ins("VPUNPCKLQDQ Z%d, Z%d, Z%d", high, low, g+2*half)
			a.ins("VPUNPCKHQDQ Z%d, Z%d, Z%d", high, low, g+2*half+1)
		}
	}
	for c := range 4 { // Z(4g+c) has column 4L+c of rows 4g … 4g+3 in lane L
		quarters(a, [4]int{c, 4 + c, 8 + c, 12 + c}, [4]int{16, 17, 18, 19}, func(z, lane int) {
			a.ins("VMOVDQU32 Z%d, %d(DI)", z, (4*lane+c)*128)
		})
	}
	a.ins("ADDQ $64, SI")
	a.ins("ADDQ $2048, DI")
	a.ins("DECQ CX")
	a.ins("JNE %s", loop)
	a.end()
}

// quarters transposes the 128-bit lanes of four registers, which stay unchanged, through four others, and stores lane
// after lane.
func quarters(a *asm, z, tmp [4]int, store func(z, lane int)) {
	for i := range 2 {
		a.ins("VSHUFI32X4 $0x88, Z%d, Z%d, Z%d", z[2*i+1], z[2*i], tmp[2*i])
		a.ins("VSHUFI32X4 $0xdd, Z%d, Z%d, Z%d", z[2*i+1], z[2*i], tmp[2*i+1])
	}
	for lane := range 4 {
		imm := []string{"0x88", "0xdd"}[lane/2]
		a.ins("VSHUFI32X4 $%s, Z%d, Z%d, Z20", imm, tmp[2+lane%2], tmp[lane%2])
		store(20, lane)
	}
}

// transposePairs transposes blocks of 16 rows of 32 words, pairs of k for 32 columns n, into pairs of n for 32 columns
// k. Weights come from memory: each block prefetches the one that lies ahead bytes behind it into the second cache.
func transposePairs(a *asm) {
	a.fn("transposePairs", "writes n blocks of 16 rows of a panel, pairs of k by columns n, as pairs of n by columns "+
		"k. Blocks of src follow each other, those of dst are step bytes apart. What lies ahead bytes behind a block "+
		"of src is prefetched.",
		0, false, num("n", "CX"), ptr("dst", "DI"), ptr("src", "SI"), num("step", "R8"), num("ahead", "R9"))
	loop := a.newLabel("loop")
	a.label(loop)
	for quadrant := range 4 {
		rows, cols := quadrant/2, quadrant%2
		for i := range 8 {
			a.ins("VMOVDQU32 %d(SI), Z%d", (8*rows+i)*128+64*cols, i)
			a.ins("PREFETCHT1 %d(SI)(R9*1)", (8*rows+i)*128+64*cols)
			a.ins("VPSHUFLW $0xd8, Z%d, Z%d", i, i)
			a.ins("VPSHUFHW $0xd8, Z%d, Z%d", i, i)
		}
		for i := 0; i < 8; i += 2 {
			a.ins("VPUNPCKLQDQ Z%d, Z%d, Z%d", i+1, i, 8+i)
			a.ins("VPUNPCKHQDQ Z%d, Z%d, Z%d", i+1, i, 9+i)
		}
		for c := range 2 {
			quarters(a, [4]int{8 + c, 10 + c, 12 + c, 14 + c}, [4]int{16, 17, 18, 19}, func(z, lane int) {
				a.ins("VMOVDQU32 Z%d, %d(DI)", z, (8*cols+2*lane+c)*128+64*rows)
			})
		}
	}
	a.ins("ADDQ $2048, SI")
	a.ins("ADDQ R8, DI")
	a.ins("DECQ CX")
	a.ins("JNE %s", loop)
	a.end()
}
