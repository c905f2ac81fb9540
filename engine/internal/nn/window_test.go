package nn

import (
	"fmt"
	"math"
	"testing"
)

// Attention in a window equals the textbook's, and so does its gradient, with sinks and without.
func TestAttentionWindow(t *testing.T) {
	for i, window := range []int{2, 5, 33, 1000, 2, 33, 0} {
		for _, z := range attentionShapes {
			t.Run(fmt.Sprintf("%d: %d of %+v", i, window, z), func(t *testing.T) {
				s := newAttended(t, z.hd, z.heads, z.kv, z.pos, z.n)
				if s.a.Window = window; i >= 4 {
					s.a.Sinks = normal(5, z.heads)
					s.a.Sinks[z.heads-1] = 5 // above all scores of most rows
				}
				s.forward()
				for i := range z.n {
					for h := range z.heads {
						for d, want := range textbook(s, i, h) {
							if got := s.out.Row(i)[h*z.hd+d]; math.Abs(float64(got)-want) > 1e-5 {
								t.Fatalf("row %d head %d element %d: %v, want %v", i, h, d, got, want)
							}
						}
					}
				}
				if z.n < 34 || z.n == 34 && window == 33 { // a shape of many elements
					gradientOf(t, s)
				}
			})
		}
	}
}

// gradientOf checks the gradients of an attention by differences.
func gradientOf(t *testing.T, s *attended) {
	t.Helper()
	for i := range s.q.Data {
		s.q.Data[i] *= s.a.Scale()
	}
	Q, G := s.q.Cols, s.keys.Cols
	dout := Rows{normal(4, s.n*Q), Q}
	dqkv := Rows{make([]float32, s.n*(Q+2*G)), Q + 2*G}
	sinks := Rows{make([]float32, s.n*s.a.Heads), s.a.Heads}
	s.forward()
	for j := range s.a.Shape.KVHeads {
		s.a.Backward(s.k, s.sc, &s.ws, AttentionRows{DQKV: dqkv, Dout: dout, Out: s.out, Q: s.q, DSinks: sinks},
			[]Stretch{{To: s.n, Pos: s.pos, Pages: s.lastPage}}, 0, j)
	}
	var dq, dk, dv []float32
	dsinks := make([]float32, s.a.Heads)
	for i := range s.n {
		for _, v := range dqkv.Row(i)[:Q] {
			dq = append(dq, v/s.a.Scale()) // of the scaled queries
		}
		dk, dv = append(dk, dqkv.Row(i)[Q:Q+G]...), append(dv, dqkv.Row(i)[Q+G:]...)
		s.k.Add(dsinks, sinks.Row(i))
	}
	loss := func() float64 {
		s.forward()
		return weighted(s.out.Data, dout.Data)
	}
	checkGradient(t, "dv", s.values.Slice(s.pos, s.pos+s.n).Data, dv, loss)
	checkGradient(t, "dk", s.keys.Slice(s.pos, s.pos+s.n).Data, dk, loss)
	checkGradient(t, "dq", s.q.Data, dq, loss)
	if s.a.Sinks != nil {
		checkGradient(t, "dsinks", s.a.Sinks, dsinks, loss)
	}
}

// With a window too a row has the same bits alone, with a few neighbours and among all others, on every path and in
// every order, though pages before its window are left out.
func TestWindowRowsAlone(t *testing.T) {
	const n, hd, heads = 150, 34, 4
	for _, k := range sets(t) {
		for _, bf16 := range []bool{false, true} {
			for _, window := range []int{3, 32, 40} {
				s := newAttended(t, hd, heads, 2, 0, n)
				if s.k, s.a.Shape.BF16, s.a.Window = k, bf16, window; window == 40 {
					s.a.Sinks = normal(5, heads)
				}
				s.forward()
				for _, step := range []int{1, 37} {
					for a := 0; a < n; a += step {
						sameRows(t, s, a, min(a+step, n))
					}
				}
			}
		}
	}
}

// sameRows computes rows a to b-1 alone.
func sameRows(t *testing.T, s *attended, a, b int) {
	t.Helper()
	out := Rows{make([]float32, (b-a)*s.q.Cols), s.q.Cols}
	s.a.Forward(s.k, s.sc, &s.ws, out, s.q.Slice(a, b), a, s.lastPage, 0, s.a.Shape.KVHeads)
	for i, v := range out.Data {
		if want := s.out.Slice(a, b).Data[i]; math.Float32bits(v) != math.Float32bits(want) {
			t.Fatalf("%v %v window %d rows %d to %d, element %d: %v, want %v", s.k.Path(), s.k.Order(), s.a.Window,
				a, b, i, v, want)
		}
	}
}

// GELU is the tanh approximation, far from zero too, and its gradient is that of differences.
func TestGELU(t *testing.T) {
	k, _ := set(t)
	const n = 19
	gate, up, dout := normal(1, n), normal(2, n), normal(3, n)
	gate[0], gate[1], gate[2], gate[3] = 0, 12, -12, 300
	out, dgate, dup := make([]float32, n), make([]float32, n), make([]float32, n)
	loss := func() float64 {
		GELUMul(k, out, gate, up)
		return weighted(out, dout)
	}
	loss()
	for i, x := range gate {
		v := float64(x)
		want := 0.5 * v * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(v+0.044715*v*v*v))) * float64(up[i])
		if math.Abs(float64(out[i])-want) > 1e-6*max(1, math.Abs(want)) {
			t.Errorf("gelu(%v)*%v = %v, want %v", x, up[i], out[i], want)
		}
	}
	GELUMulBackward(k, dgate, dup, dout, gate, up)
	checkGradient(t, "dgate", gate[:3], dgate[:3], loss)
	checkGradient(t, "dgate", gate[4:], dgate[4:], loss)
	checkGradient(t, "dup", up, dup, loss)
}
