package main

import "fmt"

// avx2 emits the kernels of the AVX2 path: VEX encodings alone, registers Y0 … Y15.
func avx2() *asm {
	a := &asm{}
	for _, k := range []avx2GEMM{avx2Packed, avx2Direct, avx2Wide, avx2Blocked, avx2Madd} {
		k.emit(a)
	}
	avx2Fetch(a)
	avx2Packing(a)
	avx2Ints(a)
	avx2Vectors(a)
	avx2Peak(a)
	return a
}

// eight returns the operand of a constant that stands in all 8 lanes.
func (a *asm) eight(v uint32) string {
	for i, c := range a.eights {
		if c == v {
			return fmt.Sprintf("eights<>+%d(SB)", 32*i)
		}
	}
	a.eights = append(a.eights, v)
	return fmt.Sprintf("eights<>+%d(SB)", 32*(len(a.eights)-1))
}

// clear zeroes a register.
func (a *asm) clear(reg string) { a.ins("VXORPS %s, %s, %s", reg, reg, reg) }

// unrolled writes a loop over CX steps: steps(n) for as many as are left, then one by one.
func (a *asm) unrolled(n int, steps func(n int)) {
	unrolled, tail, single, done := a.newLabel("unrolled"), a.newLabel("tail"), a.newLabel("single"), a.newLabel("done")
	a.ins("SUBQ $%d, CX", n)
	a.ins("JLT %s", tail)
	a.ins("PCALIGN $32")
	a.label(unrolled)
	steps(n)
	a.ins("SUBQ $%d, CX", n)
	a.ins("JGE %s", unrolled)
	a.label(tail)
	a.ins("ADDQ $%d, CX", n)
	a.ins("JEQ %s", done)
	a.label(single)
	steps(1)
	a.ins("DECQ CX")
	a.ins("JNE %s", single)
	a.label(done)
}

// half is one of the two registers' worth of 16 floats: elements 0 … 7 live in Y0 … Y7, elements
// 8 … 15 in Y8 … Y15. In the tail only the lanes of a mask are read and written; its words lie at
// (AX), and Y7 or Y15 holds them.
type half struct {
	*asm
	index int // 0 or 1
	tail  bool
}

// reg returns the half's register number i of 0 … 7.
func (h half) reg(i int) string { return fmt.Sprintf("Y%d", 8*h.index+i) }

// op writes an instruction on numbered registers of the half, after other operands.
func (h half) op(name string, regs ...any) {
	text := name
	for i, r := range regs {
		sep := " "
		if i > 0 {
			sep = ", "
		}
		if n, ok := r.(int); ok {
			r = h.reg(n)
		}
		text += sep + r.(string)
	}
	h.ins("%s", text)
}

func (h half) at(p string) string { return fmt.Sprintf("%d(%s)", 32*h.index, p) }

// mask brings the mask of the tail to register 7.
func (h half) mask() { h.op("VMOVDQU", h.at("AX"), 7) }

// load reads 8 floats to register i; in the tail, zeros where the mask is off.
func (h half) load(p string, i int) {
	if !h.tail {
		h.op("VMOVUPS", h.at(p), i)
		return
	}
	h.mask()
	h.op("VMASKMOVPS", h.at(p), 7, i)
}

// store writes register i; in the tail, where the mask is on.
func (h half) store(i int, p string) {
	if !h.tail {
		h.op("VMOVUPS", i, h.at(p))
		return
	}
	h.mask()
	h.op("VMASKMOVPS", i, 7, h.at(p))
}

// keep sets register sum to register i; in the tail, where the mask is on.
func (h half) keep(i, sum int) {
	if !h.tail {
		h.op("VMOVAPS", i, sum)
		return
	}
	h.mask()
	h.op("VBLENDVPS", 7, i, sum, sum)
}

// each writes body for both halves.
func (a *asm) each(tail bool, body func(h half)) {
	for i := range 2 {
		body(half{a, i, tail})
	}
}

// sixteens writes a walk over CX floats, 16 at a time and then the tail.
func (a *asm) sixteens(pointers []string, body func(h half)) {
	loop, tail, done := a.newLabel("loop"), a.newLabel("tail"), a.newLabel("done")
	a.ins("SUBQ $16, CX")
	a.ins("JLT %s", tail)
	a.ins("PCALIGN $32")
	a.label(loop)
	a.each(false, body)
	for _, p := range pointers {
		a.ins("ADDQ $64, %s", p)
	}
	a.ins("SUBQ $16, CX")
	a.ins("JGE %s", loop)
	a.label(tail)
	a.ins("ADDQ $16, CX")
	a.ins("JEQ %s", done)
	a.maskAddress("CX")
	a.each(true, body)
	a.label(done)
}

// maskAddress points AX at words of which the first count, at most windowOnes, are all ones and the others zeros. It
// destroys count.
func (a *asm) maskAddress(count string) {
	a.window = true
	a.ins("LEAQ window<>+%d(SB), AX", 4*windowOnes)
	a.ins("SHLQ $2, %s", count)
	a.ins("SUBQ %s, AX", count)
}
