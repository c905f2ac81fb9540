package main

import (
	"fmt"
	"strings"
)

// neonMax is the height of the largest tile of NEON.
const neonMax = 8

// neonGEMM is a family of micro-kernels of 1 … 8 rows. A tile is rows×32 up to 3 rows, rows×16 up to 5 and rows×8
// beyond, in 32 registers of 4 floats: 16 … 24 sums keep four units busy over the 4 cycles of a fused multiply-add.
// Registers V0 … hold 16 bytes of each row of a, then come those of b, and the last ones hold the sums.
//
// Products of bf16 run with FPCR.FZ set, which takes subnormal inputs and results to zeros of their sign. But an Arm
// processor decides before it rounds whether a result is subnormal, the definition after. So the kernel clears FPSR
// and looks at its bit UFC before sums are stored: if a result was taken to zero it stores nothing and returns the
// steps that are left, for the caller to do by the definition. Results that are inputs taken to zero do not set UFC.
type neonGEMM struct {
	name, doc string
	bf16      bool // by BFMLALT and BFMLALB; a holds pairs of bf16
	pairs     bool // b holds pairs of bf16
	blocked   bool // the order is Blocked
}

const neonReturns = " It returns the steps that must be done again by the definition."

var neonRows = neonGEMM{
	name: "neonRows",
	doc:  "folds steps rows of float32 by fused multiply-adds. It returns 0.",
}

var neonWide = neonGEMM{
	name: "neonWide", pairs: true,
	doc: "folds steps rows of bf16 pairs, widened, steps a multiple of 16; a holds bf16 values as float32, two a " +
		"step." + neonReturns,
}

var neonWideBlocked = neonGEMM{
	name: "neonWideBlocked", pairs: true, blocked: true,
	doc: "is neonWide in order Blocked." + neonReturns,
}

var neonDot = neonGEMM{
	name: "neonDot", pairs: true, bf16: true,
	doc: "folds steps rows of bf16 pairs by BFMLALT and BFMLALB, steps a multiple of 16; a holds pairs." + neonReturns,
}

var neonDotBlocked = neonGEMM{
	name: "neonDotBlocked", pairs: true, bf16: true, blocked: true,
	doc: "is neonDot in order Blocked." + neonReturns,
}

// neonVectors returns the number of registers that a row of a tile takes.
func neonVectors(rows int) int {
	switch {
	case rows <= 3:
		return 8
	case rows <= 5:
		return 4
	}
	return 2
}

// emit writes the kernels of all heights and their table.
func (g neonGEMM) emit(a arm) {
	names := []string{"nil"}
	for rows := 1; rows <= neonMax; rows++ {
		name := fmt.Sprintf("%sx%d", g.name, rows)
		names = append(names, name)
		neonTile{g, a, rows}.kernel(name)
	}
	fmt.Fprintf(&a.decl, "\nvar %sKernels = [...]neonKernel{%s}\n", g.name, strings.Join(names, ", "))
}

// neonTile writes one kernel.
type neonTile struct {
	neonGEMM
	arm
	rows int
}

func (t neonTile) width() int { return neonVectors(t.rows) }

// sum returns the register of row i and vector j of the columns.
func (t neonTile) sum(i, j int) int { return 31 - i*t.width() - j }

// temp returns register i of the five beyond a's; the last holds the mask of odd elements.
func (t neonTile) temp(i int) int { return t.rows + i }

// row returns the pointer to row i of a.
func (t neonTile) row(i int) string { return fmt.Sprintf("R%d", 8+i) }

func (t neonTile) eachSum(f func(i, j, v int)) {
	for i := range t.rows {
		for j := range t.width() {
			f(i, j, t.sum(i, j))
		}
	}
}

// kernel writes the kernel. R0 counts steps, R1 is b, R2 c, R3 the distance of its rows, R4 acc, R5 lda, R6 ahead.
func (t neonTile) kernel(name string) {
	frame := 0
	if t.blocked {
		frame = 16 * t.rows * t.width()
	}
	ret := t.fn(name, t.doc, "int", frame, num("steps", "R0"), ptr("a", "R8"), ptr("b", "R1"), ptr("c", "R2"),
		num("ldc", "R3"), num("acc", "R4"), num("lda", "R5"), num("ahead", "R6"))
	for i := 1; i < t.rows; i++ {
		t.ins("ADD R5, %s, %s", t.row(i-1), t.row(i))
	}
	if t.pairs {
		t.flushToZero()
	}
	failed := t.newLabel("failed")
	if t.blocked {
		t.blocks(failed)
	} else {
		t.fold(failed)
	}
	t.label(failed)
	if t.pairs {
		t.ins("MOVD R20, FPCR")
	}
	t.ins("MOVD R0, ret+%d(FP)", ret)
	t.ins("RET")
}

// flushToZero sets FPCR.FZ, with the old FPCR in R20, clears FPSR, and makes the mask of odd elements.
func (t neonTile) flushToZero() {
	t.ins("MOVD FPCR, R20")
	t.ins("ORR $(1<<24), R20, R21")
	t.ins("MOVD R21, FPCR")
	t.ins("MOVD ZR, FPSR")
	if !t.bf16 {
		t.ins("MOVW $0xffff0000, R21")
		t.ins("VDUP R21, V%d.S4", t.temp(4))
	}
}

