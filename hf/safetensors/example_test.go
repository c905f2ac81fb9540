package safetensors_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
)

func Example() {
	dir, err := os.MkdirTemp("", "safetensors")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.safetensors")
	norm := safetensors.FromBF16("model.norm.weight", []int{4}, []float32{1, 1.5, 2, 3.14159})
	if err := safetensors.Write(path, []safetensors.Tensor{norm}, map[string]string{"format": "pt"}); err != nil {
		fmt.Println(err)
		return
	}
	f, err := safetensors.Open(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	for _, t := range f.Tensors() {
		values, err := t.Floats()
		fmt.Println(t.Name, t.DType, t.Shape, values, err)
	}
	// Output: model.norm.weight BF16 [4] [1 1.5 2 3.140625] <nil>
}
