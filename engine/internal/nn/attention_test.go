package nn

import (
	"math"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
)

// attended is one sequence of n rows from pos on: q, k and v of all positions and their pages.
type attended struct {
	a        Attention
	pos, n   int
	q        Rows // [n,Q]
	keys     Rows // [pos+n,G]
	values   Rows // [pos+n,G]
	out      Rows // [n,Q]
	k        *kernel.Set
	sc       *kernel.Scratch
	ws       Workspace
	lastPage []*Page
}

func newAttended(t *testing.T, hd, heads, kv, pos, n int) *attended {
	s := &attended{a: Attention{Shape: PageShape{Layers: 2, KVHeads: kv, HeadDim: hd}, Heads: heads, Layer: 1},
		pos: pos, n: n}
	s.q, s.out = Rows{normal(1, n*heads*hd), heads * hd}, Rows{make([]float32, n*heads*hd), heads * hd}
	s.keys, s.values = Rows{normal(2, (pos+n)*kv*hd), kv * hd}, Rows{normal(3, (pos+n)*kv*hd), kv * hd}
	s.k, s.sc = set(t)
	return s
}

// forward stores all keys and values in fresh pages and attends.
func (s *attended) forward() {
	s.lastPage = nil
	for range (s.pos+s.n-1)/kernel.PageLen + 1 {
		s.lastPage = append(s.lastPage, &Page{Data: make([]float32, s.a.Shape.Floats())})
	}
	hd := s.a.Shape.HeadDim
	for t := range s.pos + s.n {
		for j := range s.a.Shape.KVHeads {
			s.a.Shape.Store(s.k, s.lastPage, t, 1, j, s.keys.Row(t)[j*hd:][:hd], s.values.Row(t)[j*hd:][:hd])
		}
	}
	s.a.Forward(s.k, s.sc, &s.ws, s.out, s.q, s.pos, s.lastPage, 0, s.a.Shape.KVHeads)
}

var attentionShapes = []struct{ hd, heads, kv, pos, n int }{
	{4, 2, 1, 0, 9},   // narrow head, one page
	{6, 3, 3, 30, 5},  // across a page border, with a prefix, no groups
	{34, 4, 2, 0, 34}, // a head wider than a panel, two pages
	{8, 2, 2, 36, 1},  // a single row on its own page
	{2, 1, 1, 0, 140}, // more rows than backward holds at once
}

// Attention equals the textbook's, computed in float64.
func TestAttention(t *testing.T) {
	for _, z := range attentionShapes {
		s := newAttended(t, z.hd, z.heads, z.kv, z.pos, z.n)
		s.forward()
		for i := range z.n {
			for h := range z.heads {
				want := textbook(s, i, h)
				for d, w := range want {
					if got := s.out.Row(i)[h*z.hd+d]; math.Abs(float64(got)-w) > 1e-5 {
						t.Fatalf("%+v row %d head %d element %d: %v, want %v", z, i, h, d, got, w)
					}
				}
			}
		}
	}
}

func textbook(s *attended, i, h int) []float64 {
	hd, j := s.a.Shape.HeadDim, h*s.a.Shape.KVHeads/s.a.Heads
	q, out, total := s.q.Row(i)[h*hd:][:hd], make([]float64, hd), 0.0
	if s.a.Sinks != nil {
		total = math.Exp(float64(s.a.Sinks[h]))
	}
	for t := range s.pos + i + 1 {
		if s.a.Window > 0 && s.pos+i-t >= s.a.Window {
			continue
		}
		score := 0.0
		for d, x := range s.keys.Row(t)[j*hd:][:hd] {
			score += float64(x) * float64(q[d])
		}
		p := math.Exp(score)
		total += p
		for d, v := range s.values.Row(t)[j*hd:][:hd] {
			out[d] += p * float64(v)
		}
	}
	for d := range out {
		out[d] /= total
	}
	return out
}

// A single row has the bits that it has among others, on every path and in every order, for groups of as many heads as
// models have and for more than a micro-kernel's rows.
func TestAttentionRowOnPages(t *testing.T) {
	for _, k := range sets(t) {
		for _, z := range []struct {
			hd, heads, kv int
			bf16          bool
		}{{128, 4, 2, true}, {64, 4, 1, true}, {40, 7, 1, true}, {32, 9, 1, true}, {6, 16, 1, true}, {34, 8, 2, false},
			{6, 3, 3, false}} {
			const n = 67
			s := newAttended(t, z.hd, z.heads, z.kv, 0, n)
			s.k, s.a.Shape.BF16 = k, z.bf16
			s.forward()
			for i := range n {
				out := make([]float32, z.heads*z.hd)
				for j := range z.kv {
					s.a.Forwards(k, s.sc, &s.ws, Rows{out, len(out)}, s.q.Slice(i, i+1),
						[]Stretch{{To: 1, Pos: i, Pages: s.lastPage}}, j, j+1)
				}
				for d, v := range out {
					if want := s.out.Row(i)[d]; math.Float32bits(v) != math.Float32bits(want) {
						t.Fatalf("%v %v %+v row %d element %d: %v, want %v", k.Path(), k.Order(), z, i, d, v, want)
					}
				}
			}
		}
	}
}

// sets returns the kernels of all paths this processor offers, in both orders.
func sets(t *testing.T) []*kernel.Set {
	var list []*kernel.Set
	for p := kernel.Portable; p <= kernel.Detect(); p++ {
		for _, o := range []kernel.Order{kernel.Sequential, kernel.Blocked} {
			if s, err := kernel.New(p, o); err == nil {
				list = append(list, s)
			}
		}
	}
	if len(list) < 2 {
		t.Fatalf("%d sets of kernels, want both orders at least", len(list))
	}
	return list
}

// A row has the same bits whether it is computed with all others (more than fit in the score budget), alone as a
// decoding step is, or with a few neighbours.
func TestAttentionRowsAlone(t *testing.T) {
	const n, hd, heads = 600, 6, 2
	s := newAttended(t, hd, heads, 1, 0, n)
	s.forward()
	for _, step := range []int{1, 37} {
		for a := 0; a < n; a += step {
			b := min(a+step, n)
			out := Rows{make([]float32, (b-a)*heads*hd), heads * hd}
			s.a.Forward(s.k, s.sc, &s.ws, out, s.q.Slice(a, b), a, s.lastPage, 0, s.a.Shape.KVHeads)
			for i, v := range out.Data {
				if want := s.out.Slice(a, b).Data[i]; math.Float32bits(v) != math.Float32bits(want) {
					t.Fatalf("rows %d to %d, element %d: %v, want %v", a, b, i, v, want)
				}
			}
		}
	}
}

// At a position where the scores of no block fit in the score budget, a row has the same bits alone too.
func TestAttentionRowsFar(t *testing.T) {
	for _, k := range sets(t) {
		for _, bf16 := range []bool{false, true} {
			s := newAttended(t, 6, 2, 1, 2100, 45)
			s.k, s.a.Shape.BF16 = k, bf16
			s.forward()
			for i := range s.n {
				out := Rows{make([]float32, s.q.Cols), s.q.Cols}
				s.a.Forward(k, s.sc, &s.ws, out, s.q.Slice(i, i+1), s.pos+i, s.lastPage, 0, 1)
				for d, v := range out.Data {
					if want := s.out.Row(i)[d]; math.Float32bits(v) != math.Float32bits(want) {
						t.Fatalf("%v %v bf16=%v row %d element %d: %v, want %v", k.Path(), k.Order(), bf16, i, d, v,
							want)
					}
				}
			}
		}
	}
}
