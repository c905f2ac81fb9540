package model

import (
	"runtime"
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// shipped is the shape of the model in examples/tiny.
func shipped(bf16 bool) Config {
	return Config{Arch: architectures[2], Vocab: 1024, Dim: 128, Layers: 4, Heads: 4, KVHeads: 2, HeadDim: 32, FF: 384,
		Eps:  1e-6,
		RoPE: nn.RoPEConfig{Dim: 32, Theta: 10000}, Tied: true, BF16: bf16}
}

// TestBackwardBytes: the heap of a step is TapeBytes plus BackwardBytes, except for the quarter by which buffers grow
// and the workers' own memory. One vocabulary is small, the other so large that the head computes some rows at a time.
func TestBackwardBytes(t *testing.T) {
	conv := slices.IndexFunc(architectures, func(a Arch) bool { return a.Conv })
	experts := slices.IndexFunc(architectures, func(a Arch) bool { return a.Experts })
	for _, of := range []struct{ arch, vocab int }{{2, 512}, {2, 1 << 18}, {conv, 512}, {experts, 512}} {
		c := shipped(true)
		if c.Dim, c.Vocab, c.Arch = 32, of.vocab, architectures[of.arch]; c.Arch.Conv {
			c.Linear, c.Conv = []bool{true, true, false, true}, nn.ShortConv{Dim: 32, Taps: 3}
		}
		if c.Arch.Experts {
			c.Sparse, c.ExpertFF = []bool{true, true, true, true}, 192
			c.Experts = nn.Router{Experts: 4, Used: 2, Normed: true}
		}
		r, k := newRunner(t, 2)
		w, err := NewWeights(c, RandomTensors(c, 1), alone(k))
		if err != nil {
			t.Fatal(err)
		}
		l := LoRA{Rank: 8, Alpha: 8, Attn: true, MLP: true, Unembed: true}
		tensors := w.NewLoRA(l, 1)
		a, err := w.NewAdapter(l, tensors, k)
		if err != nil {
			t.Fatal(err)
		}
		const n, rows = 2, 2 * 128
		grads, ids := NewGrads(tensors), make([]int32, rows/n)
		seqs, targets, logp := batch(c, a, ids, ids), next(ids, ids), make([]float32, rows)
		before := heap()
		tape := r.NewTape(false)
		hidden := r.Forward(w, seqs, tape)
		r.Score(w, seqs, hidden, Even(targets, 1), logp, func(_ int, _, g []float32) { g[0] = -1 }, tape)
		r.Backward(w, seqs, tape, grads)
		took := float64(heap() - before)
		runtime.KeepAlive([]any{r, w, tape, grads, seqs, targets, logp})
		said := float64(c.TapeBytes(rows, 8, false) + c.BackwardBytes(rows, 8))
		t.Logf("%s, vocabulary of %d: %.2f MB of %.2f", c.Arch.Type, of.vocab, took/1e6, said/1e6)
		const own = 1e6 // two workers' transposed weights and the sums of such products
		if took < said && k.PacksInput() || took > 1.5*said+own {
			t.Errorf("%s, vocabulary of %d: %.2f MB are estimated, %.2f taken", c.Arch.Type, of.vocab, said/1e6,
				took/1e6)
		}
	}
}

// heap is the bytes in use after a collection.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
