package main

import (
	"fmt"
)

// A tile register of AMX has 16 rows of 64 bytes. The micro-kernel multiplies 32 rows of x by a panel of 32 columns:
//
//	            B6 B7     16 rows of the panel: 32 k in pairs, columns 0–15 and 16–31
//	A4 rows  0–15   T0 T1
//	A5 rows 16–31   T2 T3     32 k of each row, bf16
//
// Four loads serve four products. Each product is, for every element of its T, what order Blocked says of one block
// (Intel, Architecture Instruction Set Extensions Programming Reference, TDPBF16PS): T is loaded from c, or cleared,
// and folded with all blocks.
const (
	amxA, amxB = 4, 6
	// A block of 32 k takes blockBytes of a row and panelBytes of a panel, which has rows of rowBytes. 16 rows of a
	// block are a tile.
	blockBytes, panelBytes, rowBytes, tileBytes = 64, 2048, 128, 1024
)

// amx writes the kernels for n times 32 rows and n times 16.
func amx(a *asm) {
	a.tileConfig()
	for _, k := range []struct {
		name  string
		high  int
		fetch fetching
	}{{"amxRows16", 1, fetchOnce}, {"amxRows32", 2, fetchMany}, {"amxFew32", 2, fetchFew}} {
		high := k.high
		a.fn(k.name, fmt.Sprintf("folds n times %d rows of a, step bytes apart, with blocks of 32 k of a panel into "+
			"c [%d n][32], then rows of a2 with blocks2 of b2, and writes the sums to out, whose rows are ldo bytes "+
			"apart, unless it is nil; see packTile for a.", 16*high, 16*high), 24, false,
			num("blocks", "CX"), ptr("a", "SI"), ptr("b", "DI"), ptr("c", "DX"), num("acc", "AX"), num("step", "BX"),
			num("n", "R10"),
			num("blocks2", "R8"), ptr("a2", "R9"), ptr("b2", "R11"), num("step2", "R12"), ptr("out", "R13"),
			num("ldo", "AX"), num("stream", "AX"))
		a.configure()
		a.tileRows(high, k.fetch)
		a.release()
		a.end()
	}
}

// fetching is the prefetches of a kernel: lines at each step, from the end of its own blocks on or, if near is not 0,
// from that many bytes after their beginning. Eight groups of many rows prefetch the next blocks of the panel. Few
// rows prefetch more, since they walk the panel faster than memory delivers the next one. Up to 16 rows walk it once,
// and are fastest when lines reach the first cache shortly before they are loaded.
type fetching struct{ lines, near int }

var fetchMany, fetchFew, fetchOnce = fetching{lines: 4}, fetching{lines: 24}, fetching{lines: 37, near: 4096}

// Stack places of tileRows for values without a register: the number of blocks, the next rows of a2 and of out.
const blocksAt, a2At, outAt = "0(SP)", "8(SP)", "16(SP)"

// tileRows folds n times 16 or 32 rows with all blocks. The tiles of the next block, and after the last block those of
// the next rows, are loaded between the products of this one, each as soon as its register is free: the processor does
// not look far enough ahead to do so itself. Sums go to out one group of rows late, so that the stores overlap with
// the products of the next group. R11 and R12 are the strides of a, and of b and c; R9 is the address of the
// prefetches.
func (a *asm) tileRows(high int, fetch fetching) {
	rows, loop, last, more, end := a.newLabel("rows"), a.newLabel("blocks"), a.newLabel("last"), a.newLabel("more"),
		a.newLabel("end")
	a.ins("MOVQ R9, %s", a2At)
	a.ins("MOVQ R13, %s", outAt)
	a.ins("MOVQ $%d, R11", blockBytes)
	a.ins("MOVQ $%d, R12", rowBytes)
	if fetch.near > 0 {
		a.ins("LEAQ %d(DI), R9", fetch.near)
	} else {
		a.ins("MOVQ CX, R9; SHLQ $11, R9; ADDQ DI, R9")
	}
	a.ins("MOVQ CX, %s", blocksAt)
	a.ins("MOVQ SI, R13")
	a.ins("MOVQ DI, R8")
	next := a.operands(high, fetch == fetchMany)
	for _, load := range next {
		load()
	}
	a.label(rows)
	a.sums(high)
	a.ins("MOVQ %s, CX", blocksAt)
	a.ins("DECQ CX")
	a.ins("JEQ %s", last)
	a.label(loop)
	a.products(high, fetch, next)
	a.ins("ADDQ $%d, R9", 64*fetch.lines)
	a.ins("DECQ CX")
	a.ins("JNE %s", loop)
	a.label(last)
	a.ins("MOVQ blocks2+56(FP), CX")
	a.ins("TESTQ CX, CX")
	a.ins("JEQ %s", end)
	a.ins("MOVQ %s, R13", a2At)
	a.ins("MOVQ b2+72(FP), R8")
	a.label(more)
	a.products(high, fetching{}, next)
	a.ins("DECQ CX")
	a.ins("JNE %s", more)
	a.ins("MOVQ step2+80(FP), AX")
	a.ins("ADDQ AX, %s", a2At)
	a.label(end)
	a.ins("CMPQ R10, $1; CMOVQEQ CX, BX") // after the last rows the same ones again; the result is not used
	a.ins("ADDQ BX, SI")
	a.ins("MOVQ SI, R13")
	a.ins("MOVQ DI, R8")
	a.products(high, fetching{}, next)
	a.write(high, func() {
		a.ins("CMPQ R10, n+48(FP)")
		a.ins("JEQ %s", rows+"first")
	}, rows+"first")
	a.moveTiles(high, a.storeTile)
	a.ins("ADDQ $%d, DX", 16*high*rowBytes)
	a.ins("DECQ R10")
	a.ins("JNE %s", rows)
	a.write(high, func() {}, rows+"done")
}

