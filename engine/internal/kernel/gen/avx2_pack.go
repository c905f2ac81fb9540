package main

// avx2Packing writes the kernels that pack the operands of products.
func avx2Packing(a *asm) {
	avx2PackColumns(a)
	avx2PackPanel(a)
	avx2PackPairs(a)
	avx2PackRowPairs(a)
	avx2TransposeWords(a, "avx2TransposeWords", "of 8 words", false)
	avx2TransposeWords(a, "avx2TransposeBits", "of 8 pairs of bf16 values, whose subnormals become zeros,", true)
	avx2TransposePairs(a)
}

// round rounds register 0 to bf16: nearest even, subnormals to zeros of their sign, NaN quiet. It uses 1, 2 and 3.
func (h half) round() {
	h.op("VPSRLD $16,", 0, 1)
	h.op("VPAND", h.eight(1), 1, 1)
	h.op("VPADDD", h.eight(0x7fff), 1, 1)
	h.op("VPADDD", 0, 1, 1)
	h.op("VCMPPS $3,", 0, 0, 2) // NaN
	h.op("VPOR", h.eight(0x00400000), 0, 3)
	h.op("VBLENDVPS", 2, 3, 1, 1)
	h.op("VPAND", h.eight(0xffff0000), 1, 1)
	h.op("VPAND", h.eight(0x7f800000), 0, 2)
	h.op("VPXOR", 3, 3, 3)
	h.op("VPCMPEQD", 2, 3, 2) // subnormal or zero
	h.op("VPAND", h.eight(0x7fffffff), 2, 2)
	h.op("VPANDN", 1, 2, 0)
}

// avx2PackColumns copies rows of up to 8 floats closely together.
func avx2PackColumns(a *asm) {
	a.fn("avx2PackColumns", "writes dst[k*rows+i] = src[k][i] for k < n, up to 8 rows; rows of src are ld bytes apart.",
		0, false, num("n", "CX"), ptr("dst", "DI"), ptr("src", "SI"), num("ld", "R8"), num("rows", "R9"))
	loop := a.newLabel("loop")
	a.maskAddress("R9") // leaves the bytes of a row in R9
	a.ins("VMOVDQU (AX), Y7")
	a.label(loop)
	a.ins("VMASKMOVPS (SI), Y7, Y0")
	a.ins("VMASKMOVPS Y0, Y7, (DI)")
	a.ins("ADDQ R8, SI")
	a.ins("ADDQ R9, DI")
	a.ins("DECQ CX")
	a.ins("JNE %s", loop)
	a.end()
}

// avx2PackPanel copies rows of up to 32 floats into a panel.
func avx2PackPanel(a *asm) {
	a.fn("avx2PackPanel", "writes the panel dst[k*32+j] = j < cols ? src[k][j] : 0 for k < n; rows of src are ld "+
		"bytes apart.",
		0, false, num("n", "CX"), ptr("dst", "DI"), ptr("src", "SI"), num("ld", "R8"), num("cols", "R9"))
	loop := a.newLabel("loop")
	a.maskAddress("R9")
	for y := range 4 {
		a.ins("VMOVDQU %d(AX), Y%d", 32*y, 4+y)
	}
	a.label(loop)
	for y := range 4 {
		a.ins("VMASKMOVPS %d(SI), Y%d, Y%d", 32*y, 4+y, y)
		a.ins("VMOVUPS Y%d, %d(DI)", y, 32*y)
	}
	a.ins("ADDQ R8, SI")
	a.ins("ADDQ $128, DI")
	a.ins("DECQ CX")
	a.ins("JNE %s", loop)
	a.end()
}

// avx2PackPairs rounds a row and stores its halves, 16 of them in 32 bytes.
func avx2PackPairs(a *asm) {
	a.fn("avx2PackPairs", "writes the n values of src as bf16, closely; dst is written up to a multiple of 16 "+
		"values, with zeros.",
		0, false, num("n", "CX"), ptr("dst", "DI"), ptr("src", "SI"))
	a.sixteens([]string{"SI"}, func(h half) {
		h.load("SI", 0)
		h.round()
		h.op("VPSRLD $16,", 0, 0)
		if h.index == 1 { // VPACKUSDW packs the 128-bit lanes one by one
			a.ins("VPACKUSDW Y8, Y0, Y0")
			a.ins("VPERMQ $0xd8, Y0, Y0")
			a.ins("VMOVDQU Y0, (DI)")
			a.ins("ADDQ $32, DI")
		}
	})
	a.end()
}

// avx2PackRowPairs rounds two rows and lays their elements side by side.
func avx2PackRowPairs(a *asm) {
	a.fn("avx2PackRowPairs", "writes the panel dst[k*32+j] = j < cols ? src[2k][j] as bf16, and src[2k+1][j] above "+
		"it : 0 for k < n; rows of src are ld bytes apart.",
		0, false, num("n", "CX"), ptr("dst", "DI"), ptr("src", "SI"), num("ld", "R8"), num("cols", "R9"))
	loop := a.newLabel("loop")
	a.maskAddress("R9")
	a.label(loop)
	a.ins("LEAQ (SI)(R8*8), R10") // 16 rows ahead: each is in another page
	a.ins("LEAQ (R10)(R8*8), R10")
	for _, at := range []string{"(R10)", "64(R10)", "(R10)(R8*1)", "64(R10)(R8*1)"} {
		a.ins("PREFETCHT0 %s", at)
	}
	for y := range 4 {
		for row, at := range []string{"(SI)", "(SI)(R8*1)"} {
			h := half{a, row, false}
			a.ins("VMOVDQU %d(AX), %s", 32*y, h.reg(7))
			a.ins("VMASKMOVPS %d%s, %s, %s", 32*y, at, h.reg(7), h.reg(0))
			h.round()
		}
		a.ins("VPSRLD $16, Y0, Y0")
		a.ins("VPOR Y8, Y0, Y0")
		a.ins("VMOVDQU Y0, %d(DI)", 32*y)
	}
	a.ins("LEAQ (SI)(R8*2), SI")
	a.ins("ADDQ $128, DI")
	a.ins("DECQ CX")
	a.ins("JNE %s", loop)
	a.end()
}

