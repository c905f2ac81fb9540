package nn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
)

// The tests of this file compare each backward with central differences of its forward. The loss is a fixed random
// combination of the outputs, summed in float64. With steps of 2^-7, float32 outputs of size 1 carry an error of about
// 2^-24/2^-7 = 1e-5 into the quotient, and the truncation is a third derivative times 1e-5; so a bound of 1e-3 of the
// largest gradient accepts correct results and refuses a missing term, wrong factor or wrong sign.
const (
	diffStep  = 1.0 / 128
	diffBound = 1e-3
)

// checkGradient compares grad with the differences of loss, which depends on x; of many elements, with about 1000.
func checkGradient(t *testing.T, what string, x, grad []float32, loss func() float64) {
	t.Helper()
	want, scale := map[int]float64{}, 0.0
	for i := 0; i < len(x); i += 1 + len(x)/1000 {
		v := x[i]
		x[i] = v + diffStep
		up := loss()
		x[i] = v - diffStep
		want[i] = (up - loss()) / (2 * diffStep)
		x[i] = v
		scale = max(scale, math.Abs(want[i]))
	}
	if scale == 0 {
		t.Fatalf("%s: the loss does not depend on it", what)
	}
	for i, w := range want {
		if d := math.Abs(float64(grad[i]) - w); !(d <= diffBound*scale) {
			t.Errorf("%s[%d] = %v, differences give %v", what, i, grad[i], w)
		}
	}
}

