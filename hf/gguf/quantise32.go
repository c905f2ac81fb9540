package gguf

import (
	"encoding/binary"
	"math"
)

// The blocks of 32 elements that are written besides Q8_0: see fit.go for how the scales are found.

// narrowQ50 makes a block of Q5_0: x ≈ d·(q−16).
func narrowQ50(to []byte, x []float32) {
	d := toHalf(float32(fitSigned(x, 16)))
	binary.LittleEndian.PutUint16(to, d)
	putFive(to[2:], x, 0, fromHalf(d), -16)
}

// narrowQ51 makes a block of Q5_1: x ≈ d·q + m.
func narrowQ51(to []byte, x []float32) {
	scale, least := fitAffine(x, 31)
	d, m := toHalf(float32(scale)), toHalf(float32(-least))
	binary.LittleEndian.PutUint16(to, d)
	binary.LittleEndian.PutUint16(to[2:], m)
	putFive(to[4:], x, fromHalf(m), fromHalf(d), 0)
}

// putFive writes (x−m)/d−low, rounded to five bits: the fifth ones, then the nibbles.
func putFive(to []byte, x []float32, m, d float64, low int) {
	inverse, high := reciprocal(d), uint32(0)
	clear(to[4:20])
	for i, v := range x {
		q := whole(float64((float64(v)-m)*inverse), low, low+31) - low
		high |= uint32(q>>4) << i
		to[4+i%16] |= byte(q&15) << (4 * (i / 16))
	}
	binary.LittleEndian.PutUint32(to, high)
}

// fromHalf is the value of a half.
func fromHalf(h uint16) float64 { return float64(half([]byte{byte(h), byte(h >> 8)})) }

// reciprocal is 1/d, and 0 for 0: then all integers are those of 0.
func reciprocal(d float64) float64 {
	if d == 0 || math.IsNaN(d) {
		return 0
	}
	return 1 / d
}
