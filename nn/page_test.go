package nn

import "testing"

// Stored keys and values lie where K and V say, rounded to bf16 for a bf16 model, at every position of a page.
func TestPageStore(t *testing.T) {
	k, _ := set(t)
	s := PageShape{Layers: 2, KVHeads: 2, HeadDim: 40}
	for _, bf16 := range []bool{false, true} {
		pages := []*Page{{make([]float32, s.Floats())}, {make([]float32, s.Floats())}}
		for pos := range 64 {
			key, value := normal(uint64(pos), s.HeadDim), normal(uint64(100+pos), s.HeadDim)
			wantKey, wantValue := append([]float32(nil), key...), append([]float32(nil), value...)
			if bf16 {
				k.RoundBF16(wantKey, wantKey)
				k.RoundBF16(wantValue, wantValue)
			}
			s.Store(k, pages, pos, 1, 1, key, value, bf16)
			for d := range s.HeadDim {
				gotKey := s.K(pages[pos/32], 1, 1)[d*32+pos%32]
				gotValue := s.V(pages[pos/32], 1, 1)[(d/32*32+pos%32)*32+d%32]
				if gotKey != wantKey[d] || gotValue != wantValue[d] || key[d] != wantKey[d] || value[d] != wantValue[d] {
					t.Fatalf("bf16=%v position %d element %d: key %v, value %v; want %v, %v", bf16, pos, d, gotKey, gotValue, wantKey[d], wantValue[d])
				}
			}
		}
		if p := s.K(pages[0], 0, 1); p[0] != 0 || s.V(pages[1], 1, 0)[0] != 0 {
			t.Error("another layer or head was written")
		}
	}
}
