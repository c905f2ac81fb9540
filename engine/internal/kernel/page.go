package kernel

// StorePage writes PageLen rows of k and of v, both [PageLen,hd] with rows ldk and ldv apart, as the bf16 panels of a
// page: keys is one, of the rows of k, and values are those of the transpose of v.
func (s *Set) StorePage(sc *Scratch, keys, values, k []float32, ldk int, v []float32, ldv, hd int) {
	ld := (hd + lanes - 1) / lanes * lanes * 2
	bits := asBytes(grow(&sc.bits, PageLen*ld/4))
	for r := range PageLen {
		s.ops.narrow(bits[r*ld:(r+1)*ld], k[r*ldk:][:hd])
	}
	s.ops.packWords(asWords(keys), bits, ld, PageLen, (hd+1)/2, false)
	s.ops.pairRows(asWords(values), PageLen/2*NR, v, ldv, PageLen, hd)
}
