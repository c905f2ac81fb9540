package model

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
)

// An expert that computes its rows in several chunks gives the bits of sequences one by one: all weights in float32,
// and an adapter on bf16.
func TestExpertChunks(t *testing.T) {
	for _, family := range []int{2, 1} { // from the end of the list
		for adapter, bf16 := range []bool{false, true} {
			testExpertChunks(t, len(architectures)-family, adapter, bf16)
		}
	}
}

func testExpertChunks(t *testing.T, arch, adapter int, bf16 bool) {
	k, err := kernel.Best(kernel.Blocked)
	if err != nil {
		k, _ = kernel.Best(kernel.Sequential)
	}
	r := runnerOn(t, k, 2)
	m := newExact(t, k, bf16, arch)
	var ids [][]int32
	var weights [][]float32
	for i, n := range []int{900, 433} {
		ids, weights = append(ids, m.tokens(fmt.Sprint("long", i), n)), append(weights, make([]float32, n))
		for j := range n - 1 {
			weights[i][j] = float32(j%3) - 0.7
		}
	}
	tensors := m.w.Tensors()
	if adapter > 0 {
		tensors = m.tensors[adapter-1]
	}
	got, want := NewGrads(tensors), NewGrads(tensors)
	a := m.adapters[adapter]
	logits, _, _ := step(t, r, m.w, batch(m.c, a, ids...), weights, r.NewTape(true), got)
	if most := r.work.first[1:]; most[0] <= expertChunk && most[1]-most[0] <= expertChunk {
		t.Fatalf("no expert has more than %d rows: %v", expertChunk, most)
	}
	var one []float32
	for i := range ids {
		part, _, _ := step(t, r, m.w, batch(m.c, a, ids[i]), weights[i:i+1], r.NewTape(false), want)
		one = append(one, part...)
	}
	sameBits(t, "logits", logits, one)
	for i := range want.T {
		sameBits(t, want.T[i].Name, got.T[i].Data, want.T[i].Data)
	}
}

// An adapter of one rank on all matrices, as peft has it, gets a rank that leaves experts that rank, and adds the same.
// The folder of an adapter of this program is read as it was.
func TestPEFTOnExperts(t *testing.T) {
	r, k := newRunner(t, 2)
	g := newFolderGolden(t, k, "qwen3moe")
	c := g.w.Config
	var all []Tensor
	for _, s := range g.lora.specs(c) {
		all = append(all, Tensor{s.name, s.shape, g.of("lora", s.name)})
	}
	own, err := g.w.NewAdapter(g.lora, all, k)
	if err != nil {
		t.Fatal(err)
	}
	rows := []int{0, 31, 99}
	want := logitsOf(t, r, g.w, own, g.ids, rows)
	write := func(config map[string]any, tensors []Tensor) PEFT {
		dir := t.TempDir()
		data, err := json.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		var list []safetensors.Tensor
		for _, x := range tensors {
			list = append(list, safetensors.FromF32(x.Name, x.Shape, x.Data))
		}
		f, err := os.Create(filepath.Join(dir, PEFTWeightsFile))
		if err != nil {
			t.Fatal(err)
		}
		if err := safetensors.Encode(f, list, nil); err != nil {
			t.Fatal(err)
		}
		f.Close()
		if err := os.WriteFile(filepath.Join(dir, PEFTConfigFile), data, 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := ReadPEFT(dir)
		if err != nil {
			t.Fatal(err)
		}
		p.Fill(c)
		return p
	}
	same := write(g.lora.PEFTConfig("base", c), all)
	if same.LoRA.Rank != 6 || same.LoRA.Alpha != 12 {
		t.Errorf("read as %+v", same.LoRA)
	}
	back, err := g.w.NewAdapter(same.LoRA, same.Tensors, k)
	if err != nil {
		t.Fatal(err)
	}
	sameBits(t, "its own folder", logitsOf(t, r, g.w, back, g.ids, rows), want)

	// W + 12/6·B·A everywhere: experts' B is multiplied by 3, as their rank here is 2
	var flat []Tensor
	for _, x := range all {
		if ofExpert(x.Name) {
			x = widen(x, 2, 6, 3)
		}
		flat = append(flat, x)
	}
	one := write(LoRA{Rank: 6, Alpha: 12, Modules: g.lora.Modules}.PEFTConfig("base", Config{}), flat)
	if one.LoRA.Rank != 18 || one.LoRA.Alpha != 36 {
		t.Errorf("of one rank, read as %+v", one.LoRA)
	}
	if back, err = g.w.NewAdapter(one.LoRA, one.Tensors, k); err != nil {
		t.Fatal(err)
	}
	near(t, "of one rank", logitsOf(t, r, g.w, back, g.ids, rows), want, 1e-5)
}
