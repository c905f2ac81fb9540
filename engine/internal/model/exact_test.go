package model

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// exact is a model of odd sizes, in bf16 or float32, with three adapters of different rank and reach.
type exact struct {
	c        Config
	w        *Weights
	loras    []LoRA
	tensors  [][]Tensor
	adapters []*Adapter // the first is nil: the base model
}

func newExact(t *testing.T, k *kernel.Set, bf16 bool, arch int) exact {
	t.Helper()
	return newExactAs(t, k, Config{BF16: bf16}, arch)
}

// newExactAs is newExact with the dtypes of like.
func newExactAs(t *testing.T, k *kernel.Set, like Config, arch int) exact {
	t.Helper()
	m := exact{c: Config{Arch: architectures[arch], Vocab: 101, Dim: 40, Layers: 2, Heads: 6, KVHeads: 2, HeadDim: 20,
		FF: 70, Eps: 1e-6,
		RoPE: nn.RoPEConfig{Dim: 20, Theta: 1000}, Tied: arch == 2, BF16: like.BF16, Frozen: like.Frozen}}
	if m.c.Arch.Gemma {
		m.c.Sliding, m.c.Window, m.c.QueryScalar = []bool{true, false}, 9, 30
		m.c.LocalRoPE = nn.RoPEConfig{Dim: 20, Theta: 100}
	}
	if m.c.Arch.Delta {
		m.c.Layers, m.c.Linear, m.c.RoPE.Dim = 3, []bool{true, false, true}, 6
		m.c.Delta = nn.Delta{Keys: 2, Values: 4, KeyDim: 10, ValueDim: 12, Taps: 4, Eps: 1e-6}
	}
	if m.c.Arch.Conv {
		m.c.Layers, m.c.Linear = 3, []bool{true, false, true}
		m.c.Conv = nn.ShortConv{Dim: 40, Taps: 3}
	}
	ownWays(&m.c)
	full := RandomTensors(m.c, 3)
	for _, x := range full {
		r := stream(4, x.Name)
		for i := range x.Data {
			if x.Data[i] *= 5; (m.c.Arch.Gemma || m.c.Arch.Delta ||
				m.c.Arch.Bias && !strings.HasSuffix(x.Name, "norm.weight")) && len(x.Shape) == 1 {
				x.Data[i] = float32(r.NormFloat64() * 0.3) // a norm, a bias or a sink
			}
		}
	}
	var err error
	if m.w, err = NewWeights(m.c, full, alone(k)); err != nil {
		t.Fatal(err)
	}
	m.adapters = []*Adapter{nil}
	for i, l := range []LoRA{{Rank: 4, Alpha: 8, Attn: true, MLP: true, Unembed: true}, {Rank: 9, Alpha: 3, MLP: true},
		{Rank: 1, Alpha: 1, Attn: true}} {
		tensors := m.w.NewLoRA(l, uint64(i))
		for _, x := range tensors {
			r := stream(uint64(i), "exact "+x.Name)
			for j := range x.Data {
				x.Data[j] += float32(r.NormFloat64() * 0.1)
			}
		}
		a, err := m.w.NewAdapter(l, tensors, k)
		if err != nil {
			t.Fatal(err)
		}
		m.loras, m.tensors, m.adapters = append(m.loras, l), append(m.tensors, tensors), append(m.adapters, a)
	}
	return m
}

// ownWays gives a model what its family alone has.
func ownWays(c *Config) {
	switch c.Arch.Type {
	case "smollm3":
		c.Unrotated = []bool{false, true}
	case "granite", "granitemoehybrid":
		c.EmbedScale, c.ResidualScale, c.LogitScale, c.QueryScalar = 1.5, 0.4, 0.3, 100
	case "phi3":
		c.RoPE.Dim, c.RoPE.Scale, c.RoPE.Divide = 6, 1.25, []float32{1, 1.2, 2}
		c.Sliding, c.Window = []bool{true, true}, 11
	case "qwen3_moe": // one layer with experts and one without
		c.Sparse, c.ExpertFF = []bool{true, false}, 34
		c.Experts = nn.Router{Experts: 5, Used: 2, Normed: true}
	case "gpt_oss":
		c.Sparse, c.ExpertFF, c.Sliding, c.Window = []bool{true, true}, 34, []bool{true, false}, 9
		c.Experts, c.Clamp = nn.Router{Experts: 5, Used: 2, Normed: true}, nn.Clamp{Alpha: 1.702, Limit: 0.2}
		c.RoPE.YaRN, c.RoPE.Scale = &nn.YaRNScaling{Factor: 4, Fast: 3, Slow: 1, OriginalMax: 16}, 1.25
	case "ministral":
		c.Sliding, c.Window = []bool{true, false}, 9
	case "ministral3":
		c.RoPE.YaRN = &nn.YaRNScaling{Factor: 4, Fast: 3, Slow: 1, OriginalMax: 16, Whole: true}
		c.RoPE.Scale, c.Warm, c.WarmFrom = 1.25, 0.2, 16
	}
}

