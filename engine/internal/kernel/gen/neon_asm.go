package main

import (
	"fmt"
	"strings"
)

// neon emits the kernels of arm64.
func neon() *asm {
	a := &asm{}
	for _, g := range []neonGEMM{neonRows, neonWide, neonWideBlocked, neonDot, neonDotBlocked} {
		g.emit(a)
	}
	neonVectorFunctions(a)
	return a
}

// neonFn begins a function and loads its arguments: general registers, or F for a float32. result is the type of
// what it returns, or empty.
func (a *asm) neonFn(name, doc, result string, frame int, params ...param) (ret int) {
	var loads []string
	offset := 0
	list := make([]string, len(params))
	for i, p := range params {
		list[i] = p.name + " " + p.kind
		op, size := "MOVD", 8
		if p.kind == "float32" {
			op, size = "FMOVS", 4
		}
		offset = (offset + size - 1) / size * size
		loads = append(loads, fmt.Sprintf("%s %s+%d(FP), %s", op, p.name, offset, p.reg))
		offset += size
	}
	signature := fmt.Sprintf("func %s(%s)", name, strings.Join(list, ", "))
	ret = (offset + 7) / 8 * 8
	switch result {
	case "int":
		signature, offset = signature+" (ret int)", ret+8
	case "float32":
		signature, offset = signature+" (ret float32)", ret+4
	}
	fmt.Fprintf(&a.decl, "\n// %s %s\n//\n//go:noescape\n%s\n", name, doc, signature)
	fmt.Fprintf(&a.text, "\n// %s\nTEXT ·%s(SB), NOSPLIT, $%d-%d\n", signature, name, frame, offset)
	for _, l := range loads {
		a.ins("%s", l)
	}
	return ret
}

// fmlaLane adds V n times lane i of V m to V d, float32. Go's assembler has no multiplication by an element; the bits
// are those of FMLA (by element) in the Arm Architecture Reference Manual.
func (a *asm) fmlaLane(d, n, m, i int) {
	word := 0x4f801000 | i&1<<21 | i>>1<<11 | m<<16 | n<<5 | d
	a.ins("WORD $%#08x // FMLA V%d.S4, V%d.S4, V%d.S[%d]", word, d, n, m, i)
}

// bfmlal adds the odd (i odd) or even elements of V n times element i of V m, m < 16, to V d: BFMLALT or BFMLALB (by
// element). The other factor of an odd element is an odd element.
func (a *asm) bfmlal(d, n, m, i int) {
	word, name := 0x0fc0f000, "BFMLALB"
	if i&1 == 1 {
		word, name = 0x4fc0f000, "BFMLALT"
	}
	word |= i&1<<20 | i>>1&1<<21 | i>>2<<11 | m<<16 | n<<5 | d
	a.ins("WORD $%#08x // %s V%d.S4, V%d.H8, V%d.H[%d]", word, name, d, n, m, i)
}

// neonClear zeroes a register.
func (a *asm) neonClear(v int) { a.ins("VEOR V%d.B16, V%d.B16, V%d.B16", v, v, v) }
