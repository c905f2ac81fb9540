package main

import (
	"fmt"
	"strings"
)

// maxRows is the height of the largest tile: 14×32 outputs fill 28 registers.
const maxRows = 14

// gemm is a family of micro-kernels, one for every number of rows:
//
//	c[i][0:32] = (acc ? c[i][0:32] : 0) folded with a[k][i]*b[k][0:32]
//
// Rows of c are ldc bytes apart, and each step prefetches the memory ahead bytes after its row of b. a is packed,
// [steps][rows], or direct: rows lda bytes apart. Z0 … Z27 hold the tile, Z28 and Z29 a row of b, Z30 an element of a;
// Z31 is a constant of the family.
type gemm struct {
	name, doc string
	direct    bool // a is not packed
	flush     bool // subnormals are zeros while it runs
	ints      bool // sums are int32, and c is continued by their float32
	unroll    int
	perStep   int // k of a per step
	step      func(a *asm, e element, rows, offset int)
	setup     func(a *asm)
}

// element returns the operand of a[k][i].
type element func(k, i int) string

var f32GEMM = gemm{
	name: "f32", unroll: 4, perStep: 1, step: f32Step,
	doc: "folds steps rows of float32 by fused multiply-adds.",
}

var rowsGEMM = gemm{
	name: "rows", unroll: 4, direct: true, perStep: 1, step: f32Step,
	doc: "folds steps rows of float32 by fused multiply-adds; a is not packed.",
}

var wideGEMM = gemm{
	name: "wide", unroll: 2, direct: true, perStep: 2, step: wideStep, flush: true,
	doc:   "folds steps rows of bf16 pairs, widened; a holds bf16 values as float32, two a step, and is not packed.",
	setup: func(a *asm) { a.broadcast(a.word(0xffff0000), "Z31") },
}

var dotGEMM = gemm{
	name: "dot", unroll: 4, direct: true, perStep: 1, step: dotStep,
	doc: "folds steps rows of bf16 pairs by VDPBF16PS; a holds bf16 pairs and is not packed.",
}

var maddGEMM = gemm{
	name: "madd", unroll: 2, direct: true, perStep: 2, ints: true, step: func(a *asm, e element, rows, offset int) {
		quadStep(a, e, rows, offset, madd)
	},
	doc: "adds the sums of steps rows of fours of int8 by VPMADDWD; a holds int16, two words a step.",
}

var vnniGEMM = gemm{
	name: "vnni", unroll: 2, direct: true, perStep: 2, ints: true, step: func(a *asm, e element, rows, offset int) {
		quadStep(a, e, rows, offset, func(a *asm, sum, x, w int) { a.ins("VPDPWSSD Z%d, Z%d, Z%d", w, x, sum) })
	},
	doc: "adds the sums of steps rows of fours of int8 by VPDPWSSD; a holds int16, two words a step.",
}

// acc returns the accumulator of row i and half j of the columns.
func acc(i, j int) int { return 2*i + j }

// emit writes the kernels of all heights and their table.
func (g gemm) emit(a *asm) {
	names := []string{"nil"}
	for rows := 1; rows <= maxRows; rows++ {
		name := fmt.Sprintf("%sx%d", g.name, rows)
		names = append(names, name)
		g.kernel(a, name, rows)
	}
	fmt.Fprintf(&a.decl, "\nvar %sKernels = [...]microKernel{%s}\n", g.name, strings.Join(names, ", "))
}

// kernel writes the kernel of one height.
func (g gemm) kernel(a *asm, name string, rows int) {
	frame := 0
	if g.flush {
		frame = 16
	}
	a.fn(name, g.doc, frame, false, num("steps", "CX"), ptr("a", "SI"), ptr("b", "DI"), ptr("c", "DX"),
		num("ldc", "R8"), num("acc", "R9"), num("lda", "BX"), num("ahead", "R14"))
	if g.flush {
		a.flushSubnormals()
	}
	if g.setup != nil {
		g.setup(a)
	}
	g.begin(a, rows)
	if g.direct {
		for i := 3; i < rows; i += 3 {
			a.ins("LEAQ (%s)(BX*2), %s", bases[i/3-1], bases[i/3])
			a.ins("ADDQ BX, %s", bases[i/3])
		}
	}
	g.loop(a, rows)
	if g.ints {
		g.finish(a, rows)
	}
	moveTile(a, rows, "DX", func(z int, at string) { a.ins("VMOVUPS Z%d, %s", z, at) })
	if g.flush {
		a.ins("LDMXCSR 0(SP)")
	}
	a.end()
}

// flushSubnormals makes subnormal inputs and results zeros. The previous setting is kept at 0(SP); the frame has 16
// bytes.
func (a *asm) flushSubnormals() {
	a.ins("STMXCSR 0(SP)")
	a.ins("MOVL 0(SP), AX")
	a.ins("ORL $0x8040, AX")
	a.ins("MOVL AX, 8(SP)")
	a.ins("LDMXCSR 8(SP)")
}

