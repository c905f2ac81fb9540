//go:build !arm64

package kernel

// The paths, from the slowest to the fastest of amd64; those of arm64, which it does not offer, follow.
const (
	// Portable is plain Go on any processor: the definition of every result.
	Portable Path = iota
	// AVX2 uses AVX2 and FMA; bf16 is widened in registers.
	AVX2
	// AVX512 uses AVX-512 (F, BW, DQ, VL); bf16 is widened in registers.
	AVX512
	// AVX512BF16 is AVX512 with bf16 products by VDPBF16PS.
	AVX512BF16
	// AMX is AVX512 with bf16 products by TDPBF16PS.
	AMX
	// NEON and NEONBF16 are paths of arm64.
	NEON
	NEONBF16
	// LastPath is the last one.
	LastPath = NEONBF16
)
