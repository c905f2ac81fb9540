package main

import (
	"fmt"
	"strings"
)

const (
	// avx2Rows is the height of the largest tile of AVX2.
	avx2Rows = 6
	// avx2Sums is the number of registers that hold sums.
	avx2Sums = 12
)

// avx2GEMM is a family of micro-kernels like gemm, for 16 registers of 8 floats. They
// do what those of gemm do, on other tiles: 12 registers hold sums, enough to keep two
// units busy over the 4 or 5 cycles of a fused multiply-add.
//
// Up to 3 rows, a tile is rows×32: for each k the elements of a stand in Y12 … Y14 and the
// four parts of the row of b pass through Y15. So a row that is alone, as in decoding, reads a
// panel once and in order. From 4 rows on a tile is rows×16, in two passes over the halves of the
// panel: the row of b stands in Y12 and Y13 and the elements of a pass through Y14. Each
// element of the panel is then used by twice as many rows, which counts where it must be
// widened first: on Emerald Rapids it is worth 6 to 10 percent of the peak with bf16, 1 or 2
// with float32.
type avx2GEMM struct {
	name, doc string
	direct    bool // a is not packed
	flush     bool // subnormals are zeros while it runs
	blocked   bool // the order is Blocked: see blocks
	ints      bool // sums are int32, and c is continued by their float32; Y15 holds a product
	unroll    int
	factors   []factor // of a step, in order
}

// factor is one product of a step: element k of the step's elements of a, times a
// row of b as load brings 8 of its words to a register.
type factor struct {
	k    int
	load func(a *asm, at, reg string)
}

var avx2Packed = avx2GEMM{
	name: "avx2F32", unroll: 4, factors: []factor{{0, loadFloats}},
	doc: "folds steps rows of float32 by fused multiply-adds.",
}

var avx2Direct = avx2GEMM{
	name: "avx2Rows", unroll: 4, direct: true, factors: []factor{{0, loadFloats}},
	doc: "folds steps rows of float32 by fused multiply-adds; a is not packed.",
}

var avx2Wide = avx2GEMM{
	name: "avx2Wide", unroll: 2, direct: true, flush: true, factors: []factor{{1, loadOdd}, {0, loadEven}},
	doc: "folds steps rows of bf16 pairs, widened; a holds bf16 values as float32, two a step, and is not packed.",
}

var avx2Blocked = avx2GEMM{
	name: "avx2Blocked", unroll: 4, direct: true, flush: true, blocked: true,
	factors: []factor{{0, loadEven}, {1, loadOdd}},
	doc: "folds steps rows of bf16 pairs in order Blocked, steps a multiple of 16; a holds bf16 values as float32, " +
		"two a step, and is not packed.",
}

var avx2Madd = avx2GEMM{
	name: "avx2Madd", unroll: 2, direct: true, ints: true, factors: []factor{{0, loadEvenBytes}, {1, loadOddBytes}},
	doc: "adds the sums of steps rows of fours of int8 by VPMADDWD; a holds int16, two words a step.",
}

// loadEvenBytes widens the bytes 0 and 2 of fours, loadOddBytes 1 and 3.
func loadEvenBytes(a *asm, at, reg string) {
	a.ins("VMOVDQU %s, %s", at, reg)
	a.ins("VPSLLW $8, %s, %s", reg, reg)
	a.ins("VPSRAW $8, %s, %s", reg, reg)
}

func loadOddBytes(a *asm, at, reg string) {
	a.ins("VMOVDQU %s, %s", at, reg)
	a.ins("VPSRAW $8, %s, %s", reg, reg)
}

func loadFloats(a *asm, at, reg string) { a.ins("VMOVUPS %s, %s", at, reg) }

// loadOdd widens the high halves of pairs, loadEven the low ones.
func loadOdd(a *asm, at, reg string) {
	a.ins("VMOVDQU %s, %s", at, reg)
	a.ins("VPAND %s, %s, %s", a.eight(0xffff0000), reg, reg)
}

func loadEven(a *asm, at, reg string) {
	a.ins("VMOVDQU %s, %s", at, reg)
	a.ins("VPSLLD $16, %s, %s", reg, reg)
}

