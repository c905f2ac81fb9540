package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
)

func layerName(l int) string { return fmt.Sprintf("model.layers.%d.", l) }

// folder returns a Hugging Face folder below dir with the shape's random weights in bf16, and makes it if it is
// missing; of a model with weights of its own, its folder. The weights are written first and config.json last, so a
// folder with a config.json is complete.
func (s shape) folder(dir string) (string, error) {
	if s.dir != "" {
		return s.dir, nil
	}
	dir = filepath.Join(dir, s.name)
	conf := filepath.Join(dir, "config.json")
	if _, err := os.Stat(conf); !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if err := s.writeWeights(filepath.Join(dir, "model.safetensors")); err != nil {
		return "", fmt.Errorf("peers: weights of %s: %w", s.title(), err)
	}
	if err := s.writeTokenizer(dir); err != nil {
		return "", err
	}
	data, err := json.MarshalIndent(s.config(), "", "  ")
	if err != nil {
		return "", err
	}
	return dir, os.WriteFile(conf, data, 0o644)
}

// makeFolder makes the folder of a shape and prints its path.
func makeFolder(name, dir string) error {
	var names []string
	for _, s := range shapes() {
		if s.name == name {
			path, err := s.folder(dir)
			if err == nil {
				fmt.Println(path)
			}
			return err
		}
		names = append(names, s.name)
	}
	return fmt.Errorf("peers: -make %s is no shape; choose one of %s", name, strings.Join(names, ", "))
}

// writeWeights makes one tensor at a time, all in the same memory: matrices normal with deviation 0.02, norms 1.
func (s shape) writeWeights(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(file, 1<<20)
	err = safetensors.EncodeEach(out, s.blank(), map[string]string{"format": "pt"}, filler())
	return errors.Join(err, out.Flush(), file.Close())
}

// blank is the tensors of the shape, which share their memory.
func (s shape) blank() []safetensors.Tensor {
	all := s.tensors()
	largest := slices.MaxFunc(all, func(a, b tensor) int { return a.bytes() - b.bytes() })
	memory := make([]byte, largest.bytes())
	var list []safetensors.Tensor
	for _, t := range all {
		list = append(list, safetensors.Tensor{Name: t.name, DType: safetensors.BF16, Shape: t.shape,
			Data: memory[:t.bytes()]})
	}
	return list
}

// filler fills tensors with the top halves of float32s: bf16. Each value is one of 65,536 draws from
// a normal distribution, which is fast enough for billions.
func filler() func(safetensors.Tensor) ([]byte, error) {
	rng := rand.New(rand.NewPCG(1, 2))
	var normal [1 << 16]uint16
	for i := range normal {
		normal[i] = bf16(0.02 * rng.NormFloat64())
	}
	return func(t safetensors.Tensor) ([]byte, error) {
		norm := strings.HasSuffix(t.Name, "norm.weight")
		for at := 0; at < len(t.Data); at += 8 {
			bits := rng.Uint64()
			for i := at; i < min(at+8, len(t.Data)); i += 2 {
				x := normal[uint16(bits)]
				bits >>= 16
				if norm {
					x = bf16(1)
				}
				binary.LittleEndian.PutUint16(t.Data[i:], x)
			}
		}
		return t.Data, nil
	}
}

func bf16(x float64) uint16 { return uint16(math.Float32bits(float32(x)) >> 16) }
