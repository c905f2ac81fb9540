package kernel

import "unsafe"

// packedSize returns a distance of rows that is not a multiple of a large power of 2.
func (v neon) packedSize(M, K int) (words, step, block int) {
	step = upToBlock(K)/2*v.perPair() + lanes
	return M * step, step, blockPairs * v.perPair()
}

func (v neon) packInput(in *Input, from, to int) {
	for m := from; m < to; m++ {
		v.round(in.packed[m*in.step:], in.x[m*in.ld:m*in.ld+in.K], upToBlock(in.K))
	}
}

func (v neon) inside(*Addition) bool { return false }

func (v neon) multiply(sc *Scratch, out []float32, ldo int, x *Input, m0, m1 int, w *Panels, p0, p1 int, acc bool,
	_ []Addition) {
	p := neonProduct{neon: v, sc: sc, pairs: true, M: m1 - m0, a: x.packed[m0*x.step:], width: x.step,
		out: out[m0*ldo:], ldo: ldo, ahead: aheadNear}
	p.walk(w, p0, p1, acc)
}

func (v neon) narrow(dst []byte, src []float32) {
	blocks, n := whole(len(src))
	if blocks > 0 {
		neonPackPairs(blocks, (*float32)(unsafe.Pointer(&dst[0])), &src[0])
	}
	v.portable.narrow(dst[2*n:], src[n:])
}

func (v neon) pairRows(dst []uint32, step int, src []float32, ld, rows, cols int) {
	pairs, c := rows/2, 0
	for ; pairs > 0 && c+NR <= cols; c += NR {
		to := dst[c/NR*step:][:pairs*NR]
		_ = src[(2*pairs-1)*ld+c+NR-1]
		neonPackRowPairs(pairs, (*float32)(unsafe.Pointer(&to[0])), &src[c], 4*ld)
	}
	if c < cols {
		v.portable.pairRows(dst[c/NR*step:], step, src[c:], ld, 2*pairs, cols-c)
	}
	if last := rows - 1; rows%2 == 1 {
		v.portable.pairRows(dst[last/2*NR:], step, src[last*ld:], ld, 1, cols)
	}
}

// packWords packs blocks of 8 rows and 4 words with the kernel and the rest with the portable code.
func (v neon) packWords(dst []uint32, src []byte, ld, rows, words int, bits bool) {
	if rows == 0 || words == 0 {
		return
	}
	const high, wide = 8, 4
	_, _ = dst[(words-1)*NR+rows-1], src[(rows-1)*ld+4*words-1]
	transpose, blocks, whole := neonTransposeWords, words/wide, 0
	if bits {
		transpose = neonTransposeBits
	}
	for ; blocks > 0 && whole+high <= rows; whole += high {
		transpose(blocks, (*float32)(unsafe.Pointer(&dst[whole])), (*float32)(unsafe.Pointer(&src[whole*ld])), ld)
	}
	if done := blocks * wide; whole > 0 && done < words {
		v.portable.packWords(dst[done*NR:], src[4*done:], ld, whole, words-done, bits)
	}
	if whole < rows {
		v.portable.packWords(dst[whole:], src[whole*ld:], ld, rows-whole, words, bits)
	}
}

func (neon) transposePairs(dst, src []uint32, blocks, step, ahead int) {
	const block = NR / 2 * NR
	_, _ = dst[(blocks-1)*step+block-1], src[blocks*block-1]
	to, from := (*float32)(unsafe.Pointer(&dst[0])), (*float32)(unsafe.Pointer(&src[0]))
	neonTransposePairs(blocks, to, from, 4*step, 4*ahead)
}
