package model

import (
	"flag"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf/gguftest"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf/modeldir"
	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
)

var (
	ggufFile   = flag.String("gguf.file", "", "a GGUF file")
	ggufFolder = flag.String("gguf.folder", "", "the folder that transformers makes of it, in bf16")
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

// A GGUF file has the logits, to the bit, of the folder that transformers makes of it. make gguf runs it on a real
// model's file.
func TestGGUFLikeTransformers(t *testing.T) {
	if *ggufFile == "" || *ggufFolder == "" {
		t.Skip("no real file: make gguf GGUF=FILE.gguf")
	}
	ours := fromGGUF(t, *ggufFile)
	r, k := newRunner(t, 2)
	got, want := loadFrom(t, ours, k), loadFrom(t, *ggufFolder, k)
	tensors, values := sameTensors(t, ours, *ggufFolder)
	tokens := make([]int32, 128)
	var rows []int
	for i := range tokens {
		tokens[i] = int32((i*i*7919 + 13*i + 1) % got.Config.Vocab)
		rows = append(rows, i)
	}
	a, b := logitsOf(t, r, got, nil, tokens, rows), logitsOf(t, r, want, nil, tokens, rows)
	differ := 0
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
			differ++
		}
	}
	t.Logf("%s: %d tensors with %d values equal to transformers' folder in bf16; %d of %d logits of %d tokens differ",
		filepath.Base(*ggufFile), tensors, values, differ, len(a), len(tokens))
	if differ > 0 {
		t.Errorf("%d logits differ", differ)
	}
}

func loadFrom(t *testing.T, dir string, k *kernel.Set) *Weights {
	t.Helper()
	w, err := Load(dir, alone(k))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// sameTensors compares the weights of two folders.
func sameTensors(t *testing.T, ours, theirs string) (tensors, values int) {
	t.Helper()
	f, err := safetensors.Open(filepath.Join(ours, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	g, err := safetensors.Open(filepath.Join(theirs, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for _, x := range f.Tensors() {
		y, err := g.Tensor(x.Name)
		if err != nil {
			t.Error(err)
			continue
		}
		if y.DType != safetensors.BF16 || !slices.Equal(x.Shape, y.Shape) || !slices.Equal(x.Bits(), y.Bits()) {
			t.Errorf("%s differs", x.Name)
		}
		tensors++
		values += x.Len()
	}
	if n := len(g.Tensors()); n != tensors {
		t.Errorf("the other folder has %d tensors, and %d were compared", n, tensors)
	}
	return tensors, values
}

// The folder of a GGUF file has the logits of the model that the file was made of.
func TestGGUFLogits(t *testing.T) {
	r, k := newRunner(t, 2)
	tokens, rows := []int32{3, 141, 5, 92, 65, 35, 89, 79, 32, 38, 46, 26}, []int{0, 5, 11}
	for _, m := range []gguftest.Model{{Arch: "llama"}, {Arch: "llama", Tied: true, Fused: true},
		{Arch: "qwen2", Tied: true}, {Arch: "qwen3"}} {
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
