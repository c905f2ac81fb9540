package nn

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
)

// convCase is a ShortConv over a tree: a trunk of 37 positions, which stretches of 30 and 1 continue, and the second of
// these one of 5.
type convCase struct {
	ShortConv
	shape PageShape
	w     []float32
	in    Rows
	all   []Stretch
	prev  []int
}

func newConvCase(taps int) convCase {
	c := convCase{ShortConv: ShortConv{Dim: 21, Taps: taps}}
	c.shape = PageShape{Layers: 1, KVHeads: 1, HeadDim: 2, Convs: 2, Conv: c.ShortConv}
	c.all = []Stretch{{From: 0, To: 37, Next: []int{1, 2}}, {From: 37, To: 67, Pos: 37},
		{From: 67, To: 68, Pos: 37, Next: []int{3}}, {From: 68, To: 73, Pos: 38}}
	for i := range c.all {
		c.all[i].Layer = 1
		for range 3 {
			c.all[i].Pages = append(c.all[i].Pages, &Page{Data: make([]float32, c.shape.Floats())})
		}
	}
	c.w, c.in = normal(1, taps*c.Dim), Rows{normal(2, 73*3*c.Dim), 3 * c.Dim}
	for t := range 73 {
		c.prev = append(c.prev, t-1)
	}
	c.prev[67] = 36
	return c
}

// forward computes stretches, of which each has two parts of the channels.
func (c convCase) forward(k *kernel.Set, y Rows, all []Stretch, prev []int) {
	for _, s := range all {
		for _, part := range [][2]int{{0, 10}, {10, c.Dim}} {
			c.Forward(k, &Workspace{}, c.w, ConvRows{c.in, y}, c.shape, s, prev, part[0], part[1])
		}
	}
}

func (c convCase) rows(cols int) Rows { return Rows{make([]float32, 73*cols), cols} }

func TestShortConvIsTheSum(t *testing.T) {
	k, _ := set(t)
	for _, taps := range []int{1, 3, 4} {
		c := newConvCase(taps)
		y := c.rows(c.Dim)
		c.forward(k, y, c.all, c.prev)
		for t0 := range 73 {
			for i := range c.Dim {
				want := 0.0
				for s, at := 0, t0; s < taps && at >= 0; s, at = s+1, c.prev[at] {
					row := c.in.Row(at)
					want += float64(c.w[(taps-1-s)*c.Dim+i]) * float64(row[i]) * float64(row[2*c.Dim+i])
				}
				want *= float64(c.in.Row(t0)[c.Dim+i])
				if got := float64(y.Row(t0)[i]); math.Abs(got-want) > 1e-5*(1+math.Abs(want)) {
					t.Fatalf("%d taps, row %d, channel %d: %v, want %v", taps, t0, i, got, want)
				}
			}
		}
	}
}

// call computes the rows of the trunk and its first branch from pos to end-1, in a call that has no others.
func (c convCase) call(k *kernel.Set, y Rows, pages []*Page, pos, end int) {
	prev := slices.Clone(c.prev)
	prev[pos] = -1
	c.forward(k, y, []Stretch{{From: pos, To: end, Pos: pos, Pages: pages, Layer: 1}}, prev)
}

func sameResult(t *testing.T, what string, got, want Rows) {
	t.Helper()
	for i, v := range want.Data {
		if math.Float32bits(got.Data[i]) != math.Float32bits(v) {
			t.Fatalf("%s: row %d differs", what, i/want.Cols)
		}
	}
}

// A sequence has the same bits in one call and in calls of any lengths, which find the positions before in its pages or
// in copies of them. So has another one that begins with the first page alone.
func TestShortConvInAnyCalls(t *testing.T) {
	k, _ := set(t)
	for _, taps := range []int{1, 3, 4} {
		c := newConvCase(taps)
		whole := c.rows(c.Dim)
		c.forward(k, whole, c.all, c.prev)
		want := whole.Slice(0, 67)
		for _, n := range []int{1, 2, 3, 31, 32, 33} {
			got, pages := c.rows(c.Dim), newConvCase(taps).all[0].Pages
			for pos := 0; pos < 67; pos += n {
				for i, p := range pages {
					pages[i] = &Page{Data: slices.Clone(p.Data)}
				}
				c.call(k, got, pages, pos, min(pos+n, 67))
			}
			sameResult(t, fmt.Sprintf("%d taps, calls of %d", taps, n), got.Slice(0, 67), want)
			clear(got.Slice(32, 67).Data)
			c.call(k, got, append(pages[:1:1], newConvCase(taps).all[0].Pages[1:]...), 32, 67)
			sameResult(t, fmt.Sprintf("%d taps, calls of %d, a prefix", taps, n), got.Slice(0, 67), want)
		}
	}
}

// A branch that begins within a page has what it needs of the trunk in its own page, too.
func TestShortConvContinuesABranch(t *testing.T) {
	k, _ := set(t)
	for _, taps := range []int{1, 3, 4} {
		c := newConvCase(taps)
		want, got := c.rows(c.Dim), c.rows(c.Dim)
		c.forward(k, want, c.all, c.prev)
		c.forward(k, got, c.all[:3], c.prev)
		c.all[3].Pages, c.prev[68] = c.all[2].Pages, -1 // of a branch with one row
		c.forward(k, got, c.all[3:], c.prev)
		sameResult(t, fmt.Sprint(taps), got, want)
	}
}

// The backward through a tree agrees with the differences of the forward.
func TestShortConvGradient(t *testing.T) {
	k, _ := set(t)
	for _, taps := range []int{1, 3} {
		c := newConvCase(taps)
		dy := normal(9, 73*c.Dim)
		y := c.rows(c.Dim)
		loss := func() float64 {
			c.forward(k, y, c.all, c.prev)
			return weighted(y.Data, dy)
		}
		g := ConvGrads{Rows{dy, c.Dim}, c.rows(3 * c.Dim), c.rows(c.Dim)}
		for _, part := range [][2]int{{0, 10}, {10, c.Dim}} {
			c.Backward(k, &Workspace{}, c.w, ConvRows{c.in, y}, g, c.all, c.prev, 0, part[0], part[1])
		}
		checkGradient(t, "in", c.in.Data, g.DIn.Data, loss)
		dw, turned := make([]float32, len(c.w)), make([]float32, len(c.w))
		c.Grad(dw, ConvRows{c.in, y}, g, c.prev)
		for i, v := range dw {
			turned[i%taps*c.Dim+i/taps] = v
		}
		checkGradient(t, "w", c.w, turned, loss)
	}
}