// begin clears the tile or loads it from c.
func (g gemm) begin(a *asm, rows int) {
	load, start := a.newLabel("load"), a.newLabel("start")
	if !g.ints {
		a.ins("TESTQ R9, R9")
		a.ins("JNE %s", load)
	}
	for z := range 2 * rows {
		a.zero(fmt.Sprintf("Z%d", z))
	}
	if g.ints {
		return
	}
	a.ins("JMP %s", start)
	a.label(load)
	a.ins("MOVQ DX, AX")
	moveTile(a, rows, "AX", func(z int, at string) { a.ins("VMOVUPS %s, Z%d", at, z) })
	a.label(start)
}

// moveTile walks the rows of c, moving base.
func moveTile(a *asm, rows int, base string, move func(z int, at string)) {
	for i := range rows {
		move(acc(i, 0), fmt.Sprintf("(%s)", base))
		move(acc(i, 1), fmt.Sprintf("64(%s)", base))
		if i < rows-1 {
			a.ins("ADDQ R8, %s", base)
		}
	}
}

// loop writes the walk over the steps, unrolled, and its remainder.
func (g gemm) loop(a *asm, rows int) {
	unrolled, tail, single, done := a.newLabel("unrolled"), a.newLabel("tail"), a.newLabel("single"), a.newLabel("done")
	a.ins("SUBQ $%d, CX", g.unroll)
	a.ins("JLT %s", tail)
	a.ins("PCALIGN $32")
	a.label(unrolled)
	g.steps(a, rows, g.unroll)
	a.ins("SUBQ $%d, CX", g.unroll)
	a.ins("JGE %s", unrolled)
	a.label(tail)
	a.ins("ADDQ $%d, CX", g.unroll)
	a.ins("JEQ %s", done)
	a.label(single)
	g.steps(a, rows, 1)
	a.ins("DECQ CX")
	a.ins("JNE %s", single)
	a.label(done)
}

// steps writes n steps and moves a and b past them.
func (g gemm) steps(a *asm, rows, n int) {
	for offset := range n {
		a.fetch(offset, 2)
		g.step(a, g.element(rows), rows, offset)
	}
	if g.direct {
		for i := 0; i < rows; i += 3 {
			a.ins("ADDQ $%d, %s", n*g.perStep*4, bases[i/3])
		}
	} else {
		a.ins("ADDQ $%d, SI", n*g.perStep*rows*4)
	}
	a.ins("ADDQ $%d, DI", n*128)
}

// fetch prefetches lines of memory R14 bytes after a step: further on in the same panel, or the memory read after it.
func (a *asm) fetch(step, lines int) {
	for line := range lines {
		a.ins("PREFETCHT0 %d(DI)(R14*1)", step*rowBytes+64*line)
	}
}

// bases hold the addresses of every third row of a that is not packed.
var bases = [...]string{"SI", "R10", "R11", "R12", "R13"}

func (g gemm) element(rows int) element {
	if !g.direct {
		return func(k, i int) string { return fmt.Sprintf("%d(SI)", (k*rows+i)*4) }
	}
	return func(k, i int) string {
		return fmt.Sprintf("%d(%s)%s", k*4, bases[i/3], [...]string{"", "(BX*1)", "(BX*2)"}[i%3])
	}
}

// multiply adds row k of a times Z28 and Z29 to the tile.
func multiply(a *asm, e element, rows, k int, op func(a *asm, sum, x, w int)) {
	for i := range rows {
		a.ins("VBROADCASTSS %s, Z30", e(k, i))
		op(a, acc(i, 0), 30, 28)
		op(a, acc(i, 1), 30, 29)
	}
}

func fma(a *asm, sum, x, w int) { a.ins("VFMADD231PS Z%d, Z%d, Z%d", w, x, sum) }

func f32Step(a *asm, e element, rows, offset int) {
	a.ins("VMOVUPS %d(DI), Z28", offset*128)
	a.ins("VMOVUPS %d(DI), Z29", offset*128+64)
	multiply(a, e, rows, offset, fma)
}

// wideStep multiplies the odd elements of the pairs, then the even ones.
func wideStep(a *asm, e element, rows, offset int) {
	a.ins("VPANDD %d(DI), Z31, Z28", offset*128)
	a.ins("VPANDD %d(DI), Z31, Z29", offset*128+64)
	multiply(a, e, rows, 2*offset+1, fma)
	a.ins("VPSLLD $16, %d(DI), Z28", offset*128)
	a.ins("VPSLLD $16, %d(DI), Z29", offset*128+64)
	multiply(a, e, rows, 2*offset, fma)
}

