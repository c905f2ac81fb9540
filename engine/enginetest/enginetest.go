// Package enginetest makes small models for tests of the engine and of the packages above it.
package enginetest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
)

// Model writes a model folder with that config.json and random weights, and returns it. Matrices are scale times as
// large as an untrained model's: with scale 8 the distribution of the next token is far from flat. The same
// arguments give the same bytes.
func Model(t testing.TB, config []byte, scale float32) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.json"), config, 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := model.LoadConfig(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []safetensors.Tensor
	for _, p := range model.RandomTensors(c, 1) {
		if len(p.Shape) == 2 {
			for i := range p.Data {
				p.Data[i] *= scale
			}
		}
		if c.BF16 {
			list = append(list, safetensors.FromBF16(p.Name, p.Shape, p.Data))
		} else {
			list = append(list, safetensors.FromF32(p.Name, p.Shape, p.Data))
		}
	}
	if err := safetensors.Write(filepath.Join(dir, "model.safetensors"), list, nil); err != nil {
		t.Fatal(err)
	}
	return dir
}
