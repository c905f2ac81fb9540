package main

import "fmt"

// nibbles is a kernel that multiplies one row p of int16 with a panel of Quads in 4 bits without unpacking it. The
// halves of a word have four places for a nibble u. The two of a place are multiplied with a pair of p where they
// stand, so their products are 1, 16 or 256 times too large, and each scale has a sum of its own; the highest place is
// shifted down. A group's sum of p·(u-8) begins at -8 times the sum of p, and is multiplied by the group's factor.
type nibbles struct {
	name, doc string
	wide      bool // registers of 512 bits, and VPDPWSSD
}

var avx2Nibbles = nibbles{name: "avx2Nibbles", doc: "by VPMADDWD."}
var vnniNibbles = nibbles{name: "vnniNibbles", doc: "by VPDPWSSD.", wide: true}

// The registers: sums of blocks as floats, sums of the block, sums of the group at each scale, a word of nibbles, what
// is multiplied, the row or the factors.
const (
	nibbleFloats, nibbleBlock, nibbleScales = 0, 4, 8
	nibbleWord, nibblePart, nibbleRow       = 11, 12, 13
)

const groupBytes, groupsPerBlock = 512, 16

func (n nibbles) reg(i int) string {
	if n.wide {
		return fmt.Sprintf("Z%d", i)
	}
	return fmt.Sprintf("Y%d", i)
}

func (n nibbles) clear(a *asm, i int) {
	if n.wide {
		a.zero(n.reg(i))
		return
	}
	a.clear(n.reg(i))
}

// parts is the number of registers that hold 32 columns.
func (n nibbles) parts() int {
	if n.wide {
		return 2
	}
	return 4
}

// op writes an instruction on numbered registers.
func (n nibbles) op(a *asm, name string, regs ...int) {
	text := name
	for i, r := range regs {
		text += []string{" ", ", "}[min(i, 1)] + n.reg(r)
	}
	a.ins("%s", text)
}

// and masks register from with a constant.
func (n nibbles) and(a *asm, mask uint32, from, to int) {
	if n.wide {
		a.ins("VPANDD.BCST %s, %s, %s", a.word(mask), n.reg(from), n.reg(to))
		return
	}
	a.ins("VPAND %s, %s, %s", a.eight(mask), n.reg(from), n.reg(to))
}

// emit writes the kernel.
func (n nibbles) emit(a *asm) {
	a.fn(n.name, "writes the sums of a row of int16 times a panel of groups of nibbles to c, "+n.doc+" sums holds -8 "+
		"times the sums of the row's groups. What lies ahead bytes behind a group is prefetched.", 0, false,
		num("groups", "CX"), ptr("a", "SI"), ptr("sums", "R8"), ptr("b", "DI"), ptr("factors", "BX"), ptr("c", "DX"),
		num("ahead", "R14"))
	for j := range n.parts() {
		n.clear(a, nibbleFloats+j)
	}
	block, group := a.newLabel("block"), a.newLabel("group")
	a.label(block)
	a.ins("MOVQ $%d, R9", groupsPerBlock)
	a.ins("CMPQ CX, R9")
	a.ins("CMOVQLT CX, R9")
	a.ins("SUBQ R9, CX")
	for j := range n.parts() {
		n.clear(a, nibbleBlock+j)
	}
	a.label(group)
	for line := range groupBytes / 64 {
		a.ins("PREFETCHT0 %d(DI)(R14*1)", 64*line)
	}
	for j := range n.parts() {
		n.group(a, j)
	}
	for reg, bytes := range []int{64, groupBytes, 16, 4} {
		a.ins("ADDQ $%d, %s", bytes, []string{"SI", "DI", "BX", "R8"}[reg])
	}
	a.ins("DECQ R9")
	a.ins("JNE %s", group)
	for j := range n.parts() {
		n.op(a, "VCVTDQ2PS", nibbleBlock+j, nibbleBlock+j)
		n.op(a, "VADDPS", nibbleBlock+j, nibbleFloats+j, nibbleFloats+j)
	}
	a.ins("TESTQ CX, CX")
	a.ins("JNE %s", block)
	for j := range n.parts() {
		a.ins("VMOVUPS %s, %d(DX)", n.reg(nibbleFloats+j), j*128/n.parts())
	}
	a.end()
}

// group adds a group's sums of part j of the columns.
func (n nibbles) group(a *asm, j int) {
	const one, sixteen, most = nibbleScales, nibbleScales + 1, nibbleScales + 2
	a.ins("VPBROADCASTD (R8), %s", n.reg(one))
	n.clear(a, sixteen)
	n.clear(a, most)
	for row := range 4 {
		a.ins("VMOVUPS %d(DI), %s", 128*row+128/n.parts()*j, n.reg(nibbleWord))
		for place, scale := range []int{one, sixteen, most} {
			n.and(a, 0x000f000f<<(4*place), nibbleWord, nibblePart)
			n.product(a, 16*row+[]int{0, 8, 4}[place], scale)
		}
		a.ins("VPSRLW $12, %s, %s", n.reg(nibbleWord), n.reg(nibblePart))
		n.product(a, 16*row+12, one)
	}
	for scale := most; scale > one; scale-- {
		a.ins("VPSRAD $4, %s, %[1]s", n.reg(scale))
		n.op(a, "VPADDD", scale, scale-1, scale-1)
	}
	column := 32 / n.parts() * j
	a.ins("VPMOVZXBD %d(BX), %s", column%16, n.reg(nibbleRow))
	if column < 16 {
		n.and(a, 15, nibbleRow, nibbleRow)
	} else {
		a.ins("VPSRLD $4, %s, %[1]s", n.reg(nibbleRow))
	}
	n.op(a, "VPMULLD", nibbleRow, one, one)
	n.op(a, "VPADDD", one, nibbleBlock+j, nibbleBlock+j)
}

// product adds the pairs of nibblePart times the pair at an offset of the row to a sum.
func (n nibbles) product(a *asm, at, sum int) {
	if n.wide {
		a.ins("VPDPWSSD.BCST %d(SI), %s, %s", at, n.reg(nibblePart), n.reg(sum))
		return
	}
	a.ins("VPBROADCASTD %d(SI), %s", at, n.reg(nibbleRow))
	n.op(a, "VPMADDWD", nibbleRow, nibblePart, nibblePart)
	n.op(a, "VPADDD", nibblePart, sum, sum)
}

// avx2GroupSums adds up the groups of a row.
func avx2GroupSums(a *asm) {
	a.fn("avx2GroupSums", "writes -8 times the sum of each of n groups of 32 int16 to dst.", 0, false,
		num("n", "CX"), ptr("dst", "DI"), ptr("src", "SI"))
	loop := a.newLabel("loop")
	a.ins("VMOVDQU %s, Y2", a.eight(0xfff8fff8))
	a.label(loop)
	a.ins("VPMADDWD (SI), Y2, Y0")
	a.ins("VPMADDWD 32(SI), Y2, Y1")
	a.ins("VPADDD Y1, Y0, Y0")
	a.ins("VEXTRACTI128 $1, Y0, X1")
	a.ins("VPADDD X1, X0, X0")
	for _, order := range []string{"0x4e", "0xb1"} {
		a.ins("VPSHUFD $%s, X0, X1", order)
		a.ins("VPADDD X1, X0, X0")
	}
	a.ins("VMOVD X0, (DI)")
	a.ins("ADDQ $64, SI")
	a.ins("ADDQ $4, DI")
	a.ins("DECQ CX")
	a.ins("JNE %s", loop)
	a.end()
}