func normal(seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	x := kernel.Aligned(n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func weighted(y, weights []float32) (sum float64) {
	for i, w := range weights {
		sum += float64(w) * float64(y[i])
	}
	return sum
}

func set(t testing.TB) (*kernel.Set, *kernel.Scratch) {
	k, err := kernel.Best(kernel.Native())
	if k == nil {
		t.Fatal(err)
	}
	return k, kernel.NewScratch()
}

func TestLinearGradient(t *testing.T) {
	k, sc := set(t)
	const M, N, K = 3, 37, 5
	w, b, x, dy := normal(1, N*K), normal(2, N), normal(3, M*K), normal(4, M*N)
	y, dx, on := Rows{make([]float32, M*N), N}, Rows{make([]float32, M*K), K}, Products{K: k, SC: sc}
	loss := func() float64 {
		l := Linear{W: k.Pack(w, N, K, false), Bias: b}
		l.Forward(on, y, Rows{x, K}, on.Pack(0, Rows{x, K}, K, false), nil)
		return weighted(y.Data, dy)
	}
	l := Linear{W: k.Pack(w, N, K, false)}
	l.Backward(on, dx, Rows{dy, N}, on.Pack(0, Rows{dy, N}, N, false), nil)
	checkGradient(t, "dx", x, dx.Data, loss)
	dw := make([]float32, N*K)
	k.GradW(sc, dw, K, dy, N, x, K, M, 0, N, K)
	checkGradient(t, "dw", w, dw, loss)
	db := make([]float32, N)
	for m := range M {
		k.Add(db, dy[m*N:(m+1)*N])
	}
	checkGradient(t, "db", b, db, loss)
}

// Two projections of different width on one input.
func TestLoRAGradient(t *testing.T) {
	k, sc := set(t)
	const M, K, r, n0, n1, scale = 3, 5, 3, 34, 7, 0.75
	const N = n0 + n1
	A, B := [][]float32{normal(1, r*K), normal(2, r*K)}, [][]float32{normal(3, n0*r), normal(4, n1*r)}
	x, dy, on := normal(5, M*K), normal(6, M*N), Products{K: k, SC: sc}
	linear := Linear{W: k.Pack(normal(7, N*K), N, K, false)}
	y := Rows{make([]float32, M*N), N}
	mid, dmid := Rows{make([]float32, M*8), 8}, Rows{make([]float32, M*8), 8} // wider than 2r
	loss := func() float64 {
		in := on.Pack(0, Rows{x, K}, K, false)
		l := NewLoRA(k, r, scale, K, false, []int{0, n0}, A, B)
		linear.Forward(on, y, Rows{x, K}, in, l.Down(on, nil, mid, in, 0, M))
		return weighted(y.Data, dy)
	}
	loss()
	l := NewLoRA(k, r, scale, K, false, []int{0, n0}, A, B)
	dx := Rows{make([]float32, M*K), K}
	in := on.Pack(0, Rows{dy, N}, N, false)
	linear.Backward(on, dx, Rows{dy, N}, in, l.Up(on, nil, dmid, Rows{dy, N}, in, 0, M))
	dA, dB := [2][]float32{make([]float32, r*K), make([]float32, r*K)},
		[2][]float32{make([]float32, n0*r), make([]float32, n1*r)}
	for p := range l.Projections() {
		k.GradW(sc, dA[p], K, dmid.Data[l.Mid(p):], dmid.Cols, x, K, M, 0, r, K)
		k.GradW(sc, dB[p], r, dy[l.Cols[p]:], N, mid.Data[l.Mid(p):], mid.Cols, M, 0, l.Outputs(p), r)
	}
	checkGradient(t, "dx", x, dx.Data, loss)
	for p := range 2 {
		checkGradient(t, fmt.Sprintf("dA%d", p), A[p], dA[p], loss)
		checkGradient(t, fmt.Sprintf("dB%d", p), B[p], dB[p], loss)
	}
}

func TestRMSNormGradient(t *testing.T) {
	k, _ := set(t)
	const M, D = 3, 21
	x, w, dy := normal(1, M*D), normal(2, D), normal(3, M*D)
	y, dx, inv := Rows{make([]float32, M*D), D}, Rows{make([]float32, M*D), D}, make([]float32, M)
	loss := func() float64 {
		RMSNorm(k, y, Rows{x, D}, w, 1e-2, inv)
		return weighted(y.Data, dy)
	}
	loss()
	dw, tmp := make([]float32, D), make([]float32, D)
	for m := range M {
		row := Rows{dy, D}.Row(m)
		RMSNormBackward(k, dx.Row(m), row, Rows{x, D}.Row(m), w, inv[m])
		RMSNormGrad(k, dw, row, Rows{x, D}.Row(m), inv[m], tmp)
	}
	checkGradient(t, "dx", x, dx.Data, loss)
	checkGradient(t, "dw", w, dw, loss)
}

func TestRoPEGradient(t *testing.T) {
	k, _ := set(t)
	const D, pos = 10, 7
	table := NewRoPE(RoPEConfig{Dim: D, Theta: 100}).Table(pos + 1)
	x, dy, y, dx := normal(1, D), normal(2, D), make([]float32, D), make([]float32, D)
	table.RotateBack(k, dx, dy, pos)
	checkGradient(t, "dx", x, dx, func() float64 {
		table.Rotate(k, y, x, pos)
		return weighted(y, dy)
	})
}

func TestSwiGLUGradient(t *testing.T) {
	k, _ := set(t)
	const n = 19
	gate, up, dout := normal(1, n), normal(2, n), normal(3, n)
	out, dgate, dup := make([]float32, n), make([]float32, n), make([]float32, n)
	loss := func() float64 {
		k.SiLUMul(out, gate, up)
		return weighted(out, dout)
	}
	k.SiLUMulBackward(dgate, dup, dout, gate, up)
	checkGradient(t, "dgate", gate, dgate, loss)
	checkGradient(t, "dup", up, dup, loss)
}

func TestEmbeddingGradient(t *testing.T) {
	k, _ := set(t)
	const V, D = 4, 6
	table, tokens, dx := normal(1, V*D), []int32{2, 0, 2, 3}, normal(2, 4*D)
	grad, x := make([]float32, V*D), make([]float32, 4*D)
	EmbeddingGrad(k, grad, Rows{dx, D}, tokens)
	checkGradient(t, "dtable", table, grad, func() float64 {
		e := Embedding{Linear{W: k.Pack(table, V, D, false)}}
		for i, tok := range tokens {
			e.Row(x[i*D:(i+1)*D], tok)
		}
		return weighted(x, dx)
	})
}

func TestAttentionGradient(t *testing.T) {
	for _, z := range attentionShapes {
		t.Run(fmt.Sprintf("%+v", z), func(t *testing.T) {
			gradientOf(t, newAttended(t, z.hd, z.heads, z.kv, z.pos, z.n))
		})
	}
}

// A clamped gate is the formula of the models that have one, and its gradient stops at the limits.
func TestClamp(t *testing.T) {
	k, _ := set(t)
	c := Clamp{Alpha: 1.702, Limit: 1.5}
	gate, up, dout := normal(1, 203), normal(2, 203), normal(3, 203)
	y, tmp := make([]float32, len(gate)), make([]float32, len(gate))
	dgate, dup := make([]float32, len(gate)), make([]float32, len(gate))
	c.Mul(k, y, gate, up, tmp)
	for i, got := range y {
		g, u := min(float64(gate[i]), 1.5), max(min(float64(up[i]), 1.5), -1.5)
		if want := (u + 1) * g / (1 + math.Exp(-1.702*g)); math.Abs(float64(got)-want) > 1e-6 {
			t.Errorf("of %v and %v: %v, want %v", gate[i], up[i], got, want)
		}
	}
	for i := range gate { // differences do not cross a limit
		for _, x := range []*float32{&gate[i], &up[i]} {
			if math.Abs(math.Abs(float64(*x))-1.5) < 2*diffStep {
				*x = 1
			}
		}
	}
	c.Backward(k, dgate, dup, dout, gate, up)
	loss := func() float64 {
		c.Mul(k, y, gate, up, tmp)
		return weighted(y, dout)
	}
	checkGradient(t, "dgate", gate, dgate, loss)
	checkGradient(t, "dup", up, dup, loss)
	gate[0], up[0] = 1.5, -1.5
	if c.Backward(k, dgate, dup, []float32{1}, gate[:1], up[:1]); dgate[0] == 0 || dup[0] == 0 {
		t.Errorf("at the limits the gradients are %v and %v, want others than 0", dgate[0], dup[0])
	}
}
