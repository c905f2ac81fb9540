package kernel

import "unsafe"

func (avx512) narrow(dst []byte, src []float32) {
	packPairs(len(src), (*float32)(unsafe.Pointer(&dst[0])), first(src))
}

// packWords packs blocks of 16 rows and 16 words with the kernel and the rest with the portable code.
func (avx512) packWords(dst []uint32, src []byte, ld, rows, words int, bits bool) {
	if rows == 0 || words == 0 {
		return
	}
	_, _ = dst[(words-1)*NR+rows-1], src[(rows-1)*ld+4*words-1]
	transpose, blocks, whole := transposeWords, words/lanes, 0
	if bits {
		transpose = transposeBits
	}
	for ; blocks > 0 && whole+lanes <= rows; whole += lanes {
		transpose(blocks, (*float32)(unsafe.Pointer(&dst[whole])), (*float32)(unsafe.Pointer(&src[whole*ld])), ld)
	}
	if done := blocks * lanes; whole > 0 && done < words {
		portable{}.packWords(dst[done*NR:], src[4*done:], ld, whole, words-done, bits)
	}
	if whole < rows {
		portable{}.packWords(dst[whole:], src[whole*ld:], ld, rows-whole, words, bits)
	}
}

func (avx512) pairRows(dst []uint32, step int, src []float32, ld, rows, cols int) {
	if pairs := rows / 2; pairs > 0 {
		for c := 0; c < cols; c += NR {
			to, from := dst[c/NR*step:][:pairs*NR], src[c:]
			_ = src[(2*pairs-1)*ld+cols-1]
			packRowPairs(pairs, (*float32)(unsafe.Pointer(&to[0])), &from[0], 4*ld, min(NR, cols-c))
		}
	}
	if last := rows - 1; rows%2 == 1 {
		portable{}.pairRows(dst[last/2*NR:], step, src[last*ld:], ld, 1, cols)
	}
}

func (avx512) transposePairs(dst, src []uint32, blocks, step, ahead int) {
	const block = NR / 2 * NR
	_, _ = dst[(blocks-1)*step+block-1], src[blocks*block-1]
	transposePairs(blocks, (*float32)(unsafe.Pointer(&dst[0])), (*float32)(unsafe.Pointer(&src[0])), 4*step, 4*ahead)
}
