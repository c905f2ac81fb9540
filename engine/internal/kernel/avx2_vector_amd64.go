package kernel

import "unsafe"

func (avx2) dot(x, y []float32) float32 { return avx2Dot(len(x), first(x), first(y)) }

func (avx2) max(x []float32) float32 { return avx2Max(len(x), first(x)) }

func (avx2) exp(dst, src []float32, sub, a float32) float32 {
	return avx2Exp(len(src), first(dst), first(src), sub, a)
}

func (avx2) expSum(src []float32, sub float32) float32 {
	return avx2ExpSum(len(src), first(src), sub)
}

func (avx2) scaleMul(dst, x, w []float32, a float32) {
	avx2ScaleMul(len(x), first(dst), first(x), first(w), a)
}

func (avx2) siluMul(dst, gate, up []float32) {
	avx2SiLUMul(len(gate), first(dst), first(gate), first(up))
}

func (avx2) siluMulBackward(dgate, dup, dout, gate, up []float32) {
	avx2SiLUMulBackward(len(gate), first(dgate), first(dup), first(dout), first(gate), first(up))
}

func (avx2) add(dst, x []float32) { avx2Add(len(x), first(dst), first(x)) }

func (avx2) scale(dst []float32, a float32) { avx2Scale(len(dst), first(dst), a) }

func (avx2) axpy(dst []float32, a float32, x []float32) {
	avx2AXPY(len(x), first(dst), first(x), a)
}

func (avx2) mul(dst, x, y []float32) { avx2Mul(len(x), first(dst), first(x), first(y)) }

func (avx2) roundBF16(dst, src []float32) { avx2RoundBF16(len(src), first(dst), first(src)) }

func (avx2) rotate(y, x, table []float32, s float32) {
	avx2Rotate(len(x)/2, first(y), first(x), first(table), s)
}

func (avx2) narrow(dst []byte, src []float32) {
	avx2PackPairs(len(src), (*float32)(unsafe.Pointer(&dst[0])), first(src))
}

// packWords packs blocks of 8 rows and 8 words with the kernel and the rest with the portable code.
func (avx2) packWords(dst []uint32, src []byte, ld, rows, words int, bits bool) {
	if rows == 0 || words == 0 {
		return
	}
	const side = 8
	_, _ = dst[(words-1)*NR+rows-1], src[(rows-1)*ld+4*words-1]
	transpose, blocks, whole := avx2TransposeWords, words/side, 0
	if bits {
		transpose = avx2TransposeBits
	}
	for ; blocks > 0 && whole+side <= rows; whole += side {
		transpose(blocks, (*float32)(unsafe.Pointer(&dst[whole])), (*float32)(unsafe.Pointer(&src[whole*ld])), ld)
	}
	if done := blocks * side; whole > 0 && done < words {
		portable{}.packWords(dst[done*NR:], src[4*done:], ld, whole, words-done, bits)
	}
	if whole < rows {
		portable{}.packWords(dst[whole:], src[whole*ld:], ld, rows-whole, words, bits)
	}
}

func (avx2) pairRows(dst []uint32, step int, src []float32, ld, rows, cols int) {
	if pairs := rows / 2; pairs > 0 {
		for c := 0; c < cols; c += NR {
			to, from := dst[c/NR*step:][:pairs*NR], src[c:]
			_ = src[(2*pairs-1)*ld+cols-1]
			avx2PackRowPairs(pairs, (*float32)(unsafe.Pointer(&to[0])), &from[0], 4*ld, min(NR, cols-c))
		}
	}
	if last := rows - 1; rows%2 == 1 {
		portable{}.pairRows(dst[last/2*NR:], step, src[last*ld:], ld, 1, cols)
	}
}

func (avx2) transposePairs(dst, src []uint32, blocks, step, ahead int) {
	const block = NR / 2 * NR
	_, _ = dst[(blocks-1)*step+block-1], src[blocks*block-1]
	avx2TransposePairs(blocks, (*float32)(unsafe.Pointer(&dst[0])), (*float32)(unsafe.Pointer(&src[0])), 4*step,
		4*ahead)
}
