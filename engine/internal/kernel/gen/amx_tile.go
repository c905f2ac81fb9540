package main

import (
	"fmt"
	"strings"
)

const (
	ppNone, pp66, ppF3, ppF2 = 0, 1, 2, 3
	noXB                     = 0xe0 // no extension bit of the registers is set; they are inverted
)

// general numbers the registers that addresses use.
var general = map[string]int{"AX": 0, "CX": 1, "DX": 2, "BX": 3, "SI": 6, "DI": 7, "R8": 8, "R11": 11, "R12": 12,
	"R13": 13}

// vex writes an instruction of AMX, for which the Go assembler has no name: VEX.128.0F38.W0 with prefix pp, opcode,
// the register v of the prefix and the bytes from ModRM on.
func (a *asm) vex(pp, opcode, v int, xbits int, rest ...int) {
	code := append([]int{0xc4, xbits | 2, (^v&15)<<3 | pp, opcode}, rest...)
	text := make([]string, len(code))
	for i, b := range code {
		text[i] = fmt.Sprintf("BYTE $0x%02x", b&0xff)
	}
	a.ins("%s", strings.Join(text, "; "))
}

// tileAt writes a load or store of a tile whose rows are stride bytes apart from base+offset on.
func (a *asm) tileAt(pp, opcode, tile int, base, stride string, offset int) {
	b, x := general[base], general[stride]
	a.vex(pp, opcode, 0, noXB&^(x>>3<<6|b>>3<<5), 0x44|tile<<3, x&7<<3|b&7, offset)
}

func (a *asm) loadTile(tile int, base, stride string, offset int) {
	a.tileAt(ppF2, 0x4b, tile, base, stride, offset)
}

// passTile is TILELOADDT1: a loadTile whose data is evicted early from the first cache, so that the panel stays there
// while rows pass.
func (a *asm) passTile(tile int, base, stride string, offset int) {
	a.tileAt(pp66, 0x4b, tile, base, stride, offset)
}

func (a *asm) storeTile(tile int, base, stride string, offset int) {
	a.tileAt(ppF3, 0x4b, tile, base, stride, offset)
}

func (a *asm) zeroTile(tile int) { a.vex(ppF2, 0x49, 0, noXB, 0xc0|tile<<3) }

// dotTile is TDPBF16PS: it folds a block of x and w into sum.
func (a *asm) dotTile(sum, x, w int) { a.vex(ppF3, 0x5c, w, noXB, 0xc0|sum<<3|x) }

// configure sets all eight tiles to full size; release frees them, so that the system need not save them.
func (a *asm) configure() {
	a.ins("LEAQ tileConfig<>(SB), AX")
	a.vex(ppNone, 0x49, 0, noXB, 0x00)
}

func (a *asm) release() { a.vex(ppNone, 0x49, 0, noXB, 0xc0) }

// tileConfig writes the configuration: palette 1, rows of 64 bytes in words from byte 16 on, 16 rows in bytes from 48
// on.
func (a *asm) tileConfig() {
	a.data.WriteString("DATA tileConfig<>+0(SB)/8, $1\nDATA tileConfig<>+8(SB)/8, $0\n")
	for at := 16; at < 32; at += 8 {
		fmt.Fprintf(&a.data, "DATA tileConfig<>+%d(SB)/8, $0x0040004000400040\n", at)
	}
	a.data.WriteString("DATA tileConfig<>+32(SB)/8, $0\nDATA tileConfig<>+40(SB)/8, $0\n")
	a.data.WriteString("DATA tileConfig<>+48(SB)/8, $0x1010101010101010\nDATA tileConfig<>+56(SB)/8, $0\n")
	a.data.WriteString("GLOBL tileConfig<>(SB), RODATA|NOPTR, $64\n")
}
