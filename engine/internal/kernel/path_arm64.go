package kernel

// detect returns the best path this processor offers. Every arm64 processor that Go runs on has NEON.
func detect() Path {
	if hasBF16() {
		return NEONBF16
	}
	return NEON
}

// fastOps returns the kernels of a path other than Portable.
func fastOps(p Path, o Order) ops { return newNEON(o, p == NEONBF16) }

// rival returns the lower path that may multiply bf16 faster than p: no rate of BFMLAL was measured yet.
func rival(p Path) (lower Path, ok bool) { return NEON, p == NEONBF16 }
