package model

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf/gguftest"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf/modeldir"
)

// fromGGUF writes the model folder of a file.
func fromGGUF(t *testing.T, path string) (dir string) {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dir = t.TempDir()
	if err := modeldir.Write(f, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func loadFrom(t *testing.T, dir string, k *kernel.Set) *Weights {
	t.Helper()
	w, err := Load(dir, alone(k))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// The folder of a GGUF file has the logits of the model that the file was made of.
func TestGGUFLogits(t *testing.T) {
	r, k := newRunner(t, 2)
	tokens, rows := []int32{3, 141, 5, 92, 65, 35, 89, 79, 32, 38, 46, 26}, []int{0, 5, 11}
	for _, m := range []gguftest.Model{{Arch: "llama"}, {Arch: "llama", Tied: true, Fused: true},
		{Arch: "qwen2", Tied: true}, {Arch: "qwen3"}, {Arch: "qwen3moe", Type: gguf.BF16},
		{Arch: "qwen3moe", Fused: true}} {
		t.Run(m.Arch, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "m.gguf")
			m.Write(t, path)
			w := loadFrom(t, fromGGUF(t, path), k)
			var list []Tensor
			for _, x := range m.Tensors() {
				shape := make([]int, len(x.Shape))
				for i, d := range x.Shape {
					shape[i] = int(d)
				}
				for i, v := range x.Data {
					x.Data[i] = math.Float32frombits(uint32(gguf.ToBF16(v)) << 16)
				}
				list = append(list, Tensor{Name: x.Name, Shape: shape, Data: x.Data})
			}
			direct, err := NewWeights(w.Config, list, alone(k))
			if err != nil {
				t.Fatal(err)
			}
			a, b := logitsOf(t, r, w, nil, tokens, rows), logitsOf(t, r, direct, nil, tokens, rows)
			if !slices.Equal(a, b) {
				t.Error("the logits differ")
			}
		})
	}
}
