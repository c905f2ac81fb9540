package kernel

import "golang.org/x/sys/cpu"

// avx512 is the path of the kernels for AVX-512.
type avx512 struct{ *family }

// newAVX512 returns the kernels that widen bf16, or those of VDPBF16PS.
func newAVX512(o Order, dpbf16 bool) avx512 {
	f := &family{order: o, packed: f32Kernels[:], direct: rowsKernels[:], bf16: wideKernels[:], ints: maddKernels[:],
		one:     avx2Nibbles,
		columns: packColumns, panel: packPanel, pair: 2,
		round: func(dst, x []float32, full int) {
			clear(dst[len(x):full])
			vecRoundBF16(len(x), &dst[0], &x[0])
		}}
	if cpu.X86.HasAVX512VNNI {
		f.ints, f.one = vnniKernels[:], vnniNibbles
	}
	switch {
	case dpbf16:
		f.bf16, f.pair = dotKernels[:], 1
		f.round = func(dst, x []float32, full int) {
			clear(dst[len(x)/2 : full/2])
			packPairs(len(x), &dst[0], &x[0])
		}
	case o == Blocked:
		f.bf16 = blockedKernels[:]
	}
	return avx512{f}
}
