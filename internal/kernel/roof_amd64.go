package kernel

// Rounds of the register-only loops and the operations they take.
const (
	peakRounds = 2000
	peakFMAOps = peakRounds * 24 * 16 * 2
	peakDotOps = 2 * peakFMAOps
)

// peakFMALoop returns the register-only loop of fused multiply-adds and its operations; nil without AVX-512.
func peakFMALoop() (func(), float64) {
	if Detect() < AVX512 {
		return nil, 0
	}
	return func() { peakFMA(peakRounds) }, peakFMAOps
}

// peakDotLoop returns that of bf16 dot products; nil without the instruction.
func peakDotLoop() (func(), float64) {
	if Detect() < AVX512BF16 {
		return nil, 0
	}
	return func() { peakDot(peakRounds) }, peakDotOps
}
