package modelfile

import (
	"bytes"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
)

// plan lays out a look-alike.
func plan(t *testing.T, name string, kind Kind, change func(*Shape, memory)) (*File, memory) {
	t.Helper()
	m := lookalikes()[name]
	weights := small(m.shape)
	if change != nil {
		change(&m.shape, weights)
	}
	f, err := Model{Name: name, Shape: m.shape, Weights: weights, Dir: folder(t, m.tok, m.conf)}.Plan(kind)
	if err != nil {
		t.Fatal(err)
	}
	return f, weights
}

// Every kind is written and read, with the types that llama.cpp expects: vectors in F32, and rows of 64 elements, which
// are no multiple of 256, in the replacement types.
func TestKinds(t *testing.T) {
	for kind, want := range map[Kind][]gguf.Type{f32: {gguf.F32}, F16: {gguf.F32, gguf.F16},
		BF16: {gguf.F32, gguf.BF16}, Q8: {gguf.F32, gguf.Q8_0}, q4KM: {gguf.F32, gguf.Q5_0, gguf.Q8_0}} {
		f, weights := plan(t, "qwen3", kind, nil)
		g := save(t, f)
		var types []gguf.Type
		for _, x := range g.Tensors {
			types = append(types, x.Type)
			if len(x.Shape) == 1 && x.Type != gguf.F32 {
				t.Errorf("%s: vector %s is %s", kind, x.Name, x.Type)
			}
		}
		slices.Sort(types)
		if got := slices.Compact(types); !slices.Equal(got, want) {
			t.Errorf("%s has the types %v, want %v", kind, got, want)
		}
		for _, l := range f.Losses() {
			if l.Type == gguf.F32 && l.Error != 0 || l.Type == gguf.BF16 && l.Error != 0 || l.Error > 0.1 {
				t.Errorf("%s: %s lost %v of bf16 weights", kind, l.Type, l.Error)
			}
		}
		near(t, g, "blk.1.ffn_down.weight", weights["model.layers.1.mlp.down_proj.weight"], 0.1)
	}
}

// near compares a tensor that is not reordered.
func near(t *testing.T, g *gguf.File, name string, want []float32, most float64) {
	t.Helper()
	x, ok := g.Tensor(name)
	got := make([]float32, x.Len())
	if err := g.Floats(x, got, 0); err != nil || !ok {
		t.Fatal(name, ok, err)
	}
	miss, all := 0.0, 0.0
	for i, v := range want {
		miss += math.Pow(float64(got[i])-float64(v), 2)
		all += math.Pow(float64(v), 2)
	}
	if e := math.Sqrt(miss / all); !(e <= most) {
		t.Errorf("%s: an error of %v", name, e)
	}
}

// A tensor of several chunks is the same as in one.
func TestChunks(t *testing.T) {
	const rows, width, head = 4 * 48, 4096, 48
	x := make([]float32, rows*width)
	for i := range x {
		x[i] = float32(i%8191) - 4000
	}
	p := part{tensor: tensor{name: "x", kind: gguf.F32, shape: []int64{rows, width}, head: head},
		rows: func(_ string, first int, to []float32) error { copy(to, x[first*width:]); return nil }}
	var got bytes.Buffer
	if err := p.write(&got); err != nil {
		t.Fatal(err)
	}
	for _, row := range []int{0, 1, 23, 24, 47, 48, 95, 191} { // in the folder
		at := row/head*head + 2*(row%head%24) + row%head/24
		back := make([]float32, width)
		if err := gguf.Widen(gguf.F32, back, got.Bytes()[4*at*width:4*(at+1)*width]); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(back, x[row*width:(row+1)*width]) {
			t.Errorf("row %d is not row %d of the file", row, at)
		}
	}
}

