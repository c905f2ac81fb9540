package kernel

import "unsafe"

// nibbleKernel writes the sums of a row times a panel: see gen/nibbles.go.
type nibbleKernel func(groups int, a, sums, b, factors, c *float32, ahead int)

// aheadNibbles is aheadFar for nibbles. 8 KiB read 3 to 5 percent more a second than 4; 12 and 16 were alike.
const aheadNibbles = 8192

// sumNibbles is sumInts for row m of x and panels in 4 bits: they are multiplied as they are, because a row alone takes
// no longer than reading them. More rows share what is unpacked.
func (f *family) sumNibbles(sc *Scratch, out []float32, x *Ints, m int, w *Quads, p0, p1 int) {
	groups, a := w.steps()/groupQuads, &x.buf[m*x.ldp/2]
	sums := grow(&sc.groups, groups)
	avx2GroupSums(groups, &sums[0], a)
	tile := grow(&sc.edge, maxTile*NR)
	for q := p0; q < p1; q++ {
		c := tile
		if (q+1)*NR <= w.N {
			c = out[q*NR:]
		}
		b := (*float32)(unsafe.Pointer(&w.Data[q*w.steps()/2*NR]))
		factors := (*float32)(unsafe.Pointer(&w.Groups[q*groups*groupWords]))
		f.one(groups, a, &sums[0], b, factors, &c[0], aheadNibbles)
	}
	if n := w.N - (p1-1)*NR; n < NR {
		copy(out[(p1-1)*NR:][:n], tile)
	}
}
