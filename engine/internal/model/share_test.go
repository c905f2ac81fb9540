package model

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"pgregory.net/rapid"
)

// part is an adapter and its training data.
type part struct {
	adapter *Adapter
	tensors []Tensor
	seqs    [][]int32
	broken  bool
}

// parts draws adapters of random rank and reach with random sequences.
func (m exact) parts(t *rapid.T, k *kernel.Set) []part {
	var list []part
	for i := range rapid.IntRange(1, 6).Draw(t, "adapters") {
		l := LoRA{Rank: rapid.IntRange(1, 20).Draw(t, "rank"), Alpha: 4, Attn: rapid.Bool().Draw(t, "attn"),
			MLP: rapid.Bool().Draw(t, "mlp"), Unembed: rapid.Bool().Draw(t, "unembed")}
		l.MLP = l.MLP || !l.Attn && !l.Unembed
		p := part{tensors: m.w.NewLoRA(l, uint64(i))}
		p.broken = rapid.IntRange(0, 5).Draw(t, "broken") == 0
		for _, x := range p.tensors {
			r := stream(uint64(i), "part "+x.Name)
			for j := range x.Data {
				x.Data[j] += float32(r.NormFloat64() * 0.1)
			}
			if p.broken {
				x.Data[0] = float32(math.Inf(1))
			}
		}
		var err error
		if p.adapter, err = m.w.NewAdapter(l, p.tensors, k); err != nil {
			t.Fatal(err)
		}
		for j := range rapid.IntRange(1, 3).Draw(t, "sequences") {
			p.seqs = append(p.seqs, m.tokens(fmt.Sprint("part", i, j), rapid.IntRange(1, 90).Draw(t, "tokens")))
		}
		list = append(list, p)
	}
	return list
}

// pass trains parts together and returns each one's gradients; those that are not finite are left out, as the engine
// does.
func (m exact) pass(r *Runner, tape *Tape, parts []part) (grads []*Grads, logp []float32) {
	var seqs []Seq
	var targets []int32
	for _, p := range parts {
		grads = append(grads, NewGrads(p.tensors))
		seqs = append(seqs, batch(m.c, p.adapter, p.seqs...)...)
		for _, s := range p.seqs {
			targets = append(targets, s...)
		}
	}
	hidden := r.Forward(m.w, seqs, tape)
	i := 0
	for n, p := range parts {
		for range p.seqs {
			if r.SeqErr(i) != nil {
				grads[n] = nil
			}
			i++
		}
	}
	logp = make([]float32, len(targets))
	r.Score(m.w, seqs, hidden, Even(targets, 1), logp,
		func(row int, logp, g []float32) { g[0] = 0.3 - 0.7*logp[0] }, tape)
	r.Backward(m.w, seqs, tape, grads...)
	return grads, logp
}

// Adapters that are trained in one pass get the bits that they get alone, even if others fail.
func TestAdaptersShareAPass(t *testing.T) {
	r, k := newRunner(t, 2)
	var models []exact
	for arch := range architectures {
		for _, c := range dtypes(arch) {
			models = append(models, newExactAs(t, k, c, arch))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(models).Draw(t, "model")
		parts, tape := m.parts(t, k), r.NewTape(rapid.Bool().Draw(t, "recompute"))
		r.most = rapid.SampledFrom([]int{0, 64}).Draw(t, "rows of logits at once")
		together, logp := m.pass(r, tape, parts)
		r.most = 0
		for i, p := range parts {
			alone, want := m.pass(r, tape, []part{p})
			if (together[i] == nil) != (alone[0] == nil) || p.broken && p.adapter.LoRA.MLP && alone[0] != nil {
				t.Fatalf("adapter %d: trained together %v, alone %v", i, together[i] != nil, alone[0] != nil)
			}
			got := logp[:len(want)]
			logp = logp[len(want):]
			if alone[0] == nil || p.broken {
				continue
			}
			if !equalBits(got, want) {
				t.Fatalf("adapter %d: other log-probabilities", i)
			}
			for j, x := range alone[0].T {
				if !equalBits(together[i].T[j].Data, x.Data) {
					t.Fatalf("adapter %d: another gradient of %s", i, x.Name)
				}
			}
		}
	})
}

func equalBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// Another runner that computes between the layers changes no bit on either side; an error ends the call at once.
func TestBetweenLayers(t *testing.T) {
	r, k := newRunner(t, 2)
	other := NewRunner(r.Compute)
	eachExact(t, k, every, func(t *testing.T, m exact) {
		ids := m.tokens("beside", 40)
		want, sampled := m.train(t, r, 1, true, 3), m.logits(t, other, batch(m.c, m.adapters[2], ids), nil)
		calls := 0
		r.Between = func() error {
			calls++
			sameBits(t, "beside", m.logits(t, other, batch(m.c, m.adapters[2], ids), nil), sampled)
			return nil
		}
		defer func() { r.Between = nil }()
		m.train(t, r, 1, true, 3).same(t, "with company", want)
		// Forward, Score, the head's backward, and each layer forward and, recomputed, backward
		if least := m.c.Layers + 1 + 1 + 2*m.c.Layers; calls < least {
			t.Errorf("%d pauses, want at least %d", calls, least)
		}
		stop, left := errors.New("stop"), 2
		r.Between = func() error {
			if left--; left == 0 {
				return stop
			}
			return nil
		}
		if r.Forward(m.w, batch(m.c, nil, ids), nil); !errors.Is(r.Err(), stop) || left != 0 {
			t.Errorf("stopped: %v, %d pauses left", r.Err(), left)
		}
	})
}