// tokens returns n token ids that are a function of name.
func (m exact) tokens(name string, n int) []int32 {
	r := stream(9, name)
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(r.IntN(m.c.Vocab))
	}
	return out
}

// memory is that of a sequence without positions, nil if the family has none.
func (m exact) memory() *nn.Memory {
	if !m.c.Arch.Delta {
		return nil
	}
	return m.c.Memory().New()
}

// logits runs seqs and returns all their logits.
func (m exact) logits(t *testing.T, r *Runner, seqs []Seq, tape *Tape) []float32 {
	t.Helper()
	hidden := r.Forward(m.w, seqs, tape)
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	rows := make([]int, len(hidden)/m.c.Dim)
	for i := range rows {
		rows[i] = i
	}
	out := make([]float32, len(rows)*m.c.Vocab)
	r.Logits(m.w, seqs, hidden, rows, out)
	return out
}

// sameBits fails unless got and want are the same float32s, bit for bit.
func sameBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	differ, first := 0, 0
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			if differ == 0 {
				first = i
			}
			differ++
		}
	}
	if differ > 0 {
		t.Errorf("%s: %d of %d values differ, the first at %d: %v, want %v", what, differ, len(want), first, got[first],
			want[first])
	}
}

// eachPath runs f with every set of fast kernels that this processor has, or with the portable ones if there is no
// other.
func eachPath(t *testing.T, f func(t *testing.T, r *Runner, k *kernel.Set)) {
	for _, order := range []kernel.Order{kernel.Sequential, kernel.Blocked} {
		for _, k := range setsOf(order) {
			if k.Path() > kernel.Portable || kernel.Detect() == kernel.Portable {
				t.Run(fmt.Sprintf("%v/%v", order, k.Path()), func(t *testing.T) { f(t, runnerOn(t, k, 2), k) })
			}
		}
	}
}

// exactOnEachPath runs f for every family on the best path of the native order, and for diverse ones on all paths of
// both orders.
func exactOnEachPath(t *testing.T, f func(t *testing.T, r *Runner, k *kernel.Set, m exact)) {
	eachPath(t, func(t *testing.T, r *Runner, k *kernel.Set) {
		best, err := kernel.Best(k.Order())
		if err != nil {
			t.Error(err)
		}
		all := k.Path() == best.Path() && k.Order() == kernel.Native()
		some := func(a Arch) bool { return all || diverse(a) }
		eachExact(t, k, some, func(t *testing.T, m exact) { f(t, r, k, m) })
	})
}

// every is all families.
func every(Arch) bool { return true }

// diverse reports whether a family is one of the two that call the most kernels between them. These are tested on all
// paths, in all dtypes and in both orders. The others are tested where they could differ: a family's own code does not
// know the path, the dtype of matrices or the order.
func diverse(a Arch) bool { return a.Gemma || a.Delta }

// dtypes are the kinds of weights of a family. Int4 differs from Int8 only in how it is stored, so one family has it,
// and the one with experts, whose frozen matrices are not its layers' linears.
func dtypes(arch int) []Config {
	list := []Config{{}, {BF16: true}, {BF16: true, Frozen: Int8}}
	if arch == 0 || architectures[arch].Experts {
		list = append(list, Config{BF16: true, Frozen: Int4})
	}
	return list
}

// dtype names the kind of a configuration.
func dtype(c Config) string {
	if c.Frozen != "" {
		return c.Frozen
	}
	return fmt.Sprintf("bf16=%t", c.BF16)
}

// eachExact runs f for those families in every dtype: int8 in diverse ones and with experts.
func eachExact(t *testing.T, k *kernel.Set, which func(Arch) bool, f func(t *testing.T, m exact)) {
	for arch, a := range architectures {
		for _, c := range dtypes(arch) {
			if !which(a) || c.Frozen == Int8 && !diverse(a) && !a.Experts {
				continue
			}
			t.Run(a.Name+"/"+dtype(c), func(t *testing.T) { f(t, newExactAs(t, k, c, arch)) })
		}
	}
}

