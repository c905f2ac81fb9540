package kernel

import "math"

// neonKernel computes a tile of the output: see gen/neon_gemm.go. The columns of a tile are 32 up to 3 rows, 16 up to 5
// and 8 beyond. It returns the steps that it left for the definition.
type neonKernel func(steps int, a, b, c *float32, ldc, acc, lda, ahead int) int

// neon is the path of the kernels for arm64.
type neon struct {
	portable
	bf16 []neonKernel
	lal  bool // bf16 multiplies pairs, by BFMLALT and BFMLALB
}

func newNEON(o Order, lal bool) neon {
	v := neon{portable: portable{o}, lal: lal}
	switch {
	case lal && o == Blocked:
		v.bf16 = neonDotBlockedKernels[:]
	case lal:
		v.bf16 = neonDotKernels[:]
	case o == Blocked:
		v.bf16 = neonWideBlockedKernels[:]
	default:
		v.bf16 = neonWideKernels[:]
	}
	return v
}

// perPair is the number of floats that a pair of a packed row takes.
func (v neon) perPair() int {
	if v.lal {
		return 1
	}
	return 2
}

// round writes a row in the form of the bf16 kernels, with zeros up to full elements.
func (v neon) round(dst, x []float32, full int) {
	if !v.lal {
		v.roundBF16(dst, x)
		clear(dst[len(x):full])
		return
	}
	v.narrow(asBytes(dst)[:2*full], x)
}

// widened writes n pairs of a packed row to dst as float32.
func (v neon) widened(dst, row []float32, n int) {
	if !v.lal {
		copy(dst[:2*n], row)
		return
	}
	for i, w := range asWords(row)[:n] {
		dst[2*i], dst[2*i+1] = math.Float32frombits(w<<16), math.Float32frombits(w&0xffff0000)
	}
}

// neonColumns returns the columns of a tile.
func neonColumns(rows int) int {
	switch {
	case rows <= 3:
		return 32
	case rows <= 5:
		return 16
	}
	return 8
}
