package model

import (
	"math"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
)

// The gradient of the logits is that of sum(g*logp), several targets a row, by central differences in float64: the
// bound is float32's precision.
func TestScoreGradient(t *testing.T) {
	k, err := kernel.New(kernel.Portable, kernel.Sequential)
	if err != nil {
		t.Fatal(err)
	}
	const V, K = 11, 4
	targets := []int32{3, -1, 7, 3}
	g := []float32{0.5, 9, -1.25, 2}
	logits, r := make([]float32, V), stream(1, "logits")
	for i := range logits {
		logits[i] = float32(2 * r.NormFloat64())
	}
	loss := func(i int, h float64) (sum float64) {
		x, total := make([]float64, V), 0.0
		for j, v := range logits {
			x[j] = float64(v)
		}
		x[i] += h
		for _, v := range x {
			total += math.Exp(v)
		}
		for j, target := range targets {
			if target >= 0 {
				sum += float64(g[j]) * (x[target] - math.Log(total))
			}
		}
		return sum
	}
	var s score
	s.collect(Even(targets, K))
	logp := make([]float32, K)
	s.score(k, 0, logits, logp)
	copy(s.g, g)
	got := append([]float32(nil), logits...)
	s.gradient(k, 0, got)
	for i, v := range got {
		want := (loss(i, 1e-4) - loss(i, -1e-4)) / 2e-4
		if math.Abs(float64(v)-want) > 1e-6 {
			t.Errorf("dlogits[%d] = %v, want %v", i, v, want)
		}
	}
	if logp[1] != 0 || logp[0] != logp[3] || !(logp[0] < 0) {
		t.Errorf("logp %v: want 0 for no target and the same for the same", logp)
	}
}

// The accumulators are a snapshot of unfinished gradients: after they are restored, the rest of the batch gives the
// same bits.
func TestGradsSnapshot(t *testing.T) {
	r, k := newRunner(t, 2)
	m := newExact(t, k, false, 2) // tied
	ids, more := m.tokens("one", 20), m.tokens("two", 30)
	run := func(g *Grads, ids []int32) {
		w := make([]float32, len(ids))
		for i := range w {
			w[i] = 1 - float32(i%4)
		}
		step(t, r, m.w, batch(m.c, nil, ids), [][]float32{w}, r.NewTape(false), g)
	}
	whole := NewGrads(m.w.Tensors())
	run(whole, ids)
	restored := NewGrads(m.w.Tensors())
	for i, a := range restored.Accumulators() {
		copy(a, whole.Accumulators()[i])
	}
	run(whole, more)
	run(restored, more)
	for i, a := range whole.Accumulators() {
		sameBits(t, "accumulator", restored.Accumulators()[i], a)
	}
	whole.Zero()
	fresh := NewGrads(m.w.Tensors())
	run(whole, more)
	run(fresh, more)
	for i, x := range fresh.T {
		sameBits(t, x.Name, whole.T[i].Data, x.Data)
	}
}

// TapeBytes is the actual memory of a tape.
func TestTapeBytes(t *testing.T) {
	r, k := newRunner(t, 1)
	m := newExact(t, k, false, 2)
	for _, recompute := range []bool{false, true} {
		tape, n := r.NewTape(recompute), 0
		r.Forward(m.w, batch(m.c, m.adapters[1], m.tokens("row", 33)), tape)
		for i := range tape.acts {
			n += len(tape.acts[i].inv1) + len(tape.acts[i].inv2)
			for _, col := range tape.acts[i].columns(m.c, 4, -1) {
				n += len(col.rows.Data)
			}
		}
		for _, x := range append(tape.x, tape.hidden) {
			n += len(x.Data)
		}
		if got, want := m.c.TapeBytes(33, 4, recompute), 4*(n+len(tape.invF)); got != want {
			t.Errorf("recompute=%v: %d bytes, the tape has %d", recompute, got, want)
		}
	}
}
