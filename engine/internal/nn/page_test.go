package nn

import (
	"math"
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
)

// Stored keys and values are at the places of K and V, rounded to bf16 for a bf16 model, at every position of a page.
func TestPageStore(t *testing.T) {
	k, _ := set(t)
	for _, bf16 := range []bool{false, true} {
		s := PageShape{Layers: 2, KVHeads: 2, HeadDim: 40, BF16: bf16}
		pages := []*Page{{make([]float32, s.Floats())}, {make([]float32, s.Floats())}}
		for pos := range 64 {
			key, value := normal(uint64(pos), s.HeadDim), normal(uint64(100+pos), s.HeadDim)
			wantKey, wantValue := append([]float32(nil), key...), append([]float32(nil), value...)
			if bf16 {
				k.RoundBF16(wantKey, wantKey)
				k.RoundBF16(wantValue, wantValue)
			}
			s.Store(k, pages, pos, 1, 1, key, value)
			for d := range s.HeadDim {
				keys := kernel.ViewPanels(s.K(pages[pos/32], 1, 1), 32, s.HeadDim, bf16)
				values := kernel.ViewPanels(s.V(pages[pos/32], 1, 1), s.HeadDim, 32, bf16)
				row, column := make([]float32, s.HeadDim), make([]float32, 32)
				keys.Row(row, pos%32)
				values.Row(column, d)
				gotKey, gotValue := row[d], column[pos%32]
				if gotKey != wantKey[d] || gotValue != wantValue[d] || key[d] != wantKey[d] ||
					value[d] != wantValue[d] {
					t.Fatalf("bf16=%v position %d element %d: key %v, value %v; want %v, %v", bf16, pos, d, gotKey,
						gotValue, wantKey[d], wantValue[d])
				}
			}
		}
		if p := s.K(pages[0], 0, 1); p[0] != 0 || s.V(pages[1], 1, 0)[0] != 0 {
			t.Error("another layer or head was written")
		}
	}
}

// Rows that are stored together have the layout of rows that are stored one by one.
func TestPageStoreRows(t *testing.T) {
	k, sc := set(t)
	for _, bf16 := range []bool{false, true} {
		s := PageShape{Layers: 1, KVHeads: 3, HeadDim: 24, BF16: bf16}
		for _, c := range [][2]int{{0, 1}, {0, 32}, {0, 96}, {5, 27}, {5, 70}, {31, 65}} {
			pos, n := c[0], c[1]
			width := s.KVHeads * s.HeadDim
			keys, values := Rows{normal(1, n*width), width}, Rows{normal(2, n*(width+7)), width + 7}
			var want, got []*Page
			for range pagesTo(pos + n) {
				want, got = append(want, &Page{make([]float32, s.Floats())}),
					append(got, &Page{make([]float32, s.Floats())})
			}
			stored := Rows{append([]float32(nil), values.Data...), values.Cols}
			for r := range n {
				for j := range s.KVHeads {
					at := j * s.HeadDim
					key := append([]float32(nil), keys.Row(r)[at:at+s.HeadDim]...)
					s.Store(k, want, pos+r, 0, j, key, stored.Row(r)[at:at+s.HeadDim])
				}
			}
			s.StoreRows(k, sc, got, pos, 0, keys, values)
			for i := range want {
				for w := range want[i].Data {
					if math.Float32bits(got[i].Data[w]) != math.Float32bits(want[i].Data[w]) {
						t.Fatalf("bf16=%v, %d rows at %d: word %d of page %d is %v, want %v", bf16, n, pos, w, i,
							got[i].Data[w], want[i].Data[w])
					}
				}
			}
			if !slices.Equal(values.Data, stored.Data) {
				t.Errorf("bf16=%v, %d rows at %d: values are not left as they are stored", bf16, n, pos)
			}
		}
	}
}