// quadStep multiplies the even bytes of fours, then the odd ones.
func quadStep(a *asm, e element, rows, offset int, op func(a *asm, sum, x, w int)) {
	for z := range 2 {
		a.ins("VPSLLW $8, %d(DI), Z%d", offset*128+64*z, 28+z)
		a.ins("VPSRAW $8, Z%d, Z%d", 28+z, 28+z)
	}
	multiply(a, e, rows, 2*offset, op)
	for z := range 2 {
		a.ins("VPSRAW $8, %d(DI), Z%d", offset*128+64*z, 28+z)
	}
	multiply(a, e, rows, 2*offset+1, op)
}

func madd(a *asm, sum, x, w int) {
	a.ins("VPMADDWD Z%d, Z%d, Z31", w, x)
	a.ins("VPADDD Z31, Z%d, Z%d", sum, sum)
}

// finish makes the sums floats and adds those of the blocks before.
func (g gemm) finish(a *asm, rows int) {
	first := a.newLabel("first")
	for z := range 2 * rows {
		a.ins("VCVTDQ2PS Z%d, Z%d", z, z)
	}
	a.ins("TESTQ R9, R9")
	a.ins("JEQ %s", first)
	a.ins("MOVQ DX, AX")
	moveTile(a, rows, "AX", func(z int, at string) { a.ins("VADDPS %s, Z%d, Z%d", at, z, z) })
	a.label(first)
}

func dotStep(a *asm, e element, rows, offset int) {
	a.ins("VMOVUPS %d(DI), Z28", offset*128)
	a.ins("VMOVUPS %d(DI), Z29", offset*128+64)
	multiply(a, e, rows, offset, dot)
}

// dot writes VDPBF16PS Zw, Zx, Zsum (EVEX.512.F3.0F38.W0 52 /r), for which the Go
// assembler has no name. The EVEX prefix holds register bits inverted.
func dot(a *asm, sum, x, w int) { a.ins("%s", evexBytes(ppF3, 0x52, sum, x, w)) }

// evexBytes writes an instruction of three vector registers, EVEX.512.0F38.W0 with prefix pp.
func evexBytes(pp, opcode, dst, x, w int) string {
	not := func(v, bit int) int { return 1 - v>>bit&1 }
	code := [6]int{
		0x62,
		not(dst, 3)<<7 | not(w, 4)<<6 | not(w, 3)<<5 | not(dst, 4)<<4 | 2, // map 0F38
		(^x&15)<<3 | 1<<2 | pp,
		2<<5 | not(x, 4)<<3, // 512 bits
		opcode,
		0xc0 | dst&7<<3 | w&7,
	}
	text := make([]string, len(code))
	for i, b := range code {
		text[i] = fmt.Sprintf("BYTE $0x%02x", b)
	}
	return strings.Join(text, "; ")
}

// peaks writes the loops that measure the arithmetic units: sums that do not wait for each other, factors that are
// read once. The factors are ordinary numbers that the caller gives, and neighbouring products have different ones:
// with zeros fewer bits change, the processor draws less power and clocks higher than in any real product.
func peaks(a *asm) {
	for _, p := range []struct {
		name, doc string
		op        func(a *asm, sum, x, w int)
	}{
		{"peakFMA", "runs n times 24 float32 fused multiply-adds in registers, of the 64 floats at data.", fma},
		{"peakDot", "runs n times 24 VDPBF16PS in registers, of the 128 bf16 at data.", dot},
	} {
		a.fn(p.name, p.doc, 0, false, num("n", "CX"), ptr("data", "SI"))
		for z := range 24 {
			a.zero(fmt.Sprintf("Z%d", z))
		}
		for i := range 4 {
			a.ins("VMOVUPS %d(SI), Z%d", 64*i, 28+i)
		}
		loop := a.newLabel("loop")
		a.label(loop)
		for z := range 24 {
			p.op(a, z, 30+z/2%2, 28+z%2)
		}
		a.ins("DECQ CX")
		a.ins("JNE %s", loop)
		a.end()
	}
	peakTile(a)
}

// peakTile writes the loop for the tiles: the four products of amxRows32.
func peakTile(a *asm) {
	a.fn("peakTile", "runs n times 4 TDPBF16PS of the 2048 bf16 at data.", 0, false, num("n", "CX"), ptr("data", "SI"))
	a.configure()
	a.ins("MOVQ $%d, R11", blockBytes)
	for i, tile := range []int{amxA, amxA + 1, amxB, amxB + 1} {
		if i > 0 {
			a.ins("ADDQ $%d, SI", tileBytes)
		}
		a.loadTile(tile, "SI", "R11", 0)
	}
	loop := a.newLabel("loop")
	a.label(loop)
	for i := range 4 {
		a.dotTile(i, amxA+i/2, amxB+i%2)
	}
	a.ins("DECQ CX")
	a.ins("JNE %s", loop)
	a.release()
	a.end()
}
