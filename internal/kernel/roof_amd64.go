package kernel

// Rounds of the register-only loops and the operations they take.
const (
	peakRounds = 2000
	peakFMAOps = peakRounds * 24 * 16 * 2
	peakDotOps = 2 * peakFMAOps

	avx2PeakOps = peakRounds * 12 * 8 * 2
)

// peakFMALoop returns the register-only loop of fused multiply-adds and its operations; nil without AVX2.
func peakFMALoop() (func(), float64) {
	switch {
	case Detect() < AVX2:
		return nil, 0
	case Detect() == AVX2:
		return func() { avx2Peak(peakRounds) }, avx2PeakOps
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
