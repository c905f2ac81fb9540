package modelfile

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
)

// adapter is a LoRA of random numbers on all matrices of a model and its head.
func adapter(s Shape, rank int) Adapter {
	r := rand.New(rand.NewPCG(5, 6))
	a := Adapter{Name: "x", Shape: s, Rank: rank, Alpha: 12, Factors: map[string]Factor{}}
	for _, l := range a.targets() {
		f := Factor{A: make([]float32, rank*l.in), B: make([]float32, l.out*rank)}
		for _, x := range [][]float32{f.A, f.B} {
			for i := range x {
				x[i] = float32(r.NormFloat64())
			}
		}
		a.Factors[l.from] = f
	}
	return a
}

// The product of the file's factors is B·A, its rows in the order of the file's matrix; A is unchanged.
func TestAdapter(t *testing.T) {
	for _, name := range []string{"mistral", "qwen3", "gemma3"} {
		s := lookalikes()[name].shape
		a := adapter(s, 4)
		if s.Tied {
			delete(a.Factors, headName)
		}
		f, err := a.Plan()
		if err != nil {
			t.Fatal(err)
		}
		g := save(t, f)
		for key, want := range map[string]string{"general.architecture": s.arch(), "general.type": "adapter",
			"adapter.type": "lora"} {
			if got, _, err := g.Metadata.Text(key); got != want || err != nil {
				t.Errorf("%s is %q, want %q: %v", key, got, want, err)
			}
		}
		if alpha, _, err := g.Metadata.Float("adapter.lora.alpha"); alpha != 12 || err != nil {
			t.Errorf("alpha is %v: %v", alpha, err)
		}
		if len(g.Tensors) != 2*len(a.Factors) {
			t.Errorf("%d tensors for %d matrices", len(g.Tensors), len(a.Factors))
		}
		for _, l := range a.targets() {
			if f, on := a.Factors[l.from]; on {
				compareProduct(t, g, l, f, a.Rank)
			}
		}
	}
}

// compareProduct compares B·A of a matrix, whose rows are reordered as the matrix's are.
func compareProduct(t *testing.T, g *gguf.File, l linear, f Factor, rank int) {
	t.Helper()
	A, B := values(t, g, l.to+".weight.lora_a", int64(rank), int64(l.in)), values(t, g, l.to+".weight.lora_b",
		int64(l.out), int64(rank))
	if !slices.Equal(A, f.A) {
		t.Errorf("%s: A is another", l.to)
	}
	want := product(f.A, f.B, rank)
	if l.head > 0 {
		ordered := make([]float32, len(want))
		reorder(ordered, want, l.in, l.head)
		want = ordered
	}
	if !slices.Equal(product(A, B, rank), want) {
		t.Errorf("%s: the product is another", l.to)
	}
}

func product(A, B []float32, rank int) []float32 {
	in, out := len(A)/rank, len(B)/rank
	x := make([]float32, out*in)
	for n := range out {
		for i := range rank {
			for k := range in {
				x[n*in+k] += float32(B[n*rank+i] * A[i*in+k])
			}
		}
	}
	return x
}

func values(t *testing.T, g *gguf.File, name string, shape ...int64) []float32 {
	t.Helper()
	x, ok := g.Tensor(name)
	if !ok || !slices.Equal(x.Shape, shape) {
		t.Fatalf("%s is there: %v, with the shape %v, want %v", name, ok, x.Shape, shape)
	}
	to := make([]float32, x.Len())
	if err := g.Floats(x, to, 0); err != nil {
		t.Fatal(err)
	}
	return to
}

// An adapter at which llama.cpp would abort, or which it would ignore, is refused, with the matrix and the remedy.
func TestAdaptersRefused(t *testing.T) {
	for want, change := range map[string]func(*Adapter){
		"is on lm_head, and the model's head is its embedding": func(a *Adapter) { a.Shape.Tied = true },
		"is on model.embed_tokens, where llama.cpp takes none": func(a *Adapter) {
			a.Factors["model.embed_tokens"] = Factor{}
		},
		"is on no matrix":    func(a *Adapter) { clear(a.Factors) },
		"rank 5 on [64, 64]": func(a *Adapter) { a.Rank = 5 },
	} {
		a := adapter(lookalikes()["mistral"].shape, 4)
		change(&a)
		_, err := a.Plan()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
