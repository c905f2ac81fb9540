package kernel

import (
	"math"
	"math/rand/v2"
)

// peakRounds is the number of rounds of the register-only loops.
const peakRounds = 2000

// PeakLoop returns the register-only loop of path p's products and its operations; nil if the processor lacks them.
func PeakLoop(p Path) (loop func(), operations float64) {
	if p > Detect() {
		return nil, 0
	}
	data := &ordinary(p > AVX512)[0]
	switch p {
	case AVX2:
		return func() { avx2Peak(peakRounds, data) }, peakRounds * 12 * 8 * 2
	case AVX512:
		return func() { peakFMA(peakRounds, data) }, peakRounds * 24 * 16 * 2
	case AVX512BF16:
		return func() { peakDot(peakRounds, data) }, peakRounds * 24 * 16 * 4
	case AMX:
		return func() { peakTile(peakRounds, data) }, peakRounds * 4 * 16 * 16 * 32 * 2
	}
	return nil, 0
}

// ordinary returns the data of a register-only loop, standard normal numbers: enough for four tiles, of which vectors
// use the beginning. bf16 numbers are stored in pairs.
func ordinary(bf16 bool) []float32 {
	rng := rand.New(rand.NewPCG(1, 2))
	x := Aligned(1024)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
		if bf16 {
			x[i] = math.Float32frombits(math.Float32bits(x[i])&0xffff0000 | math.Float32bits(
				float32(rng.NormFloat64()))>>16)
		}
	}
	return x
}
