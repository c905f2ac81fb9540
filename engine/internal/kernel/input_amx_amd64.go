package kernel

import "unsafe"

// tileWords is the size of a block of 32 k of InputRows rows, or of a panel.
const tileWords = InputRows * blockPairs

func (amx) packedSize(M, K int) (words, step, block int) {
	if M <= amxFew {
		return 0, 0, 0
	}
	step = upToBlock(K) / (2 * blockPairs) * tileWords
	return (M + InputRows - 1) / InputRows * step, step, tileWords
}

// packInput rounds rows to bf16. Zeros follow the last row up to the end of its tile, or of both tiles if it is in the
// second.
func (amx) packInput(in *Input, from, to int) {
	blocks := in.K / (2 * blockPairs)
	for m := from; m < to; m += amxTile {
		whole := blocks
		if m+amxTile > in.M {
			whole = 0
		}
		if whole > 0 {
			packTile(whole, &in.packed[in.tile(m)], &in.x[m*in.ld], in.ld*4, tileWords*4)
		}
		in.packEdge(m, whole)
	}
}

// tile returns the place of row m's first block.
func (in *Input) tile(m int) int { return m/InputRows*in.step + m%InputRows*blockPairs }

// packEdge packs the incomplete part of the 16 rows from m on: their blocks from first on, and missing rows.
func (in *Input) packEdge(m, first int) {
	for r := range amxTile {
		to := in.packed[in.tile(m+r):]
		for b := first; b*2*blockPairs < in.K; b++ {
			block := to[b*tileWords:][:blockPairs]
			clear(block)
			if k := b * 2 * blockPairs; m+r < in.M {
				packPairs(min(2*blockPairs, in.K-k), &block[0], &in.x[(m+r)*in.ld+k])
			}
		}
	}
}

// pairRows packs whole panels along the rows.
func (v amx) pairRows(dst []uint32, step int, src []float32, ld, rows, cols int) {
	pairs, panels := rows/2, cols/NR
	if pairs == 0 || panels == 0 {
		v.avx512.pairRows(dst, step, src, ld, rows, cols)
		return
	}
	_, _ = dst[(panels-1)*step+pairs*NR-1], src[(2*pairs-1)*ld+cols-1]
	packTilePairs(pairs, (*float32)(unsafe.Pointer(&dst[0])), &src[0], 4*ld, panels, 4*step)
	if done := panels * NR; done < cols {
		v.avx512.pairRows(dst[panels*step:], step, src[done:], ld, 2*pairs, cols-done)
	}
	if last := rows - 1; rows%2 == 1 {
		v.avx512.pairRows(dst[last/2*NR:], step, src[last*ld:], ld, 1, cols)
	}
}
