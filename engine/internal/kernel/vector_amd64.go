package kernel

func (avx512) dot(x, y []float32) float32 { return vecDot(len(x), first(x), first(y)) }

func (avx512) max(x []float32) float32 { return vecMax(len(x), first(x)) }

func (avx512) exp(dst, src []float32, sub, a float32) float32 {
	return vecExp(len(src), first(dst), first(src), sub, a)
}

func (avx512) expSum(src []float32, sub float32) float32 {
	return vecExpSum(len(src), first(src), sub)
}

func (avx512) scaleMul(dst, x, w []float32, a float32) {
	vecScaleMul(len(x), first(dst), first(x), first(w), a)
}

func (avx512) siluMul(dst, gate, up []float32) {
	vecSiLUMul(len(gate), first(dst), first(gate), first(up))
}

func (avx512) siluMulBackward(dgate, dup, dout, gate, up []float32) {
	vecSiLUMulBackward(len(gate), first(dgate), first(dup), first(dout), first(gate), first(up))
}

func (avx512) add(dst, x []float32) { vecAdd(len(x), first(dst), first(x)) }

func (avx512) scale(dst []float32, a float32) { vecScale(len(dst), first(dst), a) }

func (avx512) axpy(dst []float32, a float32, x []float32) {
	vecAXPY(len(x), first(dst), first(x), a)
}

func (avx512) mul(dst, x, y []float32) { vecMul(len(x), first(dst), first(x), first(y)) }

func (avx512) roundBF16(dst, src []float32) { vecRoundBF16(len(src), first(dst), first(src)) }

func (avx512) rotate(y, x, table []float32, s float32) {
	vecRotate(len(x)/2, first(y), first(x), first(table), s)
}
