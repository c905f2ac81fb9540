package main

import (
	"fmt"
	"strings"
)

// A tile register of AMX has 16 rows of 64 bytes. The micro-kernel multiplies 32 rows of x by a panel of 32 columns:
//
//	            B6 B7     16 rows of the panel: 32 k in pairs, columns 0–15 and 16–31
//	A4 rows  0–15   T0 T1
//	A5 rows 16–31   T2 T3     32 k of each row, bf16
//
// Four loads serve four products. Each product is, for every element of its T, what order Blocked says of one block (Intel,
// Architecture Instruction Set Extensions Programming Reference, TDPBF16PS): T is loaded from c, or cleared, and folded with all blocks.
const (
	amxA, amxB = 4, 6
	// A block of 32 k takes blockBytes of a row and panelBytes of a panel, which has rows of rowBytes. 16 rows of a block are a tile.
	blockBytes, panelBytes, rowBytes, tileBytes = 64, 2048, 128, 1024
)

// vex writes an instruction of AMX, for which the Go assembler has no name: VEX.128.0F38.W0 with prefix pp, opcode, the register v of the
// prefix and the bytes from ModRM on.
func (a *asm) vex(pp, opcode, v int, xbits int, rest ...int) {
	code := append([]int{0xc4, xbits | 2, (^v&15)<<3 | pp, opcode}, rest...)
	text := make([]string, len(code))
	for i, b := range code {
		text[i] = fmt.Sprintf("BYTE $0x%02x", b&0xff)
	}
	a.ins("%s", strings.Join(text, "; "))
}

const (
	ppNone, ppF3, ppF2 = 0, 2, 3
	noXB               = 0xe0 // no extension bit of the registers is set; they are inverted
)

// general numbers the registers that addresses use.
var general = map[string]int{"AX": 0, "CX": 1, "DX": 2, "BX": 3, "SI": 6, "DI": 7, "R8": 8, "R11": 11, "R12": 12, "R13": 13}

// tileAt writes a load or store of a tile whose rows are stride bytes apart from base+offset on.
func (a *asm) tileAt(pp, opcode, tile int, base, stride string, offset int) {
	b, x := general[base], general[stride]
	a.vex(pp, opcode, 0, noXB&^(x>>3<<6|b>>3<<5), 0x44|tile<<3, x&7<<3|b&7, offset)
}

func (a *asm) loadTile(tile int, base, stride string, offset int) {
	a.tileAt(ppF2, 0x4b, tile, base, stride, offset)
}

func (a *asm) storeTile(tile int, base, stride string, offset int) {
	a.tileAt(ppF3, 0x4b, tile, base, stride, offset)
}

func (a *asm) zeroTile(tile int) { a.vex(ppF2, 0x49, 0, noXB, 0xc0|tile<<3) }

// dotTile is TDPBF16PS: it folds a block of x and w into sum.
func (a *asm) dotTile(sum, x, w int) { a.vex(ppF3, 0x5c, w, noXB, 0xc0|sum<<3|x) }

// configure makes all eight tiles whole; release gives them back, so that the system need not keep them.
func (a *asm) configure() {
	a.ins("LEAQ tileConfig<>(SB), AX")
	a.vex(ppNone, 0x49, 0, noXB, 0x00)
}

func (a *asm) release() { a.vex(ppNone, 0x49, 0, noXB, 0xc0) }

// tileConfig writes the configuration: palette 1, rows of 64 bytes in words from byte 16 on, 16 rows in bytes from 48 on.
func (a *asm) tileConfig() {
	a.data.WriteString("DATA tileConfig<>+0(SB)/8, $1\nDATA tileConfig<>+8(SB)/8, $0\n")
	for at := 16; at < 32; at += 8 {
		fmt.Fprintf(&a.data, "DATA tileConfig<>+%d(SB)/8, $0x0040004000400040\n", at)
	}
	a.data.WriteString("DATA tileConfig<>+32(SB)/8, $0\nDATA tileConfig<>+40(SB)/8, $0\n")
	a.data.WriteString("DATA tileConfig<>+48(SB)/8, $0x1010101010101010\nDATA tileConfig<>+56(SB)/8, $0\n")
	a.data.WriteString("GLOBL tileConfig<>(SB), RODATA|NOPTR, $64\n")
}