// emit writes the kernels of all heights and their table.
func (g avx2GEMM) emit(a *asm) {
	names := []string{"nil"}
	for rows := 1; rows <= avx2Rows; rows++ {
		name := fmt.Sprintf("%sx%d", g.name, rows)
		names = append(names, name)
		g.kernel(a, name, rows)
	}
	fmt.Fprintf(&a.decl, "\nvar %sKernels = [...]microKernel{%s}\n", g.name, strings.Join(names, ", "))
}

// width returns the number of registers that a row of a tile takes.
func (g avx2GEMM) width(rows int) int {
	if rows*4 <= avx2Sums && !(g.ints && rows > 2) {
		return 4
	}
	return 2
}

// kernel writes the kernel of one height.
func (g avx2GEMM) kernel(a *asm, name string, rows int) {
	frame := 0
	switch {
	case g.blocked:
		frame = blockedFrame
	case g.flush:
		frame = 16
	}
	a.fn(name, g.doc, frame, false, num("steps", "CX"), ptr("a", "SI"), ptr("b", "DI"), ptr("c", "DX"),
		num("ldc", "R8"), num("acc", "R9"), num("lda", "BX"), num("ahead", "R14"))
	if g.flush {
		a.flushSubnormals()
	}
	if g.width(rows) == 4 {
		g.walk(a, rows)
	} else {
		g.twice(a, rows)
	}
	if g.flush {
		a.ins("LDMXCSR 0(SP)")
	}
	a.end()
}

// twice walks the panel for the left half of the columns and then for the right one.
func (g avx2GEMM) twice(a *asm, rows int) {
	half := a.newLabel("half")
	a.ins("MOVQ CX, R11")
	a.ins("MOVQ SI, R12")
	a.ins("LEAQ 64(DI), R13")
	a.ins("MOVL $1, R15") // halves to come
	a.label(half)
	g.walk(a, rows)
	a.ins("MOVQ R11, CX")
	a.ins("MOVQ R12, SI")
	a.ins("MOVQ R13, DI")
	a.ins("MOVQ acc+40(FP), R9")
	a.ins("ADDQ $64, DX")
	a.ins("DECQ R15")
	a.ins("JEQ %s", half)
}

// walk folds all steps into the tile.
func (g avx2GEMM) walk(a *asm, rows int) {
	if g.direct && rows > 3 {
		a.ins("LEAQ (SI)(BX*2), R10")
		a.ins("ADDQ BX, R10")
	}
	if g.blocked {
		g.blocks(a, rows)
		return
	}
	g.begin(a, rows)
	a.unrolled(g.unroll, func(n int) { g.steps(a, rows, n) })
	if g.ints {
		g.finish(a, rows)
	}
	g.moveTile(a, rows, func(reg, at string) { a.ins("VMOVUPS %s, %s", reg, at) })
}

// begin clears the sums or loads them from c.
func (g avx2GEMM) begin(a *asm, rows int) {
	if g.ints {
		g.clear(a, rows)
		return
	}
	load, start := a.newLabel("load"), a.newLabel("start")
	a.ins("TESTQ R9, R9")
	a.ins("JNE %s", load)
	g.clear(a, rows)
	a.ins("JMP %s", start)
	a.label(load)
	g.moveTile(a, rows, func(reg, at string) { a.ins("VMOVUPS %s, %s", at, reg) })
	a.label(start)
}

// finish makes the sums floats and adds those of the blocks before.
func (g avx2GEMM) finish(a *asm, rows int) {
	first := a.newLabel("first")
	g.each(rows, func(y int) { a.ins("VCVTDQ2PS Y%d, Y%d", y, y) })
	a.ins("TESTQ R9, R9")
	a.ins("JEQ %s", first)
	g.moveTile(a, rows, func(reg, at string) { a.ins("VADDPS %s, %s, %s", at, reg, reg) })
	a.label(first)
}

// clear makes the sums zeros.
func (g avx2GEMM) clear(a *asm, rows int) {
	g.each(rows, func(y int) { a.clear(fmt.Sprintf("Y%d", y)) })
}

// moveTile walks the rows of c with AX.
func (g avx2GEMM) moveTile(a *asm, rows int, move func(reg, at string)) {
	a.ins("MOVQ DX, AX")
	for i := range rows {
		for j := range g.width(rows) {
			move(g.sum(rows, i, j), fmt.Sprintf("%d(AX)", 32*j))
		}
		if i < rows-1 {
			a.ins("ADDQ R8, AX")
		}
	}
}