// avx2TransposeWords transposes blocks of 8 rows of 8 words. flush takes subnormal halves to zeros of their sign.
func avx2TransposeWords(a *asm, name, what string, flush bool) {
	a.fn(name, "writes n blocks "+what+" from 8 rows, ld bytes apart, as 8 n rows of a panel: dst[k*32+i] = src[i][k].",
		0, false, num("n", "CX"), ptr("dst", "DI"), ptr("src", "SI"), num("ld", "R8"))
	loop := a.newLabel("loop")
	a.label(loop)
	a.ins("MOVQ SI, AX")
	for i := range 8 {
		a.ins("VMOVDQU (AX), Y%d", i)
		a.ins("ADDQ R8, AX")
		if flush {
			avx2FlushHalves(a, i)
		}
	}
	for i := 0; i < 8; i += 2 { // pairs of rows, then fours, then eights
		a.ins("VPUNPCKLDQ Y%d, Y%d, Y%d", i+1, i, 8+i)
		a.ins("VPUNPCKHDQ Y%d, Y%d, Y%d", i+1, i, 9+i)
	}
	for g := 0; g < 8; g += 4 {
		for j := range 2 {
			a.ins("VPUNPCKLQDQ Y%d, Y%d, Y%d", 10+g+j, 8+g+j, g+2*j)
			a.ins("VPUNPCKHQDQ Y%d, Y%d, Y%d", 10+g+j, 8+g+j, g+2*j+1)
		}
	}
	for c := range 4 { // Yc and Y(4+c) have columns c and 4+c of rows 0 … 3 and 4 … 7
		a.ins("VPERM2I128 $0x20, Y%d, Y%d, Y8", 4+c, c)
		a.ins("VPERM2I128 $0x31, Y%d, Y%d, Y9", 4+c, c)
		a.ins("VMOVDQU Y8, %d(DI)", c*128)
		a.ins("VMOVDQU Y9, %d(DI)", (4+c)*128)
	}
	a.ins("ADDQ $32, SI")
	a.ins("ADDQ $1024, DI")
	a.ins("DECQ CX")
	a.ins("JNE %s", loop)
	a.end()
}

// avx2FlushHalves takes the subnormal halves of a register to zeros of their sign, using Y14 and Y15.
func avx2FlushHalves(a *asm, y int) {
	a.clear("Y15")
	a.ins("VPAND %s, Y%d, Y14", a.eight(0x7f807f80), y)
	a.ins("VPCMPEQW Y15, Y14, Y14")
	a.ins("VPAND %s, Y14, Y14", a.eight(0x7fff7fff))
	a.ins("VPANDN Y%d, Y14, Y%d", y, y)
}

// avx2TransposePairs transposes blocks of 16 rows of 32 words, pairs of k for 32 columns n, into pairs of n for 32
// columns k. Two words of a row, shuffled, are two words of the result: the block is transposed as 16×16 double words,
// 4×4 at a time. It prefetches like transposePairs.
func avx2TransposePairs(a *asm) {
	a.fn("avx2TransposePairs", "writes n blocks of 16 rows of a panel, pairs of k by columns n, as pairs of n by "+
		"columns k. Blocks of src follow each other, those of dst are step bytes apart. What lies ahead bytes behind "+
		"a block of src is prefetched.",
		0, false, num("n", "CX"), ptr("dst", "DI"), ptr("src", "SI"), num("step", "R8"), num("ahead", "R9"))
	loop := a.newLabel("loop")
	a.label(loop)
	for part := range 16 {
		row, col := part/4*4, part%4*4
		for i := range 4 {
			a.ins("VMOVDQU %d(SI), Y%d", (row+i)*128+8*col, i)
			if col%8 == 0 {
				a.ins("PREFETCHT1 %d(SI)(R9*1)", (row+i)*128+8*col)
			}
			a.ins("VPSHUFLW $0xd8, Y%d, Y%d", i, i)
			a.ins("VPSHUFHW $0xd8, Y%d, Y%d", i, i)
		}
		for i := 0; i < 4; i += 2 {
			a.ins("VPUNPCKLQDQ Y%d, Y%d, Y%d", i+1, i, 4+i)
			a.ins("VPUNPCKHQDQ Y%d, Y%d, Y%d", i+1, i, 5+i)
		}
		for i := range 4 {
			a.ins("VPERM2I128 $%s, Y%d, Y%d, Y8", []string{"0x20", "0x31"}[i/2], 6+i%2, 4+i%2)
			a.ins("VMOVDQU Y8, %d(DI)", (col+i)*128+8*row)
		}
	}
	a.ins("ADDQ $2048, SI")
	a.ins("ADDQ R8, DI")
	a.ins("DECQ CX")
	a.ins("JNE %s", loop)
	a.end()
}
