package main

import "fmt"

// blockedRows is the height of the largest tile in order Blocked: two sums for each of 7×32 outputs fill 28 registers.
const blockedRows = 7

// blockedKernels writes the micro-kernels of order Blocked for processors without AMX, one for every number of rows,
// and their table. They are called as those of gemm, with steps a multiple of 16 pairs; a holds bf16 values as float32
// and is not packed. Sums of even elements are in Z0 … Z13, of odd ones in Z14 … Z27; c is in memory and takes part
// once in a block.
func blockedKernels(a *asm) {
	names := "nil"
	for rows := 1; rows <= blockedRows; rows++ {
		name := fmt.Sprintf("blockedx%d", rows)
		names += ", " + name
		blockedKernel(a, name, rows)
	}
	fmt.Fprintf(&a.decl, "\nvar blockedKernels = [...]microKernel{%s}\n", names)
}

func blockedKernel(a *asm, name string, rows int) {
	a.fn(name, "folds steps rows of bf16 pairs in order Blocked; a holds bf16 values as float32, two a step, and is "+
		"not packed.", 16, false,
		num("steps", "CX"), ptr("a", "SI"), ptr("b", "DI"), ptr("c", "DX"), num("ldc", "R8"), num("acc", "R9"),
		num("lda", "BX"), num("ahead", "R14"))
	block, pairs, add := a.newLabel("block"), a.newLabel("pairs"), a.newLabel("add")
	a.flushSubnormals()
	wideGEMM.setup(a)
	for i := 3; i < rows; i += 3 {
		a.ins("LEAQ (%s)(BX*2), %s", bases[i/3-1], bases[i/3])
		a.ins("ADDQ BX, %s", bases[i/3])
	}
	a.label(block)
	for z := range 4 * rows {
		a.zero(fmt.Sprintf("Z%d", z/(2*rows)*14+z%(2*rows)))
	}
	a.ins("MOVQ $16, AX")
	a.label(pairs)
	e := rowsGEMM.element(rows)
	a.fetch(0, 2)
	a.ins("VPSLLD $16, (DI), Z28")
	a.ins("VPSLLD $16, 64(DI), Z29")
	multiply(a, e, rows, 0, fma)
	a.ins("VPANDD (DI), Z31, Z28")
	a.ins("VPANDD 64(DI), Z31, Z29")
	multiply(a, e, rows, 1, func(a *asm, sum, x, w int) { fma(a, sum+14, x, w) })
	for i := 0; i < rows; i += 3 {
		a.ins("ADDQ $8, %s", bases[i/3])
	}
	a.ins("ADDQ $%d, DI", rowBytes)
	a.ins("DECQ AX")
	a.ins("JNE %s", pairs)
	for z := range 2 * rows {
		a.ins("VADDPS Z%d, Z%d, Z%d", z+14, z, z)
	}
	for z := range 2 * rows {
		a.zero(fmt.Sprintf("Z%d", z+14))
	}
	a.ins("TESTQ R9, R9")
	a.ins("JEQ %s", add)
	a.ins("MOVQ DX, AX")
	moveTile(a, rows, "AX", func(z int, at string) { a.ins("VMOVUPS %s, Z%d", at, z+14) })
	a.label(add)
	for z := range 2 * rows {
		a.ins("VADDPS Z%d, Z%d, Z%d", z, z+14, z)
	}
	a.ins("MOVQ DX, AX")
	moveTile(a, rows, "AX", func(z int, at string) { a.ins("VMOVUPS Z%d, %s", z, at) })
	a.ins("MOVQ $1, R9")
	a.ins("SUBQ $16, CX")
	a.ins("JNE %s", block)
	a.ins("LDMXCSR 0(SP)")
	a.end()
}