// A sequence has the same bits alone and at any place of a batch with other lengths and adapters.
func TestBatchInvariance(t *testing.T) {
	exactOnEachPath(t, func(t *testing.T, r *Runner, k *kernel.Set, m exact) {
		var all []Seq
		want, ids := map[*Adapter][]float32{}, m.tokens("row", 45)
		for i, a := range m.adapters {
			want[a] = m.logits(t, r, batch(m.c, a, ids), nil)
			all = append(all, batch(m.c, m.adapters[(i*3+1)%4], m.tokens(fmt.Sprint("other", i), 3+37*i))...)
			all = append(all, batch(m.c, a, ids)...)
		}
		for _, first := range []int{0, 3, 6} {
			seqs, at := slices.Concat(all[first:], all[:first]), 0
			got := m.logits(t, r, seqs, nil)
			for i, s := range seqs {
				if rows := got[at*m.c.Vocab:][:len(s.Tokens)*m.c.Vocab]; slices.Equal(s.Tokens, ids) {
					sameBits(t, fmt.Sprintf("place %d of those from %d on", i, first), rows, want[s.Adapter])
				}
				at += len(s.Tokens)
			}
		}
	})
}

// A prompt has the same bits whole, token by token and in any chunks, also while other sequences decode beside it.
func TestPrefillIsDecode(t *testing.T) {
	const length = kernel.PageLen + 8
	exactOnEachPath(t, func(t *testing.T, r *Runner, k *kernel.Set, m exact) {
		var prompts [][]int32
		var want [][]float32
		for i, a := range m.adapters {
			prompts = append(prompts, m.tokens(fmt.Sprint("prompt", i), length))
			want = append(want, m.logits(t, r, batch(m.c, a, prompts[i]), nil))
		}
		for _, chunk := range []int{1, 7, 31, 32, 33} {
			var seqs []Seq
			for i, a := range m.adapters {
				seqs = append(seqs, batch(m.c, a, prompts[i])...)
				seqs[i].Memory = m.memory()
			}
			got := make([][]float32, len(seqs))
			for pos := 0; pos < length; pos += chunk {
				for i := range seqs {
					seqs[i].Tokens, seqs[i].Pos = prompts[i][pos:min(pos+chunk, length)], pos
				}
				out := m.logits(t, r, seqs, nil)
				for i, n := 0, len(out)/len(seqs); i < len(seqs); i++ {
					got[i] = append(got[i], out[i*n:(i+1)*n]...)
				}
			}
			for i := range seqs {
				sameBits(t, fmt.Sprintf("adapter %d in chunks of %d", i, chunk), got[i], want[i])
			}
		}
	})
}

// Sequences that share the pages of a common prefix have the bits they have alone.
func TestSharedPrefix(t *testing.T) {
	exactOnEachPath(t, func(t *testing.T, r *Runner, k *kernel.Set, m exact) {
		prefix := m.tokens("prefix", 64)
		first := batch(m.c, m.adapters[1], prefix)[0]
		first.Memory = m.memory()
		m.logits(t, r, []Seq{first}, nil)
		var seqs []Seq
		var want []float32
		for i := range 5 {
			ids := m.tokens(fmt.Sprint("branch", i), 1+9*i)
			pages := append(slices.Clone(first.Pages), newPages(m.c, len(ids))...)
			memory := m.memory()
			if memory != nil {
				memory.Copy(first.Memory)
			}
			seqs = append(seqs, Seq{Tokens: ids, Pos: 64, Pages: pages, Memory: memory, Adapter: m.adapters[1]})
			whole := m.logits(t, r, batch(m.c, m.adapters[1], slices.Concat(prefix, ids)), nil)
			want = append(want, whole[64*m.c.Vocab:]...)
		}
		sameBits(t, "branches", m.logits(t, r, seqs, nil), want)
	})
}

// An adapter whose B is zero gives the base model's bits.
func TestZeroLoRA(t *testing.T) {
	exactOnEachPath(t, func(t *testing.T, r *Runner, k *kernel.Set, m exact) {
		l := LoRA{Rank: 8, Alpha: 16, Attn: true, MLP: true, Unembed: true}
		a, err := m.w.NewAdapter(l, m.w.NewLoRA(l, 5), k)
		if err != nil {
			t.Fatal(err)
		}
		ids := m.tokens("row", 33)
		sameBits(t, "logits", m.logits(t, r, batch(m.c, a, ids), nil), m.logits(t, r, batch(m.c, nil, ids), nil))
	})
}

// training is the results of one training step.
type training struct {
	logits, logp []float32
	grads        [][]float32
}

