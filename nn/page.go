package nn

import "github.com/seed-d9ad8ee0/trinity/internal/kernel"

// PageShape is the shape of the KV pages of a model.
type PageShape struct{ Layers, KVHeads, HeadDim int }

// Floats returns the length of a page's Data.
func (s PageShape) Floats() int { return s.Layers * s.KVHeads * (s.keys() + s.values()) }

// keys and values are the floats of one layer's head: K is a panel [HeadDim][32 positions], V is [chunks] panels
// [32 positions][32 columns].
func (s PageShape) keys() int   { return s.HeadDim * kernel.PageLen }
func (s PageShape) values() int { return s.chunks() * kernel.PageLen * kernel.NR }

// chunks is the number of 32-column panels of a head's values; padded is their width.
func (s PageShape) chunks() int { return (s.HeadDim + kernel.NR - 1) / kernel.NR }
func (s PageShape) padded() int { return s.chunks() * kernel.NR }

// Page holds the keys and values of 32 consecutive positions, counted from a multiple of 32, for all layers and heads, laid
// out as panels so that attention is a matrix product. A page is zeroed before its first use; places that were not stored
// count as masked and must stay finite.
type Page struct{ Data []float32 }

// K returns the key panel of a layer's head: element d of position pos is at d*32 + pos%32.
func (s PageShape) K(p *Page, layer, head int) []float32 {
	at := (layer*s.KVHeads + head) * (s.keys() + s.values())
	return p.Data[at : at+s.keys()]
}

// V returns the value panels of a layer's head: element d of position pos is at (d/32*32 + pos%32)*32 + d%32.
func (s PageShape) V(p *Page, layer, head int) []float32 {
	at := (layer*s.KVHeads+head)*(s.keys()+s.values()) + s.keys()
	return p.Data[at : at+s.values()]
}

// Store writes one position's key and value [HeadDim] of a layer's head, rounded to bf16 if asked. It overwrites k and v
// with what was stored.
func (s PageShape) Store(ks *kernel.Set, pages []*Page, pos, layer, head int, k, v []float32, bf16 bool) {
	if bf16 {
		ks.RoundBF16(k, k)
		ks.RoundBF16(v, v)
	}
	p, at := pages[pos/kernel.PageLen], pos%kernel.PageLen
	panel := s.K(p, layer, head)
	for d, x := range k {
		panel[d*kernel.PageLen+at] = x
	}
	vs := s.V(p, layer, head)
	for c := 0; c < s.HeadDim; c += kernel.NR {
		copy(vs[(c+at)*kernel.NR:], v[c:min(c+kernel.NR, s.HeadDim)])
	}
}