// amx writes the kernels for 32 rows, n times, and for 16.
func amx(a *asm) {
	a.tileConfig()
	a.fn("amxRows32", "folds n times 32 rows of a, step bytes apart, with blocks of 32 k of a panel into c [32 n][32]; see packTile for a.", 8, false,
		num("blocks", "CX"), ptr("a", "SI"), ptr("b", "DI"), ptr("c", "DX"), num("acc", "AX"), num("step", "BX"), num("n", "R10"))
	rows := a.newLabel("rows")
	a.configure()
	a.tileSetup()
	a.label(rows)
	a.tileBlock(2)
	a.ins("ADDQ BX, SI")
	a.ins("ADDQ $%d, DX", 32*rowBytes)
	a.ins("DECQ R10")
	a.ins("JNE %s", rows)
	a.release()
	a.end()

	a.fn("amxRows16", "folds 16 rows of a with blocks of 32 k of a panel into c [16][32].", 8, false,
		num("blocks", "CX"), ptr("a", "SI"), ptr("b", "DI"), ptr("c", "DX"), num("acc", "AX"))
	a.configure()
	a.tileSetup()
	a.tileBlock(1)
	a.release()
	a.end()
}

// tileSetup fills the registers that stay: the strides of a, and of b and c, and what is fetched ahead, the panel behind the blocks of this one.
func (a *asm) tileSetup() {
	a.ins("MOVQ $%d, R11", blockBytes)
	a.ins("MOVQ $%d, R12", rowBytes)
	a.ins("MOVQ CX, R9; SHLQ $11, R9; ADDQ DI, R9")
}

// fetched is the number of lines of b that a step of the kernel fetches ahead: eight blocks of rows fetch the next panel.
const fetched = 4

// tileBlock folds high times 16 rows with all blocks. It keeps CX, SI, DI, DX; its own are AX and R13.
func (a *asm) tileBlock(high int) {
	load, start, loop := a.newLabel("load"), a.newLabel("start"), a.newLabel("blocks")
	a.ins("CMPQ acc+32(FP), $0")
	a.ins("JNE %s", load)
	for i := range 2 * high {
		a.zeroTile(i)
	}
	a.ins("JMP %s", start)
	a.label(load)
	a.moveTiles(high, a.loadTile)
	a.label(start)
	a.ins("MOVQ SI, R13")
	a.ins("MOVQ DI, AX")
	a.ins("MOVQ CX, 0(SP)")
	a.label(loop)
	a.loadTile(amxB, "AX", "R12", 0)
	for i := range high {
		a.loadTile(amxA+i, "R13", "R11", 0)
		if i+1 < high {
			a.ins("ADDQ $%d, R13", tileBytes)
		}
		a.dotTile(2*i, amxA+i, amxB)
		if i == 0 {
			a.loadTile(amxB+1, "AX", "R12", 64)
		}
		a.dotTile(2*i+1, amxA+i, amxB+1)
	}
	for i := range fetched {
		a.ins("PREFETCHT1 %d(R9)", 64*i)
	}
	a.ins("ADDQ $%d, R9", 64*fetched)
	a.ins("ADDQ $%d, R13", tileBytes*(3-high))
	a.ins("ADDQ $%d, AX", panelBytes)
	a.ins("DECQ CX")
	a.ins("JNE %s", loop)
	a.ins("MOVQ 0(SP), CX")
	a.moveTiles(high, a.storeTile)
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

// packTile writes rows as the kernels read them, tile after tile so that what is written is one stretch.
func packTile(a *asm) {
	a.fn("packTile", "rounds 32 n floats of each of 16 rows, ld bytes apart, to bf16 and writes n tiles of 16 rows, step bytes apart.", 0, false,
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
