package model

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
)

// Entropy, centre and gradient are PyTorch's, for long and short rows, flat and peaked ones.
func TestEntropyGolden(t *testing.T) {
	raw, err := os.ReadFile("testdata/entropy.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden []struct {
		Logits, Gradient      []float32
		Target                int32
		G, E, Entropy, Centre float64
	}
	if err := json.Unmarshal(raw, &golden); err != nil || len(golden) != 5 {
		t.Fatal(len(golden), err)
	}
	k, err := kernel.New(kernel.Portable, kernel.Sequential)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range golden {
		var s score
		s.collect(Even([]int32{want.Target}, 1))
		e := &Entropies{H: []float32{99}, Centre: []float32{99}, G: []float32{float32(want.E)}}
		s.want(e)
		logp := []float32{0}
		s.score(k, 0, want.Logits, logp)
		s.entropy(k, 0, want.Logits, e)
		if math.Abs(float64(e.H[0])-want.Entropy) > 2e-6*max(1, want.Entropy) ||
			math.Abs(float64(e.Centre[0])-want.Centre) > 2e-6 {
			t.Errorf("row %d: entropy %v, centre %v, want %v, %v", i, e.H[0], e.Centre[0], want.Entropy, want.Centre)
		}
		s.g[0] = float32(want.G)
		got := slices.Clone(want.Logits)
		s.gradient(k, 0, got)
		for j, v := range got {
			if math.Abs(float64(v-want.Gradient[j])) > 1e-6 {
				t.Errorf("row %d: gradient[%d] = %v, want %v", i, j, v, want.Gradient[j])
				break
			}
		}
		asked, plain := slices.Clone(want.Logits), slices.Clone(want.Logits)
		s.e[0] = 0
		s.gradient(k, 0, asked)
		s.want(nil)
		s.gradient(k, 0, plain)
		sameBits(t, "the gradient with an entropy of weight 0", asked, plain)
	}
}

// The gradient of the entropies is their difference quotient, down to the embedding: along the gradient the weighted
// sum of entropies rises by the gradient's norm.
func TestEntropyFiniteDifferences(t *testing.T) {
	r, k := newRunner(t, 2)
	m := newExact(t, k, false, 2)
	ids := m.tokens("row", 40)
	e := &Entropies{H: make([]float32, len(ids)), Centre: make([]float32, len(ids)), G: make([]float32, len(ids))}
	for i := range e.G {
		e.G[i] = float32(i%3) - 0.5
	}
	var seqs []Seq
	run := func(w *Weights, tape *Tape) (sum float64) {
		seqs = batch(m.c, nil, ids)
		r.ScoreEntropy(w, seqs, r.Forward(w, seqs, tape), Even(next(ids), 1), make([]float32, len(ids)), nil, tape, e)
		for i, h := range e.H[:len(ids)-1] {
			sum += float64(e.G[i]) * float64(h)
		}
		return sum
	}
	grads, tape := NewGrads(m.w.Tensors()), r.NewTape(false)
	run(m.w, tape)
	r.Backward(m.w, seqs, tape, grads)
	norm := 0.0
	for _, g := range grads.T {
		for _, v := range g.Data {
			norm += float64(v) * float64(v)
		}
	}
	norm = math.Sqrt(norm)
	const h = 1e-4
	moved := func(by float64) float64 {
		x := m.w.Tensors()
		for i, g := range grads.T {
			for j, v := range g.Data {
				x[i].Data[j] += float32(by * float64(v) / norm)
			}
		}
		w, err := NewWeights(m.c, x, alone(k))
		if err != nil {
			t.Fatal(err)
		}
		return run(w, nil)
	}
	if got := (moved(h) - moved(-h)) / (2 * h); math.Abs(got-norm) > 0.01*norm {
		t.Errorf("along the gradient the entropies rise by %v, its norm is %v", got, norm)
	}
}

// A row's entropy has the same bits alone and among others, on one thread or two.
func TestEntropyIsExact(t *testing.T) {
	r1, k := newRunner(t, 1)
	r2, _ := newRunner(t, 2)
	m := newExact(t, k, true, 1)
	one, two := m.tokens("one", 33), m.tokens("two", 7)
	run := func(r *Runner, tokens ...[]int32) []float32 {
		n := 0
		for _, ids := range tokens {
			n += len(ids)
		}
		e := &Entropies{H: make([]float32, n), Centre: make([]float32, n)}
		seqs := batch(m.c, m.adapters[1], tokens...)
		r.ScoreEntropy(m.w, seqs, r.Forward(m.w, seqs, nil), Even(next(tokens...), 1), make([]float32, n), nil, nil, e)
		return append(e.H, e.Centre...)
	}
	alone := run(r1, two)
	both := run(r2, one, two)
	sameBits(t, "entropies", both[33:39], alone[:6])
	sameBits(t, "centres", both[40+33:40+39], alone[7:13])
}