// sum returns the register of row i and part j of the columns.
func (g avx2GEMM) sum(rows, i, j int) string { return fmt.Sprintf("Y%d", i*g.width(rows)+j) }

// steps writes n steps and moves a and b past them.
func (g avx2GEMM) steps(a *asm, rows, n int) {
	for s := range n {
		a.fetch(s, g.width(rows)/2)
		for _, f := range g.factors {
			g.multiply(a, rows, f, s*len(g.factors)+f.k, s*rowBytes)
		}
	}
	g.advance(a, rows, n)
}

// advance moves a and b by n steps.
func (g avx2GEMM) advance(a *asm, rows, n int) {
	bytes := n * len(g.factors) * 4
	if !g.direct {
		bytes *= rows
	}
	a.ins("ADDQ $%d, SI", bytes)
	if g.direct && rows > 3 {
		a.ins("ADDQ $%d, R10", bytes)
	}
	a.ins("ADDQ $%d, DI", n*rowBytes)
}

// multiply adds element k of every row of a times the row of b at an offset to the sums.
func (g avx2GEMM) multiply(a *asm, rows int, f factor, k, offset int) {
	if g.width(rows) == 4 {
		for i := range rows {
			a.ins("VBROADCASTSS %s, Y%d", g.element(rows, k, i), 12+i)
		}
		for j := range 4 {
			w := "Y15"
			if g.ints {
				w = "Y14"
			}
			f.load(a, fmt.Sprintf("%d(DI)", offset+32*j), w)
			for i := range rows {
				g.product(a, w, fmt.Sprintf("Y%d", 12+i), g.sum(rows, i, j))
			}
		}
		return
	}
	f.load(a, fmt.Sprintf("%d(DI)", offset), "Y12")
	f.load(a, fmt.Sprintf("%d(DI)", offset+32), "Y13")
	for i := range rows {
		a.ins("VBROADCASTSS %s, Y14", g.element(rows, k, i))
		g.product(a, "Y12", "Y14", g.sum(rows, i, 0))
		g.product(a, "Y13", "Y14", g.sum(rows, i, 1))
	}
}

// product adds w times x to a sum.
func (g avx2GEMM) product(a *asm, w, x, sum string) {
	if !g.ints {
		a.ins("VFMADD231PS %s, %s, %s", w, x, sum)
		return
	}
	a.ins("VPMADDWD %s, %s, Y15", w, x)
	a.ins("VPADDD Y15, %s, %s", sum, sum)
}

// element returns the operand of a[k][i].
func (g avx2GEMM) element(rows, k, i int) string {
	if !g.direct {
		return fmt.Sprintf("%d(SI)", (k*rows+i)*4)
	}
	return fmt.Sprintf("%d(%s)%s", k*4, [...]string{"SI", "R10"}[i/3], [...]string{"", "(BX*1)", "(BX*2)"}[i%3])
}

// avx2Fetch prefetches lines of memory that products will read.
func avx2Fetch(a *asm) {
	a.fn("avx2Fetch", "prefetches that many lines of 64 bytes from at bytes behind src on into the second cache. They "+
		"may lie outside the memory of src: nothing is read.", 0, false,
		num("lines", "CX"), ptr("src", "SI"), num("at", "AX"))
	a.ins("ADDQ AX, SI")
	loop := a.newLabel("loop")
	a.label(loop)
	a.ins("PREFETCHT1 (SI)")
	a.ins("ADDQ $64, SI")
	a.ins("DECQ CX")
	a.ins("JNE %s", loop)
	a.end()
}

// avx2Peak writes the loop that measures the arithmetic units; see peaks.
func avx2Peak(a *asm) {
	a.fn("avx2Peak", "runs n times 12 float32 fused multiply-adds of 8 lanes in registers, of the 32 floats at data.",
		0, false,
		num("n", "CX"), ptr("data", "SI"))
	for y := range avx2Sums {
		a.clear(fmt.Sprintf("Y%d", y))
	}
	for i := range 4 {
		a.ins("VMOVUPS %d(SI), Y%d", 32*i, avx2Sums+i)
	}
	loop := a.newLabel("loop")
	a.label(loop)
	for y := range avx2Sums {
		a.ins("VFMADD231PS Y%d, Y%d, Y%d", avx2Sums+y%2, avx2Sums+2+y/2%2, y)
	}
	a.ins("DECQ CX")
	a.ins("JNE %s", loop)
	a.end()
}
