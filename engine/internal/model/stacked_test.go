package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
	if err = errors.Join(err, json.Unmarshal(data, &keys)); err != nil {
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
	r, k := newRunner(t, 2)
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
		if dtype == safetensors.BF16 {
			sameSteps(t, r, w, got)
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

// sameSteps compares a step of training of a model whose experts are kept in MXFP4 with one that has them in bf16.
func sameSteps(t *testing.T, r *Runner, packed, plain *Weights) {
	t.Helper()
	l := LoRA{Rank: 6, Alpha: 12, Attn: true, MLP: true, Unembed: true}
	tensors := packed.NewLoRA(l, 3)
	for i, x := range tensors {
		for j := range x.Data {
			x.Data[j] += float32((i+j)%7-3) / 50
		}
	}
	ids, weights := make([]int32, 90), make([]float32, 90)
	for i := range ids[:89] {
		ids[i], weights[i] = int32(i*i%packed.Config.Vocab), float32(i%3)-0.7
	}
	var logits, logp [2][]float32
	var grads [2]*Grads
	for i, w := range []*Weights{packed, plain} {
		if w.Config.MXFP4 != (i == 0) || (w.layers[0].down(1).M != nil) != (i == 0) {
			t.Fatalf("loaded as %+v", w.Config)
		}
		a, err := w.NewAdapter(l, tensors, r.K)
		if err != nil {
			t.Fatal(err)
		}
		grads[i] = NewGrads(tensors)
		logits[i], logp[i], _ = step(t, r, w, batch(w.Config, a, ids), [][]float32{weights}, r.NewTape(true), grads[i])
	}
	sameBits(t, "logits", logits[0], logits[1])
	sameBits(t, "logp", logp[0], logp[1])
	for i, x := range grads[0].T {
		sameBits(t, x.Name, x.Data, grads[1].T[i].Data)
	}
	if a, b := packed.Config.WeightBytes(), plain.Config.WeightBytes(); a >= b {
		t.Errorf("%d bytes in MXFP4, %d in bf16", a, b)
	}
}
