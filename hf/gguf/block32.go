package gguf

import (
	"encoding/binary"
	"math"

	"github.com/seed-d9ad8ee0/trinity/internal/float16"
)

// The blocks of one element, and of 32. Nibble i of a block of 32 is the low half of byte i for i < 16, else the high
// half of byte i-16. All products of a scale and an integer are exact in float32, so only the addition of a minimum
// rounds. Formats: ggml-quants.c of llama.cpp 0c1e57098.

func widenF32(to []float32, b []byte) { to[0] = math.Float32frombits(binary.LittleEndian.Uint32(b)) }

func widenF16(to []float32, b []byte) { to[0] = half(b) }

func widenBF16(to []float32, b []byte) {
	to[0] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16)
}

// half widens the IEEE half at the start of b.
func half(b []byte) float32 { return float16.FromHalf(binary.LittleEndian.Uint16(b)) }

// nibble is the i-th of the 32 nibbles of a block.
func nibble(b []byte, i int) int {
	if i < 16 {
		return int(b[i] & 15)
	}
	return int(b[i-16] >> 4)
}

func widenQ40(to []float32, b []byte) {
	d := half(b)
	for i := range 32 {
		to[i] = float32(nibble(b[2:], i)-8) * d
	}
}

func widenQ41(to []float32, b []byte) {
	d, m := half(b), half(b[2:])
	for i := range 32 {
		to[i] = float32(float32(nibble(b[4:], i))*d) + m
	}
}

func widenQ50(to []float32, b []byte) {
	d, high := half(b), binary.LittleEndian.Uint32(b[2:])
	for i := range 32 {
		q := nibble(b[6:], i) | int(high>>i&1)<<4
		to[i] = float32(q-16) * d
	}
}

func widenQ51(to []float32, b []byte) {
	d, m, high := half(b), half(b[2:]), binary.LittleEndian.Uint32(b[4:])
	for i := range 32 {
		q := nibble(b[8:], i) | int(high>>i&1)<<4
		to[i] = float32(float32(q)*d) + m
	}
}

func widenQ80(to []float32, b []byte) {
	d := half(b)
	for i := range 32 {
		to[i] = float32(int8(b[2+i])) * d
	}
}

// levels are the values of the four bits of IQ4_NL and IQ4_XS.
func levels(q int) float32 {
	return float32([16]int8{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}[q])
}

func widenIQ4NL(to []float32, b []byte) {
	d := half(b)
	for i := range 32 {
		to[i] = d * levels(nibble(b[2:], i))
	}
}

// widenMXFP4 reads e2m1 elements, doubled so that they are integers, with a shared exponent: OCP Microscaling Formats
// 1.0, in which ggml gives exponent 255 no special meaning.
func widenMXFP4(to []float32, b []byte) {
	table := [16]int8{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}
	bits := uint32(0x00200000) << b[0]
	if b[0] >= 2 {
		bits = uint32(b[0]-1) << 23
	}
	d := math.Float32frombits(bits)
	for i := range 32 {
		to[i] = float32(table[nibble(b[1:], i)]) * d
	}
}
