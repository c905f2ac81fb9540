package kernel

// Products with int8 are plain Go on arm64.

func (neon) toInts(dst []int16, x []float32) float32 { return portable{}.toInts(dst, x) }

func (neon) sumInts(sc *Scratch, out []float32, ldo int, x *Ints, m0, m1 int, w *Quads, p0, p1 int) {
	portable{}.sumInts(sc, out, ldo, x, m0, m1, w, p0, p1)
}

func (neon) widenQuads(dst, src []uint32) { portable{}.widenQuads(dst, src) }

func (neon) unpackQuads(dst, src, groups []uint32) { portable{}.unpackQuads(dst, src, groups) }
