package model

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// folderGolden is a folder of testdata/families with the gradients of an adapter, by transformers.
type folderGolden struct {
	w      *Weights
	expect map[string][]float32
	lora   LoRA
	ids    []int32
}

func newFolderGolden(t *testing.T, k *kernel.Set, name string) folderGolden {
	t.Helper()
	dir := filepath.Join("testdata", "families", name)
	w, err := Load(dir, alone(k))
	if err != nil {
		t.Fatal(err)
	}
	c := w.Config
	c.BF16 = false
	if w, err = NewWeights(c, w.Tensors(), alone(k)); err != nil {
		t.Fatal(err)
	}
	g := folderGolden{w: w, expect: readFloats(t, filepath.Join(dir, "expected.safetensors")),
		lora: LoRA{Rank: 2, Alpha: 4, Modules: w.Config.allModules()}}
	if c.Sparse != nil {
		g.lora.Rank, g.lora.Alpha = 2*c.Experts.Used, 12
	}
	if c.Arch.Sinks {
		g.lora.Alpha = 4
	}
	if c.Tied {
		g.lora.Modules = g.lora.Modules[:len(g.lora.Modules)-1]
	}
	for _, v := range g.expect["tokens"] {
		g.ids = append(g.ids, int32(v))
	}
	return g
}

// of returns the golden's tensor of a parameter of the adapter: kind is lora or grad. gptoss has rank 2 everywhere.
func (g folderGolden) of(kind, name string) []float32 {
	if wide := g.lora.Rank; g.w.Config.Arch.Sinks && !ofExpert(name) && strings.Contains(name, ".lora_") {
		x := Tensor{Name: name, Shape: []int{2, 2}, Data: g.named(kind, name)}
		x.Shape[factorAxis(name)] = len(x.Data) / 2
		ratio := float64(wide) / 2 // of the scales; B's gradient has the inverse one
		if kind == "grad" {
			ratio = 1 / ratio
		}
		return widen(x, 2, wide, ratio).Data
	}
	return g.named(kind, name)
}

func (g folderGolden) named(kind, name string) []float32 {
	name = strings.TrimPrefix(name, PEFTPrefix)
	name = strings.Replace(strings.Replace(name, ".lora_A.weight", ".A", 1), ".lora_B.weight", ".B", 1)
	return g.expect[kind+"."+name]
}

// goldenFolders are the folders of testdata/families with gradients.
func goldenFolders() []string {
	return []string{"qwen35", "qwen35-gva", "smollm3", "granite4", "ministral3", "mistral-window", "ministral",
		"granite", "gemma3-nested", "phi4mini", "lfm2", "qwen3moe", "qwen3moe-mixed", "gptoss"}
}

// Hidden states, gradients of an adapter on every linear, and the greedy continuation of a family are those of
// transformers.
func TestFamilyGoldens(t *testing.T) {
	r, k := newRunner(t, 2)
	for _, name := range goldenFolders() {
		t.Run(name, func(t *testing.T) {
			g := newFolderGolden(t, k, name)
			g.passes(t, r)
			var tensors []Tensor
			for _, s := range g.lora.specs(g.w.Config) {
				tensors = append(tensors, Tensor{s.name, s.shape, g.of("lora", s.name)})
			}
			adapter, err := g.w.NewAdapter(g.lora, tensors, k)
			if err != nil {
				t.Fatal(err)
			}
			grads := NewGrads(tensors)
			_, _, loss := step(t, r, g.w, batch(g.w.Config, adapter, g.ids), [][]float32{g.expect["weights"]},
				r.NewTape(true), grads)
			near(t, "loss", []float32{float32(loss)}, g.expect["lora_loss"], 1e-4)
			for _, x := range grads.T {
				near(t, x.Name, x.Data, g.of("grad", x.Name), 2e-4)
			}
			g.continues(t, r)
		})
	}
}

// passes compares the input of each layer and what the head gets.
func (g folderGolden) passes(t *testing.T, r *Runner) {
	tape, c := r.NewTape(false), g.w.Config
	hidden := r.Forward(g.w, batch(c, nil, g.ids), tape)
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	for l := range c.Layers + 1 {
		of := nn.Rows{Data: hidden, Cols: c.Dim}
		if l < c.Layers {
			of = tape.x[l]
		}
		var got []float32
		for _, row := range g.expect["rows"] {
			got = append(got, of.Row(int(row))...)
		}
		near(t, fmt.Sprintf("hidden.%d", l), got, g.expect[fmt.Sprintf("hidden.%d", l)], 1e-4)
	}
}

// continues compares the greedy continuation, one position at a time from the prompt on.
func (g folderGolden) continues(t *testing.T, r *Runner) {
	n := int(g.expect["prompt"][0])
	s := batch(g.w.Config, nil, g.ids)[0]
	s.Tokens, s.Memory = g.ids[:n], g.w.Config.Memory().New()
	for i, want := range g.expect["greedy"] {
		row := make([]float32, g.w.Config.Vocab)
		hidden := r.Forward(g.w, []Seq{s}, nil)
		if err := r.Err(); err != nil {
			t.Fatal(err)
		}
		r.Logits(g.w, []Seq{s}, hidden, []int{len(s.Tokens) - 1}, row)
		best := 0
		for j, v := range row {
			if v > row[best] {
				best = j
			}
		}
		if best != int(want) && g.expect["margin"][i] > 1e-4 {
			t.Fatalf("token %d of the continuation is %d, want %v", i, best, want)
		}
		s.Pos, s.Tokens = s.Pos+len(s.Tokens), []int32{int32(want)}
	}
}

// The gradients of norms, convolutions and decays are those of transformers, for weights with the adapter in them.
func TestFamilyFullGradients(t *testing.T) {
	r, k := newRunner(t, 2)
	for _, name := range goldenFolders() {
		g := newFolderGolden(t, k, name)
		c, full := g.w.Config, g.w.Tensors()
		for l := range c.Layers {
			for _, of := range targets(c, l) {
				g.merge(full, of)
			}
		}
		g.merge(full, headTarget(c))
		w, err := NewWeights(c, full, alone(k))
		if err != nil {
			t.Fatal(err)
		}
		grads := NewGrads(full)
		step(t, r, w, batch(c, nil, g.ids), [][]float32{g.expect["weights"]}, r.NewTape(false), grads)
		for _, x := range grads.T {
			if want := g.expect["full."+x.Name]; want != nil {
				near(t, name+": "+x.Name, x.Data, want, 5e-4)
			}
		}
	}
}

// merge adds the factors of t to the full parameters.
func (g folderGolden) merge(full []Tensor, t target) {
	rank := t.rank(g.lora.Rank)
	scale := float32(g.lora.Alpha) / float32(rank)
	for p, out := range t.outs {
		a, b := g.of("lora", t.a(p).name), g.of("lora", t.b(p).name)
		name, at := t.at+out.name+".weight", 0
		for i, part := range []string{"in_proj_q.", "in_proj_k.", "in_proj_v."} {
			if strings.Contains(name, part) {
				name, at = t.at+"in_proj_qkv.weight", t.outs[i].col*t.in
			}
		}
		for _, x := range full {
			if x.Name != name || a == nil {
				continue
			}
			for i := range out.out {
				for r := range rank {
					for j := range t.in {
						x.Data[at+i*t.in+j] += float32(scale * b[i*rank+r] * a[r*t.in+j])
					}
				}
			}
		}
	}
}
