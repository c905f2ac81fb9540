package kernel

// peakRounds is the number of rounds of the register-only loops.
const peakRounds = 2000

// PeakLoop returns the register-only loop of path p's products and its operations; nil if the processor lacks them.
func PeakLoop(p Path) (loop func(), operations float64) {
	if p > Detect() {
		return nil, 0
	}
	data := &ordinary(p == NEONBF16)[0]
	switch p {
	case NEON:
		return func() { neonPeak(peakRounds, data) }, peakRounds * 24 * 4 * 2
	case NEONBF16:
		return func() { neonPeakDot(peakRounds, data) }, peakRounds * 24 * 4 * 2
	}
	return nil, 0
}
