//go:build amd64 || arm64

package kernel

import (
	"math"
	"math/rand/v2"
)

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
