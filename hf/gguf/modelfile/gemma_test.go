package modelfile

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf/gguftest"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf/modeldir"
	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
)

// gemmaPieces are the pieces of the vocabulary, best first.
var gemmaPieces = []string{"▁t", "he", "in", "▁a", "▁the", "er", "hat", "ing", "▁an", "h", "e", "i", "n", "r", "t", "a",
	"g", ".", "é", "世", "界", "世界", "s", "u", "b"}

// gemmaFile is a small Gemma 3 as llama.cpp's converter writes it, with other numbers than llama.cpp's defaults.
func gemmaFile() gguftest.Model {
	return gguftest.Model{Arch: "gemma3", Tied: true, Vocabulary: gguftest.Gemma(gemmaPieces...), Keys: []gguf.Pair{
		{Key: "gemma3.attention.sliding_window_pattern", Value: uint32(2)},
		{Key: "gemma3.rope.freq_base_swa", Value: float32(500)},
		{Key: "gemma3.rope.freq_base", Value: float32(1e6)}, {Key: "gemma3.rope.scaling.type", Value: "linear"},
		{Key: "gemma3.rope.scaling.factor", Value: float32(8)}, {Key: "tokenizer.ggml.eot_token_id", Value: uint32(6)},
		{Key: "tokenizer.chat_template", Value: "{% for m in messages %}<start_of_turn>{{ m.content }}{% endfor %}"}}}
}

func gemmaShape(vocab int) Shape {
	return Shape{Family: "gemma3_text", Vocab: vocab, Dim: gguftest.Width, Layers: gguftest.Layers,
		Heads: gguftest.Heads, KVHeads: gguftest.KVHeads, HeadDim: gguftest.HeadDim, FF: gguftest.Inner,
		Context: gguftest.Context, Eps: 1e-5, Theta: 1e6, Linear: 8, Tied: true, Gemma: &Gemma{Window: gguftest.Window,
			Sliding: []bool{true, false}, LocalTheta: 500, Query: gguftest.HeadDim}}
}

// fromFile makes the model folder of a GGUF file.
func fromFile(t *testing.T, path string) (dir string) {
	t.Helper()
	g, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	dir = t.TempDir()
	if err := modeldir.Write(g, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// tensorsOf are the weights of a model folder.
func tensorsOf(t *testing.T, dir string) memory {
	t.Helper()
	f, err := safetensors.Open(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := memory{}
	for _, x := range f.Tensors() {
		if all[x.Name], err = x.Floats(); err != nil {
			t.Fatal(err)
		}
		widths[x.Name] = x.Shape[len(x.Shape)-1]
	}
	return all
}

// A Gemma 3 that is read, written in any kind and read again has the same configuration and tokenizer to the byte, and
// the same weights to the bits of the type. The file has what llama.cpp's converter writes.
func TestGemmaThereAndBack(t *testing.T) {
	source := filepath.Join(t.TempDir(), "converted.gguf")
	gemmaFile().Write(t, source)
	was, err := gguf.Open(source)
	if err != nil {
		t.Fatal(err)
	}
	defer was.Close()
	dir := fromFile(t, source)
	weights := tensorsOf(t, dir)
	s := gemmaShape(len(weights["model.embed_tokens.weight"]) / gguftest.Width)
	for _, kind := range Kinds() {
		f, err := Model{Name: "gemma", Shape: s, Weights: weights, Dir: dir, Ends: []int32{1, 6}}.Plan(kind)
		if err != nil {
			t.Fatal(err)
		}
		is := save(t, f)
		back := fromFile(t, is.Path())
		for _, name := range []string{"config.json", "tokenizer.json", "tokenizer_config.json"} {
			sameFile(t, name, dir, back)
		}
		sameIDs(t, dir, back)
		sameWeights(t, s, kind, weights, tensorsOf(t, back))
		sameVocabulary(t, was, is)
		sameNames(t, was, is)
		if !slices.Equal(f.Stops(), []string{"<eos>", "<end_of_turn>"}) {
			t.Errorf("%s: stops %q", kind, f.Stops())
		}
	}
}

func sameFile(t *testing.T, name, was, is string) {
	t.Helper()
	old, err := os.ReadFile(filepath.Join(was, name))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(is, name))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(old) {
		t.Errorf("%s is\n%s\nwant\n%s", name, got, old)
	}
}

// sameIDs compares the ids of texts of pieces, runs, tags, control tokens, and characters without a token.
func sameIDs(t *testing.T, was, is string) {
	t.Helper()
	old, err := tokenizer.Load(was)
	if err != nil {
		t.Fatal(err)
	}
	again, err := tokenizer.Load(is)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(4, 4))
	bits := append(slices.Clone(gemmaPieces), " ", "  ", "\n", "\n\n\n", "\t\t", "<h1>", "<sub>", "<end_of_turn>",
		"<bos>", "<mas", "<0x0A>", "ß", "😀", "\x00", strings.Repeat(" ", 31), strings.Repeat(" ", 40), "<unk>")
	for range 2000 {
		var b strings.Builder
		for range r.IntN(12) {
			b.WriteString(strings.ReplaceAll(bits[r.IntN(len(bits))], marker, " "))
		}
		if got, want := again.Encode(b.String(), true), old.Encode(b.String(), true); !slices.Equal(got, want) {
			t.Fatalf("%q is %v, want %v", b.String(), got, want)
		}
	}
}

// sameWeights compares with what rounding to each tensor's type leaves.
func sameWeights(t *testing.T, s Shape, kind Kind, want, got memory) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d tensors, want %d", kind, len(got), len(want))
	}
	types := map[string]gguf.Type{}
	for _, x := range s.tensors() {
		types[x.from] = s.typeOf(x, kind)
	}
	for name, w := range want {
		w = slices.Clone(w)
		if strings.HasSuffix(name, "norm.weight") {
			for i, v := range w { // 1+v is stored in float32
				w[i] = float32(v+1) - 1
			}
		}
		stored := types[name]
		size, _ := stored.Bytes(int64(len(w)))
		raw := make([]byte, size)
		if err := gguf.Narrow(stored, raw, w); err != nil {
			t.Fatal(err)
		}
		if err := gguf.Widen(stored, w, raw); err != nil {
			t.Fatal(err)
		}
		for i, v := range w {
			if v = math.Float32frombits(uint32(gguf.ToBF16(v)) << 16); got[name][i] != v {
				t.Fatalf("%s: element %d of %s is %v, want %v", kind, i, name, got[name][i], v)
			}
		}
	}
}

