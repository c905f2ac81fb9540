package model

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
)

// golden is a model folder of testdata with PyTorch's results for it: see testdata/goldens.py.
type golden struct {
	w       *Weights
	lora    LoRA
	tensors []Tensor // of the LoRA
	tokens  [][]int32
	weights [][]float32
	expect  map[string][]float32
}

var goldenModels = []string{"llama", "qwen2", "qwen3", "gemma3"}

func loadGolden(t *testing.T, k *kernel.Set, name string) golden {
	t.Helper()
	dir := filepath.Join("testdata", name)
	w, err := Load(dir, alone(k))
	if err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Open(filepath.Join(dir, "expected.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	g := golden{w: w, lora: LoRA{Rank: 4, Alpha: 8, Attn: true, MLP: true, Unembed: true},
		expect: map[string][]float32{}}
	for _, x := range f.Tensors() {
		data, err := x.Floats()
		if err != nil {
			t.Fatal(err)
		}
		g.expect[x.Name] = data
		if name, ok := strings.CutPrefix(x.Name, "lora."); ok {
			g.tensors = append(g.tensors, Tensor{name, x.Shape, data})
		}
	}
	for _, i := range []string{".0", ".1"} {
		var ids []int32
		for _, v := range g.expect["tokens"+i] {
			ids = append(ids, int32(v))
		}
		g.tokens = append(g.tokens, ids)
		g.weights = append(g.weights, append(g.expect["weights"+i], 0))
	}
	return g
}

// newPages returns zeroed pages for n positions.
func newPages(c Config, n int) []*nn.Page {
	pages := make([]*nn.Page, (n+kernel.PageLen-1)/kernel.PageLen)
	for i := range pages {
		pages[i] = &nn.Page{Data: make([]float32, c.Pages().Floats())}
	}
	return pages
}

// batch returns the sequences whole, with fresh pages.
func batch(c Config, a *Adapter, tokens ...[]int32) []Seq {
	var seqs []Seq
	for _, ids := range tokens {
		seqs = append(seqs, Seq{Tokens: ids, Pages: newPages(c, len(ids)), Adapter: a})
	}
	return seqs
}

// next returns the targets of rows: the next token of each sequence, none for the last.
func next(tokens ...[]int32) []int32 {
	var out []int32
	for _, ids := range tokens {
		out = append(append(out, ids[1:]...), -1)
	}
	return out
}

// step runs one forward and backward of loss = -sum(weight*logp) and returns logits, logp and loss.
func step(t *testing.T, r *Runner, w *Weights, seqs []Seq, weights [][]float32, tape *Tape,
	g *Grads) (logits, logp []float32, loss float64) {
	t.Helper()
	var tokens [][]int32
	var flat []float32
	for i, s := range seqs {
		tokens = append(tokens, s.Tokens)
		flat = append(flat, weights[i]...)
	}
	hidden := r.Forward(w, seqs, tape)
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	logits = make([]float32, len(flat)*w.Config.Vocab)
	rows := make([]int, len(flat))
	for i := range rows {
		rows[i] = i
	}
	r.Logits(w, seqs, hidden, rows, logits)
	logp = make([]float32, len(flat))
	r.Score(w, seqs, hidden, Even(next(tokens...), 1), logp,
		func(row int, logp, g []float32) { g[0] = -flat[row] }, tape)
	for i, v := range logp {
		loss -= float64(flat[i]) * float64(v)
	}
	r.Backward(w, seqs, tape, g)
	return logits, logp, loss
}

// near fails unless got is want within tol times the largest element of want.
func near(t *testing.T, what string, got, want []float32, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d values, want %d", what, len(got), len(want))
		return
	}
	scale, worst, at := 0.0, 0.0, 0
	for i := range want {
		scale = max(scale, math.Abs(float64(want[i])))
		if d := math.Abs(float64(got[i]) - float64(want[i])); !(d <= worst) {
			worst, at = d, i
		}
	}
	if !(worst <= tol*scale) {
		t.Errorf("%s: element %d is %v, want %v (off by %.2g of the largest, allowed %.2g)", what, at, got[at],
			want[at], worst/scale, tol)
	}
}

// Logits, log-probabilities and gradients equal those of transformers and PyTorch to float32's precision.
func TestPyTorch(t *testing.T) {
	r, k := newRunner(t, 2)
	for _, name := range goldenModels {
		g := loadGolden(t, k, name)
		adapter, err := g.w.NewAdapter(g.lora, g.tensors, k)
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			name, prefix string
			adapter      *Adapter
			trained      []Tensor
		}{{"full", "", nil, g.w.Tensors()}, {"lora", "lora_", adapter, g.tensors}} {
			t.Run(name+"/"+tt.name, func(t *testing.T) {
				seqs := batch(g.w.Config, tt.adapter, g.tokens...)
				grads := NewGrads(tt.trained)
				logits, logp, _ := step(t, r, g.w, seqs, g.weights, r.NewTape(false), grads)
				V, n := g.w.Config.Vocab, len(g.tokens[0])
				near(t, "logits.0", logits[:n*V], g.expect[tt.prefix+"logits.0"], 2e-5)
				near(t, "logits.1", logits[n*V:], g.expect[tt.prefix+"logits.1"], 2e-5)
				near(t, "logp.0", logp[:n-1], g.expect[tt.prefix+"logp.0"], 2e-5)
				near(t, "logp.1", logp[n:len(logp)-1], g.expect[tt.prefix+"logp.1"], 2e-5)
				for _, x := range grads.T {
					near(t, x.Name, x.Data, g.expect[tt.prefix+"grad."+x.Name], 1e-4)
				}
			})
		}
	}
}

// newRunner returns a runner on the best kernels with some workers.
func newRunner(t testing.TB, workers int) (*Runner, *kernel.Set) {
	k, err := kernel.Best(kernel.Native())
	if k == nil {
		t.Fatal(err)
	}
	return runnerOn(t, k, workers), k
}

// alone computes on the caller's thread.
func alone(k *kernel.Set) nn.Compute { return nn.Compute{K: k, P: kernel.NewPool(1)} }

func runnerOn(t testing.TB, k *kernel.Set, workers int) *Runner {
	p := kernel.NewPool(workers)
	t.Cleanup(p.Close)
	return NewRunner(nn.Compute{K: k, P: p})
}
