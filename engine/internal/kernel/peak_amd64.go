package kernel

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
