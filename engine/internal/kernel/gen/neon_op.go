package main

import "math"

// Go's assembler has no mnemonics for arithmetic on vectors of float32: op writes the bits, which are those of the
// Arm Architecture Reference Manual.

// The instructions on vectors of four words: operands V d, V n, V m.
const (
	fadd   = 0x4e20d400
	fsub   = 0x4ea0d400
	fmul   = 0x6e20dc00
	fdiv   = 0x6e20fc00
	fmla   = 0x4e20cc00 // d += n*m, fused
	fmls   = 0x4ea0cc00 // d -= n*m, fused
	fcmgt  = 0x6ea0e400 // n > m, not so if one is NaN
	fcmeq  = 0x4e20e400
	bit    = 0x6ea01c00 // d = n where m has ones
	and    = 0x4e201c00
	orr    = 0x4ea01c00
	bic    = 0x4e601c00 // n and not m
	addW   = 0x4ea08400 // of integers
	subW   = 0x6ea08400
	cmeqW  = 0x6ea08c00
	fneg   = 0x6ea0f800 // m is not used by this one and the next
	frintn = 0x4e218800 // to the nearest integer, halves to even
	fcvtns = 0x4e21a800 // the same as an integer, 0 for NaN
)

// neonNames are those of the assembly's comments.
var neonNames = map[int]string{fadd: "FADD", fsub: "FSUB", fmul: "FMUL", fdiv: "FDIV", fmla: "FMLA", fmls: "FMLS",
	fcmgt: "FCMGT", fcmeq: "FCMEQ", bit: "BIT", and: "AND", orr: "ORR", bic: "BIC", addW: "ADD", subW: "SUB",
	cmeqW: "CMEQ", fneg: "FNEG", frintn: "FRINTN", fcvtns: "FCVTNS"}

// op writes an instruction on V d, V n and V m.
func (a arm) op(op, d, n, m int) {
	word := op | m<<16 | n<<5 | d
	if op == fneg || op == frintn || op == fcvtns {
		word = op | n<<5 | d
		a.ins("WORD $%#08x // %s V%d.4S, V%d.4S", word, neonNames[op], d, n)
		return
	}
	a.ins("WORD $%#08x // %s V%d.4S, V%d.4S, V%d.4S", word, neonNames[op], d, n, m)
}

// shift writes a shift of V n to V d by a number of bits.
func (a arm) shift(op string, bits, d, n int) {
	word := map[string]int{"SHL": 0x4f005400 | (32+bits)<<16, "SSHR": 0x4f000400 | (64-bits)<<16,
		"USHR": 0x6f000400 | (64-bits)<<16}[op] | n<<5 | d
	a.ins("WORD $%#08x // %s V%d.4S, V%d.4S, #%d", word, op, d, n, bits)
}

// narrow writes the low halves of V n, shifted right by 16 bits, to the low or the high half of V d.
func (a arm) narrow(d, n int, high bool) {
	word, name := 0x0f108400, "SHRN"
	if high {
		word, name = 0x4f108400, "SHRN2"
	}
	a.ins("WORD $%#08x // %s V%d, V%d.4S, #16", word|n<<5|d, name, d, n)
}

func (a arm) move(d, n int) { a.op(orr, d, n, n) }

// number fills V v with a word, float with a float32.
func (a arm) number(word uint32, v int) {
	a.ins("MOVW $%#x, R20", word)
	a.ins("VDUP R20, V%d.S4", v)
}

func (a arm) float(x float32, v int) { a.number(math.Float32bits(x), v) }

// load reads 16 floats at a pointer to V v and the next three, store writes them.
func (a arm) load(pointer string, v int) {
	for i := range 4 {
		a.ins("FMOVQ %d(%s), F%d", 16*i, pointer, v+i)
	}
}

func (a arm) store(v int, pointer string) {
	for i := range 4 {
		a.ins("FMOVQ F%d, %d(%s)", v+i, 16*i, pointer)
	}
}

// blocks writes a function that calls body for each of R0 blocks, after which the pointers are at the next one.
// setup comes before the first, end after the last; sums says that the last pointer is to 16 lanes, read to V v0 and
// the next three before and written after.
func (a arm) blocks(name, doc string, params []param, sums int, setup, body func()) {
	var pointers []string
	all := append([]param{num("blocks", "R0")}, params...)
	a.fn(name, doc, "", 0, all...)
	for _, p := range params {
		if p.kind == "*float32" {
			pointers = append(pointers, p.reg)
		} else {
			a.ins("VDUP V%s.S[0], V%s.S4", p.reg[1:], p.reg[1:])
		}
	}
	lanes := ""
	if sums >= 0 {
		lanes, pointers = pointers[len(pointers)-1], pointers[:len(pointers)-1]
		a.load(lanes, sums)
	}
	setup()
	loop, done := a.newLabel("loop"), a.newLabel("done")
	a.ins("CBZ R0, %s", done)
	a.label(loop)
	body()
	for _, p := range pointers {
		a.ins("ADD $64, %s", p)
	}
	a.ins("SUBS $1, R0")
	a.ins("BNE %s", loop)
	a.label(done)
	if sums >= 0 {
		a.store(sums, lanes)
	}
	a.ins("RET")
}

// neonFour calls f for each of four registers.
func neonFour(f func(i int)) {
	for i := range 4 {
		f(i)
	}
}

// loop writes a loop of R0 rounds and the end of the function.
func (a arm) loop(setup, body func()) {
	loop, done := a.newLabel("loop"), a.newLabel("done")
	setup()
	a.ins("CBZ R0, %s", done)
	a.label(loop)
	body()
	a.ins("SUBS $1, R0")
	a.ins("BNE %s", loop)
	a.label(done)
	a.ins("RET")
}