// ifFlushed leaves for the label if a result was taken to zero.
func (t neonTile) ifFlushed(label string) {
	t.ins("MOVD FPSR, R21")
	t.ins("TBNZ $3, R21, %s", label)
}

// moveTile walks the rows of c with R22.
func (t neonTile) moveTile(move func(v int, at string)) {
	t.ins("MOVD R2, R22")
	for i := range t.rows {
		for j := range t.width() {
			move(t.sum(i, j), fmt.Sprintf("%d(R22)", 16*j))
		}
		if i < t.rows-1 {
			t.ins("ADD R3, R22, R22")
		}
	}
}

func (t neonTile) clearSums() { t.eachSum(func(_, _, v int) { t.clear(v) }) }

// fold writes the walk of float32 and of order Sequential.
func (t neonTile) fold(failed string) {
	start, load := t.newLabel("start"), t.newLabel("load")
	t.ins("MOVD R0, R7")
	t.ins("CBNZ R4, %s", load)
	t.clearSums()
	t.ins("B %s", start)
	t.label(load)
	t.moveTile(func(v int, at string) { t.ins("FMOVQ %s, F%d", at, v) })
	t.label(start)
	loop, tail, done := t.newLabel("loop"), t.newLabel("tail"), t.newLabel("done")
	n := t.perLoad()
	t.ins("SUBS $%d, R7", n)
	t.ins("BLT %s", tail)
	t.ins("PCALIGN $32")
	t.label(loop)
	t.loadRows()
	for s := range n {
		t.fetch(s)
		t.step(s)
	}
	t.ins("ADD $%d, R1", n*rowBytes)
	t.ins("SUBS $%d, R7", n)
	t.ins("BGE %s", loop)
	t.label(tail)
	if t.pairs {
		t.ifFlushed(failed)
	} else {
		t.singles(n, done)
	}
	t.label(done)
	t.moveTile(func(v int, at string) { t.ins("FMOVQ F%d, %s", v, at) })
	t.ins("MOVD ZR, R0")
}

// singles folds the last steps, fewer than n, of float32.
func (t neonTile) singles(n int, done string) {
	single := t.newLabel("single")
	t.ins("ADDS $%d, R7", n)
	t.ins("BEQ %s", done)
	t.label(single)
	for i := range t.rows {
		t.ins("FMOVS.P 4(%s), F%d", t.row(i), i)
	}
	t.step(0)
	t.ins("ADD $%d, R1", rowBytes)
	t.ins("SUBS $1, R7")
	t.ins("BNE %s", single)
}

// perLoad is the number of steps that 16 bytes of a row of a hold.
func (t neonTile) perLoad() int {
	if t.pairs && !t.bf16 {
		return 2
	}
	return 4
}

func (t neonTile) loadRows() {
	for i := range t.rows {
		t.ins("FMOVQ.P 16(%s), F%d", t.row(i), i)
	}
}

// fetch prefetches what follows by R6 bytes after row s of b.
func (t neonTile) fetch(s int) {
	if s == 0 {
		t.ins("ADD R6, R1, R23")
	}
	for line := 0; line < t.width()*16; line += 64 {
		t.ins("PRFM %d(R23), PLDL1KEEP", s*rowBytes+line)
	}
}

// step adds the products of step s of those in the registers of a, whose row of b is s rows from R1 on.
func (t neonTile) step(s int) {
	group := min(t.width(), 2)
	if t.bf16 || !t.pairs {
		group = min(t.width(), 4)
	}
	for j := 0; j < t.width(); j += group {
		for v := range group {
			t.ins("FMOVQ %d(R1), F%d", s*rowBytes+16*(j+v), t.temp(v))
		}
		if !t.pairs {
			t.products(j, group, func(d, v, i int) { t.fmlaLane(d, t.temp(v), i, s) })
			continue
		}
		t.factors(s, j, group, 1)
		t.factors(s, j, group, 0)
	}
}

// factors adds the products of the odd (k = 1) or even elements of the pairs of step s, which are in the temporary
// registers; the even ones are destroyed.
func (t neonTile) factors(s, j, group, k int) {
	if t.bf16 {
		t.products(j, group, func(d, v, i int) { t.bfmlal(d, t.temp(v), i, 2*s+k) })
		return
	}
	for v := range group {
		if k == 1 {
			t.ins("VAND V%d.B16, V%d.B16, V%d.B16", t.temp(4), t.temp(v), t.temp(2+v))
		} else {
			t.ins("VSHL $16, V%d.S4, V%d.S4", t.temp(v), t.temp(v))
		}
	}
	t.products(j, group, func(d, v, i int) { t.fmlaLane(d, t.temp(2*k+v), i, 2*s+k) })
}

// products calls f for all rows and a group of vectors from j on.
func (t neonTile) products(j, group int, f func(d, v, i int)) {
	for i := range t.rows {
		for v := range group {
			f(t.sum(i, j+v), v, i)
		}
	}
}
