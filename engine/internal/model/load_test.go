package model

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
)

// folder writes a model folder: config.json of qwen3's golden and weight files with the given tensors.
func folder(t *testing.T, files map[string][]safetensors.Tensor) string {
	t.Helper()
	dir := t.TempDir()
	config, err := os.ReadFile("testdata/qwen3/config.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), config, 0o600); err != nil {
		t.Fatal(err)
	}
	index := map[string]string{}
	for name, tensors := range files {
		if err := safetensors.Write(filepath.Join(dir, name), tensors, nil); err != nil {
			t.Fatal(err)
		}
		for _, x := range tensors {
			index[x.Name] = name
		}
	}
	if len(files) > 1 {
		data, err := json.Marshal(map[string]any{"weight_map": index})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, IndexFile), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// stored returns the tensors of qwen3's golden in a file's form.
func stored(t *testing.T, convert func(string, []int, []float32) safetensors.Tensor) []safetensors.Tensor {
	_, k := newRunner(t, 1)
	var out []safetensors.Tensor
	for _, x := range loadGolden(t, k, "qwen3").w.Tensors() {
		out = append(out, convert(x.Name, x.Shape, x.Data))
	}
	return out
}

// One file or shards, loaded and unpacked again, give the same tensors; a bf16 file gives a bf16 model.
func TestLoadRoundTrip(t *testing.T) {
	_, k := newRunner(t, 1)
	for _, convert := range []func(string, []int, []float32) safetensors.Tensor{safetensors.FromF32,
		safetensors.FromBF16} {
		all := stored(t, convert)
		for _, files := range []map[string][]safetensors.Tensor{{SingleFile: all},
			{"a.safetensors": all[:5], "b.safetensors": all[5:]}} {
			w, err := Load(folder(t, files), alone(k))
			if err != nil {
				t.Fatal(err)
			}
			if want := all[0].DType == safetensors.BF16; w.Config.BF16 != want {
				t.Errorf("%s file: BF16 = %v, want %v", all[0].DType, w.Config.BF16, want)
			}
			again, err := NewWeights(w.Config, w.Tensors(), alone(k))
			if err != nil {
				t.Fatal(err)
			}
			for i, x := range again.Tensors() {
				want, err := all[i].Floats()
				if err != nil || x.Name != all[i].Name || !slices.Equal(x.Data, want) {
					t.Errorf("%v differs from %s in the file (%v)", x, all[i].Name, err)
				}
			}
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	_, k := newRunner(t, 1)
	all := stored(t, safetensors.FromF32)
	wrongShape := slices.Clone(all)
	wrongShape[1] = safetensors.FromF32(all[1].Name, []int{3}, []float32{1, 2, 3})
	integers := slices.Clone(all)
	integers[1].DType = "I32"
	whole := map[string][]safetensors.Tensor{SingleFile: all}
	path := func(dir string) string { return filepath.Join(dir, SingleFile) }
	for _, tt := range []struct {
		name  string
		files map[string][]safetensors.Tensor
		spoil func(dir string) error
		want  string
		is    error
	}{
		{"no weights", nil, nil, "neither model.safetensors nor", nil},
		{"missing tensor", map[string][]safetensors.Tensor{SingleFile: all[1:]}, nil,
			`"model.embed_tokens.weight" is missing`, nil},
		{"wrong shape", map[string][]safetensors.Tensor{SingleFile: wrongShape}, nil,
			"has shape [3], config.json gives [24]", nil},
		{"integers", map[string][]safetensors.Tensor{SingleFile: integers}, nil, "dtype I32", nil},
		{"truncated", whole, func(d string) error { return os.Truncate(path(d), 3000) }, SingleFile,
			safetensors.ErrTruncated},
		{"empty", whole, func(d string) error { return os.Truncate(path(d), 0) }, SingleFile, safetensors.ErrTruncated},
		{"not safetensors", whole, func(d string) error {
			return os.WriteFile(path(d), []byte("<html> not found"),
				0o600)
		}, SingleFile, safetensors.ErrFormat},
		{"missing shard", map[string][]safetensors.Tensor{"a.safetensors": all[:5], "b.safetensors": all[5:]},
			func(d string) error { return os.Remove(filepath.Join(d, "b.safetensors")) }, "b.safetensors",
			fs.ErrNotExist},
		{"shard outside", nil, func(d string) error {
			return os.WriteFile(filepath.Join(d, IndexFile), []byte(`{"weight_map":{"a":"../x"}}`), 0o600)
		}, "outside the folder", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := folder(t, tt.files)
			if tt.spoil != nil {
				if err := tt.spoil(dir); err != nil {
					t.Fatal(err)
				}
			}
			_, err := Load(dir, alone(k))
			if err == nil || !strings.Contains(err.Error(), tt.want) || tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// A bf16 model computes the float32 results of the same weights, to bf16's precision.
func TestBF16IsClose(t *testing.T) {
	r, k := newRunner(t, 2)
	for _, name := range goldenModels {
		g := loadGolden(t, k, name)
		c := g.w.Config
		c.BF16 = true
		narrow, err := NewWeights(c, g.w.Tensors(), alone(k))
		if err != nil {
			t.Fatal(err)
		}
		wide, err := NewWeights(g.w.Config, narrow.Tensors(), alone(k))
		if err != nil {
			t.Fatal(err)
		}
		trained := narrow.Tensors()
		gn, gw := NewGrads(trained), NewGrads(trained)
		got, _, _ := step(t, r, narrow, batch(c, nil, g.tokens...), g.weights, r.NewTape(false), gn)
		want, _, _ := step(t, r, wide, batch(g.w.Config, nil, g.tokens...), g.weights, r.NewTape(false), gw)
		near(t, name+" logits", got, want, 0.02)
		if slices.Equal(got, want) {
			t.Errorf("%s: bf16 computes float32's bits; it does not round", name)
		}
		for i, x := range gn.T {
			near(t, name+" "+x.Name, x.Data, gw.T[i].Data, 0.05)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	_, k := newRunner(t, 1)
	m := newExact(t, k, false, 0)
	full, lora := m.w.Tensors(), m.tensors[0]
	short := slices.Clone(full)
	short[3].Shape = []int{1, 2}
	shortLoRA := slices.Clone(lora)
	shortLoRA[0].Data = nil
	for _, tt := range []struct {
		name string
		err  func() error
		want string
	}{
		{"missing", func() error { _, err := NewWeights(m.c, full[1:], alone(k)); return err },
			`"model.embed_tokens.weight" is missing`},
		{"foreign", func() error { _, err := NewWeights(m.c, append(full, Tensor{Name: "x"}), alone(k)); return err },
			`"x" does not belong`},
		{"twice", func() error { _, err := NewWeights(m.c, append(full, full[0]), alone(k)); return err },
			"given twice"},
		{"shape", func() error { _, err := NewWeights(m.c, short, alone(k)); return err }, "has shape [1 2]"},
		{"LoRA missing", func() error { _, err := m.w.NewAdapter(m.loras[0], lora[1:], k); return err }, "is missing"},
		{"LoRA of another reach", func() error { _, err := m.w.NewAdapter(m.loras[1], lora, k); return err },
			"does not belong"},
		{"LoRA rank", func() error { _, err := m.w.NewAdapter(LoRA{}, nil, k); return err }, "rank 0"},
		{"LoRA shape", func() error { _, err := m.w.NewAdapter(m.loras[0], shortLoRA, k); return err }, "has shape"},
	} {
		if err := tt.err(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}

// Err names the reason why a forward fails: tokens outside the vocabulary, too few pages, or the layer after which
// values overflow.
func TestForwardErr(t *testing.T) {
	r, k := newRunner(t, 2)
	m := newExact(t, k, false, 0)
	forward := func(w *Weights, seqs []Seq) string {
		hidden := r.Forward(w, seqs, nil)
		if n := len(seqs[0].Tokens) * m.c.Dim; len(hidden) != n {
			t.Errorf("%d hidden values, want %d", len(hidden), n)
		}
		if r.Err() == nil {
			return ""
		}
		return r.Err().Error()
	}
	ids := []int32{1, 2, 3}
	if got := forward(m.w, batch(m.c, nil, []int32{1, 101})); !strings.Contains(got,
		"token 101 is outside the vocabulary of 101") {
		t.Errorf("foreign token: %q", got)
	}
	if got := forward(m.w, []Seq{{Tokens: ids, Pos: 30, Pages: newPages(m.c, 32)}}); !strings.Contains(got,
		"do not cover") {
		t.Errorf("too few pages: %q", got)
	}
	if got := forward(m.w, []Seq{{Tokens: ids, Pages: []*nn.Page{{}}}}); !strings.Contains(got,
		"another model's size") {
		t.Errorf("foreign page: %q", got)
	}
	for _, tt := range []struct{ tensor, want string }{
		{"model.layers.0.mlp.down_proj.weight", "not finite after layer 0"},
		{"model.layers.1.self_attn.o_proj.weight", "not finite after layer 1"},
		{EmbedName, "the embedding is not finite"},
	} {
		full := m.w.Tensors()
		i := slices.IndexFunc(full, func(x Tensor) bool { return x.Name == tt.tensor })
		for j := range full[i].Data {
			full[i].Data[j] = float32(math.Inf(1))
		}
		w, err := NewWeights(m.c, full, alone(k))
		if err != nil {
			t.Fatal(err)
		}
		if got := forward(w, batch(m.c, nil, ids)); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.tensor, got, tt.want)
		}
	}
	if got := forward(m.w, batch(m.c, nil, ids)); got != "" {
		t.Errorf("a good forward after bad ones: %q", got)
	}
	seqs, tape := append(batch(m.c, nil, ids), batch(m.c, m.adapters[1], ids)...), r.NewTape(false)
	r.Forward(m.w, seqs, tape)
	g := NewGrads(m.tensors[0])
	for want, grads := range map[string][]*Grads{"2 adapters with gradients for 1": {g},
		"stretch 0 of 2": {NewGrads(m.w.Tensors()), g}} {
		if r.Backward(m.w, seqs, tape, grads...); r.Err() == nil || !strings.Contains(r.Err().Error(), want) {
			t.Errorf("a backward over two adapters: %v, want %q", r.Err(), want)
		}
	}
}