// sameVocabulary compares the metadata of the tokenizer with what a converter wrote, but for scores, whose order alone
// counts, and the kind of the unknown token.
func sameVocabulary(t *testing.T, was, is *gguf.File) {
	t.Helper()
	tokens, _, err1 := was.Metadata.Texts("tokenizer.ggml.tokens")
	got, _, err2 := is.Metadata.Texts("tokenizer.ggml.tokens")
	if err1 != nil || err2 != nil || !slices.Equal(got, tokens) {
		t.Errorf("the tokens are others: %v, %v", err1, err2)
	}
	types, _, err1 := was.Metadata.Ints("tokenizer.ggml.token_type")
	kinds, _, err2 := is.Metadata.Ints("tokenizer.ggml.token_type")
	types[3] = tokenUnknown
	if err1 != nil || err2 != nil || !slices.Equal(kinds, types) {
		t.Errorf("the types are %v, want %v: %v, %v", kinds, types, err1, err2)
	}
	for _, key := range []string{"bos_token_id", "eos_token_id", "eot_token_id", "unknown_token_id",
		"padding_token_id"} {
		want, _, err1 := was.Metadata.Int("tokenizer.ggml." + key)
		if n, ok, err2 := is.Metadata.Int("tokenizer.ggml." + key); n != want || !ok || err1 != nil || err2 != nil {
			t.Errorf("%s is %d, want %d: %v, %v", key, n, want, err1, err2)
		}
	}
	for key, want := range map[string]bool{"add_bos_token": true, "add_eos_token": false, "add_space_prefix": false} {
		if on, ok, err := is.Metadata.Bool("tokenizer.ggml." + key); on != want || !ok || err != nil {
			t.Errorf("%s is %v, %v: %v", key, on, ok, err)
		}
	}
	model, _, _ := is.Metadata.Text("tokenizer.ggml.model")
	if pre, _, err := is.Metadata.Text("tokenizer.ggml.pre"); model != "llama" || pre != "default" || err != nil {
		t.Errorf("the tokenizer is %q, %q: %v", model, pre, err)
	}
}

// sameNames compares the tensors' names and shapes, and the keys of the architecture.
func sameNames(t *testing.T, was, is *gguf.File) {
	t.Helper()
	for _, x := range was.Tensors {
		if y, ok := is.Tensor(x.Name); !ok || !slices.Equal(y.Shape, x.Shape) {
			t.Errorf("%s is there: %v, with the shape %v, want %v", x.Name, ok, y.Shape, x.Shape)
		}
	}
	if len(was.Tensors) != len(is.Tensors) {
		t.Errorf("%d tensors, want %d", len(is.Tensors), len(was.Tensors))
	}
	for _, p := range gemmaFile().Pairs() {
		if strings.HasPrefix(p.Key, "gemma3.") || p.Key == "general.architecture" {
			if same, err := holds(is.Metadata, p); !same || err != nil {
				t.Errorf("%s is not %v: %v", p.Key, p.Value, err)
			}
		}
	}
}