// Weights that are damaged or that a type cannot hold are refused with the tensor's name.
func TestDamagedWeights(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for name, tt := range map[string]struct {
		kind Kind
		x    float32
		want string
	}{
		"nan":       {f32, nan, "tensor blk.1.ffn_up.weight: element 2 of row 1"},
		"infinite":  {Q8, inf, "tensor blk.1.ffn_up.weight: element 2 of row 1"},
		"too great": {F16, 1e6, "tensor blk.1.ffn_up.weight stored as F16"},
	} {
		f, _ := plan(t, "qwen3", tt.kind, func(_ *Shape, m memory) {
			m["model.layers.1.mlp.up_proj.weight"][64+2] = tt.x
		})
		if err := f.Encode(io.Discard); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

// What is not in the file as it was written is found: one bit of a tensor, of a key, of a name.
func TestCheckFinds(t *testing.T) {
	f, _ := plan(t, "qwen2", Q8, nil)
	whole, err := os.ReadFile(save(t, f).Path())
	if err != nil {
		t.Fatal(err)
	}
	for what, at := range map[string]int{
		"not what was written": bytes.Index(whole, []byte("<|im_start|>")) + 3,
		"tensor 0 is":          bytes.Index(whole, []byte("token_embd")) + 2,
		"the disk may be":      len(whole) - 100,
		"key qwen2.block":      bytes.Index(whole, []byte("qwen2.block_count")) + len("qwen2.block_count") + 4,
	} {
		data := slices.Clone(whole)
		data[at] ^= 1
		path := filepath.Join(t.TempDir(), "y.gguf")
		write(t, filepath.Dir(path), "y.gguf", data)
		g, err := gguf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		if err := f.Check(g); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("byte %d: %v, want %q", at, err, what)
		}
	}
}

// What GGUF has no place for is refused.
func TestShapesRefused(t *testing.T) {
	for want, change := range map[string]func(*Shape){
		"max_position_embeddings": func(s *Shape) { s.Context = 0 },
		`family "gemma"`:          func(s *Shape) { s.Family = "gemma" },
		"rope_type llama3":        func(s *Shape) { s.Llama3 = &Llama3{Factor: 8, Low: 1, High: 4, Original: 8192} },
		"4 heads of width 32":     func(s *Shape) { s.Family = "qwen2" },
	} {
		m := lookalikes()["qwen3"]
		change(&m.shape)
		_, err := Model{Shape: m.shape, Dir: folder(t, m.tok, m.conf)}.Plan(F16)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := (Model{}).Plan("q5"); err == nil || !strings.Contains(err.Error(), "f32, f16, bf16, q8_0, q4_k_m") {
		t.Errorf("an unknown kind: %v", err)
	}
}

// The types of Q4_K_M are llama-quantize's for models of real sizes: by layer, v and down.
func TestMix(t *testing.T) {
	s := Shape{Family: "llama", Vocab: 32000, Dim: 4096, Layers: 32, Heads: 32, KVHeads: 8, HeadDim: 128, FF: 14336}
	six := []int{0, 1, 2, 3, 6, 9, 12, 15, 18, 21, 24, 27, 28, 29, 30, 31}
	for _, x := range s.tensors() {
		want := gguf.Q4_K
		switch {
		case len(x.shape) == 1:
			want = gguf.F32
		case x.name == "output.weight":
			want = gguf.Q6_K
		case strings.Contains(x.name, "attn_v") || strings.Contains(x.name, "ffn_down"):
			if slices.Contains(six, x.layer) {
				want = gguf.Q6_K
			}
		}
		if got := s.typeOf(x, q4KM); got != want {
			t.Errorf("%s is %s, want %s", x.name, got, want)
		}
	}
	s.Layers, s.Tied, s.Dim = 80, true, 8192
	for name, want := range map[string]gguf.Type{"token_embd.weight": gguf.Q6_K, "blk.10.attn_v.weight": gguf.Q5_K,
		"blk.9.attn_v.weight": gguf.Q6_K, "blk.10.attn_k.weight": gguf.Q4_K} {
		for _, x := range s.tensors() {
			if got := s.typeOf(x, q4KM); x.name == name && got != want {
				t.Errorf("80 layers: %s is %s, want %s", name, got, want)
			}
		}
	}
	for width, want := range map[int]gguf.Type{256: gguf.Q4_K, 320: gguf.Q5_0, 100: gguf.F16} {
		if got := fits(gguf.Q4_K, width); got != want {
			t.Errorf("rows of %d: %s, want %s", width, got, want)
		}
	}
}
