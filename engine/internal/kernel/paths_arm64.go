package kernel

// The paths, from the slowest to the fastest of this architecture; those of amd64, which it does not offer, follow.
const (
	// Portable is plain Go on any processor: the definition of every result.
	Portable Path = iota
	// NEON uses the vectors of every arm64 processor; bf16 is widened in registers.
	NEON
	// NEONBF16 is NEON with bf16 products by BFMLALT and BFMLALB (FEAT_BF16).
	NEONBF16
	// AVX2, AVX512, AVX512BF16 and AMX are paths of amd64.
	AVX2
	AVX512
	AVX512BF16
	AMX
	// LastPath is the last one.
	LastPath = AMX
)
