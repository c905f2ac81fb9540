package model

import (
	"math"
	"regexp"
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/forest"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
	"pgregory.net/rapid"
)

// taught is a sequence whose tokens after the first have weights in the loss -sum(w*logp).
type taught struct {
	tokens  []int32
	weights []float32 // of the row that predicts the next token; the last is 0
}

// drawTaught draws sequences with common beginnings, some of which have no weight at their end or at all.
func (m exact) drawTaught(t *rapid.T) []taught {
	var list []taught
	for range rapid.IntRange(1, 7).Draw(t, "sequences") {
		var s taught
		if len(list) > 0 && rapid.IntRange(0, 3).Draw(t, "new") > 0 {
			from := rapid.SampledFrom(list).Draw(t, "from").tokens
			s.tokens = slices.Clone(from[:rapid.IntRange(0, len(from)).Draw(t, "common")])
		}
		s.tokens = append(s.tokens, rapid.SliceOfN(rapid.Int32Range(0, int32(m.c.Vocab-1)), 2, 70).Draw(t, "tokens")...)
		s.weights = make([]float32, len(s.tokens))
		for i := range rapid.IntRange(0, len(s.tokens)-1).Draw(t, "weighted") {
			s.weights[i] = float32((i*7+len(s.tokens))%5) - 2
		}
		list = append(list, s)
	}
	return list
}

// teach trains an adapter, or all weights if it is 0, on the forest of sequences, and returns the log-probabilities of
// each one's next tokens and the gradient.
func (m exact) teach(t rapid.TB, r *Runner, tape *Tape, adapter int, list []taught, most int) (logp [][]float32,
	g *Grads) {
	tensors := m.w.Tensors()
	if adapter > 0 {
		tensors = m.tensors[adapter-1]
	}
	g = NewGrads(tensors)
	var tokens [][]int32
	for _, s := range list {
		tokens = append(tokens, s.tokens)
	}
	f := forest.Of(tokens, most)
	allocated := 0
	seqs := Trees(nil, f, m.adapters[adapter], func(n int) (pages []*nn.Page) {
		for range n {
			pages = append(pages, &nn.Page{Data: make([]float32, m.c.Pages().Floats())})
		}
		allocated += n
		return pages
	})
	if allocated != TreePages(f) {
		t.Fatalf("%d pages, TreePages says %d", allocated, TreePages(f))
	}
	targets, weights := targetsOf(f, list)
	scores := make([]float32, len(targets.Tokens))
	hidden := r.Forward(m.w, seqs, tape)
	r.Score(m.w, seqs, hidden, targets, scores, func(row int, _, g []float32) {
		for i := range g {
			g[i] = -weights[targets.First[row]+i]
		}
	}, tape)
	r.Backward(m.w, seqs, tape, g)
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	used := make([]int, f.Rows)
	logp = make([][]float32, len(list))
	for i, s := range f.Sequences {
		f.Each(i, func(row, from, to int) {
			for ; from < to; from, row = from+1, row+1 {
				logp[s.Index] = append(logp[s.Index], scores[targets.First[row]+used[row]])
				used[row]++
			}
		})
	}
	return logp, g
}

// targetsOf returns the next tokens of each row, one for each sequence that passes, and their weights.
func targetsOf(f *forest.Forest, list []taught) (t Targets, weights []float32) {
	rows, w := make([][]int32, f.Rows), make([][]float32, f.Rows)
	for i := range f.Sequences {
		s := list[f.Sequences[i].Index]
		f.Each(i, func(row, from, to int) {
			for ; from < to; from, row = from+1, row+1 {
				next := int32(-1)
				if from+1 < len(s.tokens) {
					next = s.tokens[from+1]
				}
				rows[row], w[row] = append(rows[row], next), append(w[row], s.weights[from])
			}
		})
	}
	for i := range rows {
		t.First = append(t.First, len(t.Tokens))
		t.Tokens, weights = append(t.Tokens, rows[i]...), append(weights, w[i]...)
	}
	t.First = append(t.First, len(t.Tokens))
	return t, weights
}

