package nn

import (
	"math"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
)

// deltaCase is a Delta over a tree: a trunk of 37 positions, which stretches of 30 and 3 continue, and the first of
// these one of 5.
type deltaCase struct {
	Delta
	w    DeltaWeights
	in   Rows
	all  []Stretch
	prev []int
}

func newDeltaCase(keys, values int) deltaCase {
	d := Delta{Keys: keys, Values: values, KeyDim: 8, ValueDim: 12, Taps: 4, Eps: 0.1}
	c := deltaCase{Delta: d, all: []Stretch{{From: 0, To: 37, Next: []int{1, 2}},
		{From: 37, To: 67, Pos: 37, Next: []int{3}}, {From: 67, To: 70, Pos: 37}, {From: 70, To: 75, Pos: 67}}}
	c.w = DeltaWeights{Conv: normal(1, 4*d.Channels()), Decay: normal(2, values), Bias: normal(3, values),
		Norm: normal(4, d.ValueDim)}
	for i, v := range c.w.Decay {
		c.w.Decay[i] = float32(math.Exp(float64(v) - 1))
	}
	c.in = Rows{normal(5, 75*d.Width()), d.Width()}
	for t := range 75 {
		c.prev = append(c.prev, t-1)
	}
	c.prev[67], c.prev[70] = 36, 66
	return c
}

func (c deltaCase) rows() DeltaRows {
	n := c.values()
	fresh := func() Rows { return Rows{make([]float32, c.in.Len()*n), n} }
	return DeltaRows{c.in, fresh(), fresh(), fresh()}
}

func (c deltaCase) forward(k *kernel.Set, sc *kernel.Scratch) DeltaRows {
	rows := c.rows()
	for h := range c.Keys {
		c.Forward(Products{K: k, SC: sc}, &Workspace{}, &c.w, rows, c.all, c.prev, 0, h)
	}
	return rows
}

// reference is the recurrence in float64, for the rows of a path.
func (c deltaCase) reference(path []int, value int) (y [][]float64) {
	head := value / c.group()
	S := make([][]float64, c.KeyDim)
	for i := range S {
		S[i] = make([]float64, c.ValueDim)
	}
	mixed := func(i, at, n int) []float64 {
		out := make([]float64, n)
		for j := range n {
			for s := range min(c.Taps, i+1) {
				out[j] += float64(c.w.Conv[(c.Taps-1-s)*c.Channels()+at+j]) * float64(c.in.Row(path[i-s])[at+j])
			}
			out[j] *= logistic(out[j])
		}
		return out
	}
	length := func(x []float64) float64 {
		sum := 1e-6
		for _, v := range x {
			sum += v * v
		}
		return math.Sqrt(sum)
	}
	for i, t := range path {
		q, k := mixed(i, head*c.KeyDim, c.KeyDim), mixed(i, c.keys()+head*c.KeyDim, c.KeyDim)
		col, row := c.columns(value), c.in.Row(t)
		v := mixed(i, col.v, c.ValueDim)
		nq, nk := length(q), length(k)
		decay := math.Exp(-float64(c.w.Decay[value]) * math.Log1p(math.Exp(float64(row[col.a]+c.w.Bias[value]))))
		o, mean := make([]float64, c.ValueDim), 0.0
		for j := range v {
			read := 0.0
			for x := range k {
				S[x][j] *= decay
				read += S[x][j] * k[x] / nk
			}
			u := logistic(float64(row[col.b])) * (v[j] - read)
			for x := range k {
				S[x][j] += k[x] / nk * u
				o[j] += S[x][j] * q[x] / nq / math.Sqrt(float64(c.KeyDim))
			}
			mean += o[j] * o[j] / float64(c.ValueDim)
		}
		for j := range o {
			z := float64(row[col.z+j])
			o[j] *= float64(c.w.Norm[j]) / math.Sqrt(mean+float64(c.Eps)) * z * logistic(z)
		}
		y = append(y, o)
	}
	return y
}

// The pages compute the recurrence.
func TestDeltaIsTheRecurrence(t *testing.T) {
	k, sc := set(t)
	for _, values := range []int{2, 4} {
		c := newDeltaCase(2, values)
		got := c.forward(k, sc)
		var path []int
		for i := range 67 {
			path = append(path, i)
		}
		path = append(path, 70, 71, 72, 73, 74)
		for value := range values {
			for i, o := range c.reference(path, value) {
				for j, want := range o {
					g := got.Y.Row(path[i])[value*c.ValueDim+j]
					if math.Abs(float64(g)-want) > 2e-5*(1+math.Abs(want)) {
						t.Fatalf("%d value heads, row %d, head %d: %v, want %v", values, path[i], value, g, want)
					}
				}
			}
		}
	}
}

// A sequence has the same bits in a tree, in one call, and in calls of any lengths with a memory.
func TestDeltaInAnyCalls(t *testing.T) {
	k, sc := set(t)
	c := newDeltaCase(2, 4)
	want := c.forward(k, sc)
	for _, n := range []int{1, 2, 7, 31, 32, 33, 67} {
		got := c.rows()
		m := MemoryShape{c.Delta, 1}.New()
		for pos := 0; pos < 67; pos += n {
			part := []Stretch{{From: pos, To: min(pos+n, 67), Pos: pos, Memory: m}}
			for h := range c.Keys {
				c.Forward(Products{K: k, SC: sc}, &Workspace{}, &c.w, got, part, c.prev, 0, h)
			}
		}
		for i, v := range want.Y.Slice(0, 67).Data {
			if math.Float32bits(got.Y.Data[i]) != math.Float32bits(v) {
				t.Fatalf("calls of %d: row %d differs", n, i/c.values())
			}
		}
	}
}

// The backward through a tree agrees with the differences of the forward.
func TestDeltaGradient(t *testing.T) {
	k, sc := set(t)
	for _, values := range []int{2, 4} {
		c := newDeltaCase(2, values)
		dy := normal(9, 75*c.values())
		loss := func() float64 { return weighted(c.forward(k, sc).Y.Data, dy) }
		rows := c.forward(k, sc)
		fresh := func(n int) Rows { return Rows{make([]float32, 75*n), n} }
		g := DeltaGrads{Rows{dy, c.values()}, fresh(c.Width()), fresh(c.Channels()), fresh(c.values()), fresh(values)}
		for h := range c.Keys {
			c.Backward(Products{K: k, SC: sc}, &Workspace{}, &c.w, rows, g, c.all, c.prev, 0, h)
		}
		checkGradient(t, "in", c.in.Data, g.DIn.Data, loss)
	}
}