// write writes the sums before DX to out and advances out, unless out is nil or the code of unless jumps to done. With
// stream the writes bypass the caches: lines that are written whole need not be read first.
func (a *asm) write(high int, unless func(), done string) {
	stream := a.newLabel("stream")
	a.ins("MOVQ %s, CX", outAt)
	a.ins("TESTQ CX, CX")
	a.ins("JEQ %s", done)
	unless()
	a.ins("MOVQ ldo+96(FP), AX")
	a.ins("LEAQ -%d(DX), R15", 16*high*rowBytes)
	a.ins("CMPQ stream+104(FP), $0")
	a.ins("JNE %s", stream)
	a.writeRows("VMOVUPS")
	a.ins("JMP %s", done+"moved")
	a.label(stream)
	a.writeRows("VMOVNTPS")
	a.ins("SFENCE")
	a.label(done + "moved")
	a.ins("MOVQ CX, %s", outAt)
	a.label(done)
}

// writeRows copies rows from R15 to DX to CX, which are AX bytes apart.
func (a *asm) writeRows(store string) {
	loop := a.newLabel("write")
	a.label(loop)
	for row := range 8 {
		a.ins("VMOVUPS %d(R15), Z%d", row*rowBytes, 2*row)
		a.ins("VMOVUPS %d(R15), Z%d", row*rowBytes+64, 2*row+1)
		a.ins("%s Z%d, (CX)", store, 2*row)
		a.ins("%s Z%d, 64(CX)", store, 2*row+1)
		a.ins("ADDQ AX, CX")
	}
	a.ins("ADDQ $%d, R15", 8*rowBytes)
	a.ins("CMPQ R15, DX")
	a.ins("JNE %s", loop)
}

// sums loads the sums from c, or begins them with zeros.
func (a *asm) sums(high int) {
	load, start := a.newLabel("load"), a.newLabel("start")
	a.ins("CMPQ acc+32(FP), $0")
	a.ins("JNE %s", load)
	for i := range 2 * high {
		a.zeroTile(i)
	}
	a.ins("JMP %s", start)
	a.label(load)
	a.moveTiles(high, a.loadTile)
	a.label(start)
}

// operands returns the loads of the tiles at R13 and R8, in the order in which products free the registers. The last
// load advances both. Many rows bypass only the first cache.
func (a *asm) operands(high int, many bool) []func() {
	load := a.loadTile
	if many {
		load = a.passTile
	}
	rows := func(i int) {
		load(amxA+i, "R13", "R11", 0)
		a.ins("ADDQ $%d, R13", tileBytes*(1+(i+1)/high*(2-high)))
	}
	list := []func(){func() { rows(0) }, func() { a.loadTile(amxB+1, "R8", "R12", 64) }}
	if high == 2 {
		list = append(list, func() { rows(1) })
	}
	return append(list, func() {
		a.loadTile(amxB, "R8", "R12", 0)
		a.ins("ADDQ $%d, R8", panelBytes)
	})
}