// Sequences that share their common beginnings have the log-probabilities that they have apart, bit for bit, and a
// gradient as close as rounding allows. Recomputation changes no bit.
func TestTrees(t *testing.T) {
	const everything = 1 << 20
	eachTaught(t, func(t *rapid.T, m exact, r *Runner) {
		list, adapter := m.drawTaught(t), rapid.IntRange(0, 3).Draw(t, "adapter")
		want, apart := m.teach(t, r, r.NewTape(false), adapter, list, 0)
		got, shared := m.teach(t, r, r.NewTape(false), adapter, list, everything)
		for i := range want {
			if !equalBits(got[i], want[i]) {
				t.Fatalf("sequence %d has other log-probabilities in the tree", i)
			}
		}
		_, again := m.teach(t, r, r.NewTape(true), adapter, list, everything)
		tolerance := 3e-5
		if m.c.BF16 { // where weights of both signs cancel, the rounding of rows remains: 0.061 was drawn
			tolerance = 0.2
		}
		sums := ofAllExperts(shared.T)
		for i, x := range ofAllExperts(apart.T) {
			if d := distance(sums[i].Data, x.Data); d > tolerance {
				t.Fatalf("the gradient of %s differs by %v of its norm", x.Name, d)
			}
		}
		for i, x := range apart.T {
			if !equalBits(again.T[i].Data, shared.T[i].Data) {
				t.Fatalf("recomputed, the gradient of %s has other bits", x.Name)
			}
		}
	})
}

// ofAllExperts joins the gradients of a layer's experts: that of one may come from a single row, whose rounding no
// other row evens out.
func ofAllExperts(list []Tensor) (joined []Tensor) {
	number, at := regexp.MustCompile(`\.experts\.\d+\.`), map[string]int{}
	for _, x := range list {
		name := number.ReplaceAllString(x.Name, ".experts.")
		if i, ok := at[name]; ok {
			joined[i].Data = slices.Concat(joined[i].Data, x.Data)
			continue
		}
		at[name] = len(joined)
		joined = append(joined, Tensor{Name: name, Data: x.Data})
	}
	return joined
}

// Rows that teach nothing do not change a bit of the gradient: it is that of the sequences without them.
func TestRowsWithoutSignal(t *testing.T) {
	eachTaught(t, func(t *rapid.T, m exact, r *Runner) {
		list, adapter := m.drawTaught(t), rapid.IntRange(0, 3).Draw(t, "adapter")
		var short []taught
		for _, s := range list {
			n := len(s.tokens)
			for n > 0 && s.weights[n-1] == 0 {
				n--
			}
			if n > 0 { // and the token that the last of them predicts
				short = append(short, taught{s.tokens[:n+1], s.weights[:n+1]})
			}
		}
		recompute := rapid.Bool().Draw(t, "recompute")
		r.most = rapid.SampledFrom([]int{0, 64}).Draw(t, "rows of logits at once")
		_, got := m.teach(t, r, r.NewTape(recompute), adapter, list, 0)
		r.most = 0
		want := NewGrads(got.T)
		if len(short) > 0 {
			_, want = m.teach(t, r, r.NewTape(false), adapter, short, 0)
		}
		for i, x := range want.T {
			if !equalBits(got.T[i].Data, x.Data) {
				t.Fatalf("the gradient of %s has other bits", x.Name)
			}
		}
	})
}

// eachTaught draws models of every family in both dtypes, on the best path of each order.
func eachTaught(t *testing.T, f func(t *rapid.T, m exact, r *Runner)) {
	for _, order := range []kernel.Order{kernel.Sequential, kernel.Blocked} {
		k, err := kernel.Best(order)
		if err != nil {
			t.Fatal(err)
		}
		r := runnerOn(t, k, 2)
		var models []exact
		for arch := range architectures {
			for _, c := range dtypes(arch) {
				models = append(models, newExactAs(t, k, c, arch))
			}
		}
		t.Run(order.String(), rapid.MakeCheck(func(t *rapid.T) {
			f(t, models[rapid.IntRange(0, len(models)-1).Draw(t, "model")], r)
		}))
	}
}

// distance is the norm of a-b over that of b.
func distance(a, b []float32) float64 {
	d, n := 0.0, 1e-12
	for i := range a {
		d += math.Pow(float64(a[i])-float64(b[i]), 2)
		n += math.Pow(float64(b[i]), 2)
	}
	return math.Sqrt(d / n)
}