// train runs forward, score and backward of m over sequences that are cut into calls of the given sizes.
func (m exact) train(t *testing.T, r *Runner, adapter int, recompute bool, calls ...int) training {
	t.Helper()
	tensors := m.w.Tensors()
	if adapter > 0 {
		tensors = m.tensors[adapter-1]
	}
	g, tape := NewGrads(tensors), r.NewTape(recompute)
	var out training
	at := 0
	for _, n := range calls {
		var tokens [][]int32
		var weights [][]float32
		for range n {
			ids := m.tokens(fmt.Sprint("train", at), 5+at*23%61)
			w := make([]float32, len(ids))
			for i := range w {
				w[i] = float32(i%3) - 0.7
			}
			tokens, weights = append(tokens, ids), append(weights, w)
			at++
		}
		logits, logp, _ := step(t, r, m.w, batch(m.c, m.adapters[adapter], tokens...), weights, tape, g)
		out.logits, out.logp = append(out.logits, logits...), append(out.logp, logp...)
	}
	for _, x := range g.T {
		out.grads = append(out.grads, slices.Clone(x.Data))
	}
	return out
}

func (a training) same(t *testing.T, what string, want training) {
	t.Helper()
	sameBits(t, what+": logits", a.logits, want.logits)
	sameBits(t, what+": logp", a.logp, want.logp)
	for i := range want.grads {
		sameBits(t, fmt.Sprintf("%s: gradient %d", what, i), a.grads[i], want.grads[i])
	}
}

// A training step has the same bits with one worker and two, recomputing or not, and however its sequences are cut into
// calls. TestGoldenBits compares the paths.
func TestTrainingIsExact(t *testing.T) {
	for _, order := range []kernel.Order{kernel.Sequential, kernel.Blocked} {
		t.Run(order.String(), func(t *testing.T) {
			k, err := kernel.Best(order)
			if err != nil {
				t.Error(err)
			}
			if len(setsOf(order)) == 0 {
				t.Skip("the goroutines are those of the other order")
			}
			trainingIsExact(t, k)
		})
	}
}

// setsOf returns the kernels of an order on every path of this processor.
func setsOf(order kernel.Order) []*kernel.Set {
	var sets []*kernel.Set
	for p := lowestPath(); p <= kernel.Detect() && !(testing.Short() && order != kernel.Native()); p++ {
		if k, err := kernel.New(p, order); err == nil {
			sets = append(sets, k)
		}
	}
	return sets
}

// lowestPath is the first path to test. Under -short, which is for the race detector, it is the best one: the
// goroutines are the same on all of them, and in either order.
func lowestPath() kernel.Path {
	if testing.Short() {
		return kernel.Detect()
	}
	return kernel.Portable
}

func trainingIsExact(t *testing.T, k *kernel.Set) {
	one, two := runnerOn(t, k, 1), runnerOn(t, k, 2)
	some := func(a Arch) bool { return k.Order() == kernel.Native() || diverse(a) }
	eachExact(t, k, some, func(t *testing.T, m exact) {
		for adapter := range 2 {
			want := m.train(t, one, adapter, false, 7)
			m.train(t, two, adapter, false, 1, 4, 1, 1).same(t, "two workers, in four calls", want)
			m.train(t, two, adapter, true, 7).same(t, "two workers, recompute", want)
		}
	})
}

// The log-probabilities of training are those a sampler computes from logits, and a tape changes no bit.
func TestScoreIsLogits(t *testing.T) {
	exactOnEachPath(t, func(t *testing.T, r *Runner, k *kernel.Set, m exact) {
		for _, a := range m.adapters {
			ids := m.tokens("row", 50)
			want := m.logits(t, r, batch(m.c, a, ids), nil)
			sameBits(t, "logits with a tape", m.logits(t, r, batch(m.c, a, ids), r.NewTape(false)), want)
			const K = 3
			targets := m.tokens("targets", len(ids)*K)
			for i := range targets {
				if i%5 == 0 || i/K%7 == 0 {
					targets[i] = -1
				}
			}
			seqs := batch(m.c, a, ids)
			hidden := r.Forward(m.w, seqs, nil)
			got, wantLogp := make([]float32, len(targets)), make([]float32, len(targets))
			for i, target := range targets {
				if row := want[i/K*m.c.Vocab:][:m.c.Vocab]; target >= 0 {
					wantLogp[i] = row[target] - k.LogSumExp(row)
				}
			}
			r.Score(m.w, seqs, hidden, Even(targets, K), got, nil, nil)
			sameBits(t, "logp", got, wantLogp)
		}
	})
}
