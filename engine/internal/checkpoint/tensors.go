package checkpoint

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
)

// WriteTensors writes a safetensors file. With bf16, tensors that keep their precision are still f32.
func WriteTensors(w io.Writer, tensors []model.Tensor, bf16 bool) error {
	list := make([]safetensors.Tensor, len(tensors))
	for i, t := range tensors {
		if bf16 && !model.KeepsPrecision(t.Name) {
			list[i] = safetensors.FromBF16(t.Name, t.Shape, t.Data)
		} else {
			list[i] = safetensors.FromF32(t.Name, t.Shape, t.Data)
		}
	}
	return safetensors.Encode(w, list, map[string]string{"format": "pt"})
}

// ReadTensors reads a safetensors file as f32, sorted by name.
func ReadTensors(path string) ([]model.Tensor, error) {
	f, err := safetensors.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []model.Tensor
	for _, t := range f.Tensors() {
		data, err := t.Floats()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if !nn.Finite(data) {
			return nil, fmt.Errorf("%s: tensor %s has values that are not finite", path, t.Name)
		}
		out = append(out, model.Tensor{Name: t.Name, Shape: slices.Clone(t.Shape), Data: slices.Clone(data)})
	}
	SortByName(out)
	return out, nil
}

func SortByName(t []model.Tensor) {
	slices.SortFunc(t, func(a, b model.Tensor) int { return strings.Compare(a.Name, b.Name) })
}

// ReadTensorsIn is ReadTensors of a file whose tensors must have the dtype that bf16 says.
func ReadTensorsIn(path string, bf16 bool) ([]model.Tensor, error) {
	f, err := safetensors.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for _, t := range f.Tensors() {
		want := safetensors.F32
		if bf16 && !model.KeepsPrecision(t.Name) {
			want = safetensors.BF16
		}
		if t.DType != want {
			return nil, fmt.Errorf("engine: weights %s: tensor %s is %s, want %s", filepath.Base(path), t.Name, t.DType,
				want)
		}
	}
	return ReadTensors(path)
}
