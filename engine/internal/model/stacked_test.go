package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
)

// stackedFolder writes a model of gpt-oss as transformers saves one that was not quantised, in a dtype.
func stackedFolder(t *testing.T, from string, w *Weights, dtype safetensors.DType) (dir string) {
	t.Helper()
	c, stacks := w.Config, map[string]Tensor{}
	E, D, F := c.Experts.Experts, c.Dim, c.ExpertFF
	for _, x := range w.Tensors() {
		at, name, expert := strings.Cut(x.Name, expertsAt)
		if !expert {
			stacks[x.Name] = x
			continue
		}
		var e int
		var part, kind string
		if _, err := fmt.Sscanf(strings.ReplaceAll(name, ".", " "), "%d %s %s", &e, &part, &kind); err != nil {
			t.Fatal(err)
		}
		rows, in, first, step := D, F, 0, 1
		if part != "down_proj" {
			rows, in, step = 2*F, D, 2
			if part == "up_proj" {
				first = 1
			}
			part = "gate_up_proj"
		}
		stacked, shape := at+expertsAt+part, []int{E, in, rows}
		if kind == "bias" {
			stacked, shape, in = stacked+"_bias", []int{E, rows}, 1
		}
		if stacks[stacked].Data == nil {
			stacks[stacked] = Tensor{stacked, shape, make([]float32, E*rows*in)}
		}
		for i, v := range x.Data {
			stacks[stacked].Data[(e*in+i%in)*rows+first+i/in*step] = v
		}
	}
	var list []safetensors.Tensor
	for _, name := range slices.Sorted(maps.Keys(stacks)) {
		x, err := safetensors.FromFloats(name, dtype, stacks[name].Shape, stacks[name].Data)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, x)
	}
	dir = t.TempDir()
	if err := safetensors.Write(filepath.Join(dir, SingleFile), list, nil); err != nil {
		t.Fatal(err)
	}
	var keys map[string]any
	data, err := os.ReadFile(filepath.Join(from, "config.json"))
	if err := json.Unmarshal(data, &keys); err != nil {
		t.Fatal(err)
	}
	delete(keys, "quantization_config")
	if data, err = json.Marshal(keys); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Experts in MXFP4, in one bf16 or float32 tensor and by themselves are the same model. What does not fit is missing.
func TestStacked(t *testing.T) {
	_, k := newRunner(t, 2)
	from := filepath.Join("testdata", "families", "gptoss")
	w, err := Load(from, alone(k))
	if err != nil {
		t.Fatal(err)
	}
	for _, dtype := range []safetensors.DType{safetensors.BF16, safetensors.F32} {
		dir := stackedFolder(t, from, w, dtype)
		got, err := Load(dir, alone(k))
		if err != nil {
			t.Fatal(err)
		}
		if got.Config.BF16 != (dtype == safetensors.BF16) {
			t.Errorf("%s is loaded as %+v", dtype, got.Config)
		}
		for i, x := range got.Tensors() {
			sameBits(t, x.Name, x.Data, w.Tensors()[i].Data)
		}
		f, err := OpenFiles(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		c := got.Config
		if c.Experts.Experts++; f.Check(c) == nil {
			t.Error("an expert too few is not noticed")
		}
	}
}

// The sixteen codes are those of the OCP Microscaling Formats specification, and a scale is a power of two.
func TestMXFP4(t *testing.T) {
	var block [32]byte
	for i := range block {
		block[i] = byte(2*i%16) | byte(2*i%16+1)<<4
	}
	codes := []float32{0, 0.5, 1, 1.5, 2, 3, 4, 6}
	for _, exponent := range []byte{0, 1, 100, 127, 254} {
		out := make([]byte, 128)
		unpackMXFP4(out, block[:], []byte{127, exponent})
		for i := range 64 {
			want := codes[i%8]
			if i/8%2 == 1 {
				want = -want
			}
			if i >= 32 {
				want = float32(math.Ldexp(float64(want), int(exponent)-127))
			}
			got := kernel.Float(uint16(out[2*i]) | uint16(out[2*i+1])<<8)
			if math.Float32bits(got) != math.Float32bits(want) {
				t.Errorf("2^%d, element %d is %v, want %v", int(exponent)-127, i, got, want)
			}
		}
	}
}
