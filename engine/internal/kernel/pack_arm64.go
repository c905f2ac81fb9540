package kernel

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