// products multiplies the loaded tiles and calls next as their registers become free; nil entries are not called.
// Between the products it prefetches lines of memory.
func (a *asm) products(high int, f fetching, next []func()) {
	fetch := func(part, parts int) {
		hint := "PREFETCHT1"
		if f.near > 0 {
			hint = "PREFETCHT0"
		}
		for i := part * f.lines / parts; i < (part+1)*f.lines/parts; i++ {
			a.ins("%s %d(R9)", hint, 64*i)
		}
	}
	call := func(list ...func()) {
		for _, f := range list {
			if f != nil {
				f()
			}
		}
	}
	a.dotTile(0, amxA, amxB)
	fetch(0, 2*high)
	a.dotTile(1, amxA, amxB+1)
	call(next[0])
	fetch(1, 2*high)
	if high == 1 {
		call(next[1:]...)
		return
	}
	a.dotTile(3, amxA+1, amxB+1)
	call(next[1])
	fetch(2, 4)
	a.dotTile(2, amxA+1, amxB)
	call(next[2:]...)
	fetch(3, 4)
}

// moveTiles walks the tiles of c.
func (a *asm) moveTiles(high int, move func(tile int, base, stride string, offset int)) {
	a.ins("MOVQ DX, AX")
	for i := range high {
		move(2*i, "AX", "R12", 0)
		move(2*i+1, "AX", "R12", 64)
		if i+1 < high {
			a.ins("ADDQ $%d, AX", 16*rowBytes)
		}
	}
}

// packTilePairs is packRowPairs for whole panels, by the instruction that rounds two registers at once. It walks along
// the rows, which lie in one stretch.
func packTilePairs(a *asm) {
	a.fn("packTilePairs", "writes panels, step bytes apart: dst[k*32+j] = src[2k][j] as bf16, and src[2k+1][j] above "+
		"it, for k < n; rows of src are ld bytes apart.", 0, false,
		num("n", "CX"), ptr("dst", "DI"), ptr("src", "SI"), num("ld", "R8"), num("panels", "R9"), num("step", "R10"))
	for i := 0; i < 64; i += 8 {
		fmt.Fprintf(&a.data, "DATA sideBySide<>+%d(SB)/8, $0x%04x%04x%04x%04x\n", i, i/4+17, i/4+1, i/4+16, i/4)
	}
	a.data.WriteString("GLOBL sideBySide<>(SB), RODATA|NOPTR, $64\n")
	pairs, panels := a.newLabel("pairs"), a.newLabel("panels")
	a.ins("VMOVDQU32 sideBySide<>(SB), Z31")
	a.label(pairs)
	a.ins("MOVQ SI, AX")
	a.ins("MOVQ DI, BX")
	a.ins("MOVQ R9, DX")
	a.label(panels)
	for half := range 2 {
		z := 2 * half
		a.ins("VMOVUPS %d(AX), Z%d", 64*half, z)
		a.ins("VMOVUPS %d(AX)(R8*1), Z%d", 64*half, z+1)
		a.ins("%s", evexBytes(ppF2, 0x72, z, z+1, z)) // VCVTNE2PS2BF16
		a.ins("VPERMW Z%d, Z31, Z%d", z, z)
		a.ins("VMOVDQU32 Z%d, %d(BX)", z, 64*half)
	}
	a.ins("ADDQ $128, AX")
	a.ins("ADDQ R10, BX")
	a.ins("DECQ DX")
	a.ins("JNE %s", panels)
	a.ins("LEAQ (SI)(R8*2), SI")
	a.ins("ADDQ $128, DI")
	a.ins("DECQ CX")
	a.ins("JNE %s", pairs)
	a.end()
}

// packTile writes rows as the kernels read them, tile after tile so that what is written is one stretch.
func packTile(a *asm) {
	a.fn("packTile", "rounds 32 n floats of each of 16 rows, ld bytes apart, to bf16 and writes n tiles of 16 rows, "+
		"step bytes apart.", 0, false,
		num("n", "CX"), ptr("dst", "DI"), ptr("src", "SI"), num("ld", "R8"), num("step", "R9"))
	loop := a.newLabel("loop")
	a.label(loop)
	a.ins("MOVQ SI, AX")
	for row := range 16 {
		z := 2 * (row % 8)
		a.ins("VMOVUPS (AX), Z%d", z)
		a.ins("VMOVUPS 64(AX), Z%d", z+1)
		a.ins("%s", evexBytes(ppF2, 0x72, z, z+1, z)) // VCVTNE2PS2BF16
		a.ins("VMOVUPS Z%d, %d(DI)", z, blockBytes*row)
		if row < 15 {
			a.ins("ADDQ R8, AX")
		}
	}
	a.ins("ADDQ $128, SI")
	a.ins("ADDQ R9, DI")
	a.ins("DECQ CX")
	a.ins("JNE %s", loop)
	a.end()
}
