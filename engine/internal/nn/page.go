package nn

import (
	"math"
	"unsafe"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
)

// PageShape is the shape of the KV pages of a model, whose elements are bf16 or float32.
type PageShape struct {
	Layers, KVHeads, HeadDim int
	BF16                     bool

	Convs int // layers with a convolution instead
	Conv  ShortConv
}

// Floats returns the length of a page's Data.
func (s PageShape) Floats() int { return s.Layers*s.KVHeads*(s.keys()+s.values()) + s.tails() }

// keys and values are the words of one layer's head: K is one panel, of 32 positions by HeadDim, V is chunks panels,
// of HeadDim by 32 positions.
func (s PageShape) keys() int   { return kernel.PanelBytes(kernel.PageLen, s.HeadDim, s.BF16) / 4 }
func (s PageShape) values() int { return kernel.PanelBytes(s.HeadDim, kernel.PageLen, s.BF16) / 4 }

// chunks is the number of 32-column panels of a head's values.
func (s PageShape) chunks() int { return (s.HeadDim + kernel.NR - 1) / kernel.NR }

// Page holds the keys and values of 32 consecutive positions, counted from a multiple of 32, for all layers and heads,
// laid out as panels so that attention is a matrix product. A page is zeroed before its first use; positions that were
// not stored are masked but must be finite.
type Page struct{ Data []float32 }

// K and V return the panels of a layer's head.
func (s PageShape) K(p *Page, layer, head int) []float32 {
	at := (layer*s.KVHeads + head) * (s.keys() + s.values())
	return p.Data[at : at+s.keys()]
}

func (s PageShape) V(p *Page, layer, head int) []float32 {
	at := (layer*s.KVHeads+head)*(s.keys()+s.values()) + s.keys()
	return p.Data[at : at+s.values()]
}

// Store writes one position's key and value [HeadDim] of a layer's head, rounded to bf16 if pages are bf16. It
// overwrites k and v with the stored values.
func (s PageShape) Store(ks *kernel.Set, pages []*Page, pos, layer, head int, k, v []float32) {
	p, at := pages[pos/kernel.PageLen], pos%kernel.PageLen
	keys, values := s.K(p, layer, head), s.V(p, layer, head)
	if !s.BF16 {
		for d, x := range k {
			keys[d*kernel.NR+at] = x
		}
		for c := 0; c < s.HeadDim; c += kernel.NR {
			copy(values[(c+at)*kernel.NR:], v[c:min(c+kernel.NR, s.HeadDim)])
		}
		return
	}
	ks.RoundBF16(k, k)
	ks.RoundBF16(v, v)
	storePairs(words(keys), k, at)
	storeColumns(halves(values), v, at)
}

// StoreRows is Store for the KV heads of rows of keys and values [n,KVHeads*HeadDim] at positions pos, pos+1, …; the
// contents of keys may be overwritten.
func (s PageShape) StoreRows(ks *kernel.Set, sc *kernel.Scratch, pages []*Page, pos, layer int, keys, values Rows) {
	n, hd := keys.Len(), s.HeadDim
	for t := 0; t < n; {
		whole := s.BF16 && (pos+t)%kernel.PageLen == 0 && t+kernel.PageLen <= n
		for j := range s.KVHeads {
			k, v := keys.Data[t*keys.Cols+j*hd:], values.Data[t*values.Cols+j*hd:]
			if !whole {
				s.Store(ks, pages, pos+t, layer, j, k[:hd], v[:hd])
				continue
			}
			p := pages[(pos+t)/kernel.PageLen]
			ks.StorePage(sc, s.K(p, layer, j), s.V(p, layer, j), k, keys.Cols, v, values.Cols, hd)
			for r := range kernel.PageLen {
				row := v[r*values.Cols:][:hd]
				ks.RoundBF16(row, row)
			}
		}
		if t++; whole {
			t += kernel.PageLen - 1
		}
	}
}

// storePairs writes x to column at of a panel of pairs: element d is half d%2 of word d/2*32 + at.
func storePairs(panel []uint32, x []float32, at int) {
	for ; len(x) > 1; x = x[2:] {
		panel[at] = uint32(upper(x[0])) | uint32(upper(x[1]))<<16
		panel = panel[kernel.NR:]
	}
	if len(x) > 0 {
		panel[at] = uint32(upper(x[0]))
	}
}

// storeColumns writes x to row at of panels of pairs, each 16 rows of words: element d is half at%2 of word at/2*32 +
// d%32 of panel d/32. Another position's half of the word may be written at the same time.
func storeColumns(panels []uint16, x []float32, at int) {
	const panel = kernel.PageLen / 2 * kernel.NR
	for c := 0; c*kernel.NR < len(x); c++ {
		row := panels[(c*panel+at/2*kernel.NR)*2+at%2:]
		for j, v := range x[c*kernel.NR : min((c+1)*kernel.NR, len(x))] {
			row[2*j] = upper(v)
		}
	}
}

// upper returns the bits of a bf16 value.
func upper(v float32) uint16 { return uint16(math.Float32bits(v) >> 16) }

// words and halves are the same memory by other types.
func words(f []float32) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(f))), len(f))
}

func halves(f []float32) []uint16 {
	return unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(f))), 2*len(f))
}
