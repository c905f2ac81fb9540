package gguf

import (
	"encoding/binary"
	"math"

	"github.com/seed-d9ad8ee0/trinity/internal/float16"
)

// The blocks of 32 elements that are written besides Q8_0.

// narrowQ50 makes a block of Q5_0: x ≈ d·(q−16). The element of the greatest magnitude becomes -16, as in llama.cpp
// (quantize_row_q5_0_ref of ggml). A scale by fitSigned has a smaller error, and on trained models of SmolLM2-135M the
// logprobs were no nearer, or further off by a quarter.
func narrowQ50(to []byte, x []float32) {
	peak := float32(0)
	for _, v := range x {
		if math.Abs(float64(v)) > math.Abs(float64(peak)) {
			peak = v
		}
	}
	d := peak / -16
	binary.LittleEndian.PutUint16(to, float16.ToHalf(d))
	putFive(to[2:], x, 0, float64(d), -16)
}

// narrowQ51 makes a block of Q5_1: x ≈ d·q + m, see fit.go.
func narrowQ51(to []byte, x []float32) {
	scale, least := fitAffine(x, 31)
	d, m := float16.ToHalf(float32(scale)), float16.ToHalf(float32(-least))
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
func fromHalf(h uint16) float64 { return float64(float16.FromHalf(h)) }

// reciprocal is 1/d, and 0 for 0: then all integers are 0's.
func reciprocal(d float64) float64 {
	if d == 0 || math.IsNaN(d) {
		return 0
	}
	return 1 / d
}
