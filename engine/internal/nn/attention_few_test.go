package nn

import (
	"math"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"pgregory.net/rapid"
)

// Rows of sequences that share pages, in any tree of forks, have the bits that each has alone.
func TestSinglesSharePages(t *testing.T) {
	for _, k := range sets(t) {
		rapid.Check(t, func(t *rapid.T) {
			s := PageShape{Layers: 1, KVHeads: 2, HeadDim: 34, BF16: rapid.Bool().Draw(t, "bf16")}
			a := Attention{Shape: s, Heads: 6, Window: rapid.SampledFrom([]int{0, 40}).Draw(t, "window")}
			if rapid.Bool().Draw(t, "sinks") {
				a.Sinks = normal(5, a.Heads)
			}
			list := drawSingles(t, s)
			Q := a.Heads * s.HeadDim
			q := Rows{normal(7, len(list)*Q), Q}
			got, want := Rows{make([]float32, len(q.Data)), Q}, Rows{make([]float32, len(q.Data)), Q}
			var ws Workspace
			sc := kernel.NewScratch()
			a.Forwards(k, sc, &ws, got, q, list, 0, s.KVHeads)
			for i := range list {
				for j := range s.KVHeads {
					a.Forwards(k, sc, &ws, want, q, list[i:i+1], j, j+1)
				}
			}
			for i, v := range got.Data {
				if math.Float32bits(v) != math.Float32bits(want.Data[i]) {
					t.Fatalf("%v %v: row %d has other bits than alone", k.Path(), k.Order(), i/Q)
				}
			}
		})
	}
}

// drawSingles draws the last rows of sequences that share pages, in groups whose members share more.
func drawSingles(t *rapid.T, s PageShape) (list []Stretch) {
	page := func() *Page {
		p := &Page{Data: make([]float32, s.Floats())}
		copy(p.Data, normal(uint64(rapid.IntRange(0, 1000).Draw(t, "page")), len(p.Data)))
		if s.BF16 { // finite halves
			for i, x := range p.Data {
				p.Data[i] = math.Float32frombits(uint32(upper(x))<<16 | uint32(upper(x)))
			}
		}
		return p
	}
	var grow func(prefix []*Page, depth int)
	grow = func(prefix []*Page, depth int) {
		for range rapid.IntRange(0, 2).Draw(t, "shared pages") {
			prefix = append(prefix[:len(prefix):len(prefix)], page())
		}
		for range rapid.IntRange(1, 3).Draw(t, "branches") {
			if depth > 0 && rapid.Bool().Draw(t, "group") {
				grow(prefix, depth-1)
				continue
			}
			own := append(prefix[:len(prefix):len(prefix)], page())
			pos := len(prefix)*kernel.PageLen + rapid.IntRange(0, kernel.PageLen-1).Draw(t, "position")
			list = append(list, Stretch{From: len(list), To: len(list) + 1, Pos: pos, Pages: own})
		}
	}
	grow(nil, 2)
	return list
}
