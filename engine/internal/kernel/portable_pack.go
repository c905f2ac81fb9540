package kernel

import "encoding/binary"

func (portable) narrow(dst []byte, src []float32) {
	for i, v := range src {
		binary.LittleEndian.PutUint16(dst[2*i:], BF16(v))
	}
	clear(dst[2*len(src):])
}

func (portable) packWords(dst []uint32, src []byte, ld, rows, words int, bits bool) {
	for r := range rows {
		row := src[r*ld:]
		for w := range words {
			v := binary.LittleEndian.Uint32(row[4*w:])
			if bits {
				v = flushPair(v)
			}
			dst[w*NR+r] = v
		}
	}
}

func (portable) pairRows(dst []uint32, step int, src []float32, ld, rows, cols int) {
	for q := 0; q*NR < cols; q++ {
		for r := 0; r < rows; r += 2 {
			to := dst[q*step+r/2*NR:][:NR]
			clear(to)
			for c := q * NR; c < min((q+1)*NR, cols); c++ {
				to[c%NR] = uint32(BF16(src[r*ld+c]))
				if r+1 < rows {
					to[c%NR] |= uint32(BF16(src[(r+1)*ld+c])) << 16
				}
			}
		}
	}
}

func (portable) transposePairs(dst, src []uint32, blocks, step, ahead int) {
	for b := range blocks {
		transposeBlock(dst[b*step:], src[b*NR/2*NR:])
	}
}
