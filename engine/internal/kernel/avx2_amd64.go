package kernel

// avx2 is the path of the kernels for processors with AVX2 and FMA.
type avx2 struct{ *family }

func newAVX2(o Order) avx2 {
	f := &family{order: o, packed: avx2F32Kernels[:], direct: avx2RowsKernels[:], bf16: avx2WideKernels[:],
		ints: avx2MaddKernels[:], one: avx2Nibbles,
		fetch: avx2Fetch, columns: avx2PackColumns, panel: avx2PackPanel, pair: 2,
		round: func(dst, x []float32, full int) {
			clear(dst[len(x):full])
			avx2RoundBF16(len(x), &dst[0], &x[0])
		}}
	if o == Blocked {
		f.bf16 = avx2BlockedKernels[:]
	}
	return avx2{f}
}
