package kernel

// Detect returns the best path this processor offers. Every arm64 processor that Go runs on has NEON.
func Detect() Path {
	if hasBF16() {
		return NEONBF16
	}
	return NEON
}

// fastOps returns the kernels of a path other than Portable.
func fastOps(p Path, o Order) ops { return newNEON(o, p == NEONBF16) }

// preferred returns the set to use among those that give the same bits.
func preferred(s *Set, _ [][]float32) *Set { return s }
