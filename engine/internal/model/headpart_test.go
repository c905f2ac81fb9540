package model

import (
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// While another runner waits, the head of a large vocabulary yields after each block of rows; else far more rows share
// one walk over its weights. The bits are the same.
func TestHeadPartsByWhoWaits(t *testing.T) {
	c := Config{Arch: architectures[2], Vocab: 8192, Dim: 32, Layers: 1, Heads: 2, KVHeads: 1, HeadDim: 16, FF: 32,
		Eps: 1e-6, RoPE: nn.RoPEConfig{Dim: 16, Theta: 1000}, Tied: true, BF16: true}
	r, k := newRunner(t, 2)
	w, err := NewWeights(c, RandomTensors(c, 1), alone(k))
	if err != nil {
		t.Fatal(err)
	}
	l := LoRA{Rank: 4, Alpha: 4, Attn: true, MLP: true, Unembed: true}
	lora := w.NewLoRA(l, 1)
	adapter, err := w.NewAdapter(l, lora, k)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]int32, 500)
	for i := range ids {
		ids[i] = int32(i * 7919 % c.Vocab)
	}
	pass := func(waits func() bool) (logp []float32, grads *Grads, calls int) {
		r.Between, r.Waits = func() error { calls++; return nil }, waits
		seqs, tape := batch(c, adapter, ids), r.NewTape(false)
		logp, grads = make([]float32, len(ids)), NewGrads(lora)
		hidden := r.Forward(w, seqs, tape)
		r.Score(w, seqs, hidden, Even(next(ids), 1), logp, func(_ int, _, g []float32) { g[0] = -1 }, tape)
		r.Backward(w, seqs, tape, grads)
		if r.Err() != nil {
			t.Fatal(r.Err())
		}
		return logp, grads, calls
	}
	want, gradient, few := pass(func() bool { return false })
	asked := 0
	for name, waits := range map[string]func() bool{
		"always":   func() bool { return true },
		"at times": func() bool { asked++; return asked%3 == 0 },
	} {
		logp, grads, calls := pass(waits)
		if calls <= few {
			t.Errorf("others wait %s: %d pauses, and %d when nobody waits", name, calls, few)
		}
		if !equalBits(logp, want) {
			t.Errorf("others wait %s: other log-probabilities", name)
		}
		for i, x := range gradient.T {
			if !equalBits(grads.T[i].Data, x.Data) {
				t.Errorf("others wait %s: another gradient of %s", name, x.Name)
			}
		}
	}
	if _, _, calls := pass(nil); calls != few {
		t.Errorf("without Waits: %d pauses, want %d", calls, few)
	}
}
