package kernel

// peakRounds is the number of rounds of the register-only loops.
const peakRounds = 2000

// peakLoop returns the register-only loop of path p's products and its operations; nil if the processor lacks them.
func peakLoop(p Path) (loop func(), operations float64) {
	switch {
	case p > Detect():
		return nil, 0
	case p == AVX2:
		return func() { avx2Peak(peakRounds) }, peakRounds * 12 * 8 * 2
	case p == AVX512:
		return func() { peakFMA(peakRounds) }, peakRounds * 24 * 16 * 2
	case p == AVX512BF16:
		return func() { peakDot(peakRounds) }, peakRounds * 24 * 16 * 4
	case p == AMX:
		return func() { peakTile(peakRounds) }, peakRounds * 4 * 16 * 16 * 32 * 2
	}
	return nil, 0
}
