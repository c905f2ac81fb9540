package engine

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf/modeldir"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf/modelfile"
)

// A gpt-oss written as GGUF is the same model when it is read again, and so is the file with experts in MXFP4, as those
// that are published have them: a scale, then 16 bytes with columns 0 to 15 in their low halves and 16 to 31 above.
func TestSinksGGUF(t *testing.T) {
	base, path := speaking(t, "gptoss"), filepath.Join(t.TempDir(), "x.gguf")
	if _, _, err := (GGUF{Base: base, Name: "x"}).Write(modelfile.BF16, path); err != nil {
		t.Fatal(err)
	}
	files, err := model.OpenFiles(base)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	plain, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	var parts []gguf.Part
	for _, x := range plain.Tensors {
		write := func(to io.Writer) error {
			values := make([]float32, x.Len())
			size, _ := x.Type.Bytes(x.Len())
			raw := make([]byte, size)
			if err := plain.Floats(x, values, 0); err != nil {
				return err
			}
			if err := gguf.Narrow(x.Type, raw, values); err != nil {
				return err
			}
			_, err := to.Write(raw)
			return err
		}
		if strings.HasSuffix(x.Name, "_exps.weight") {
			x.Type, write = gguf.MXFP4, func(to io.Writer) error { return writeMXFP4(to, files, x.Name) }
		}
		parts = append(parts, gguf.Part{Name: x.Name, Type: x.Type, Shape: x.Shape, Write: write})
	}
	packed := filepath.Join(t.TempDir(), "packed.gguf")
	f, err := os.Create(packed)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := gguf.Encode(f, pairsOf(plain.Metadata), parts); err != nil {
		t.Fatal(err)
	}
	want := weightsOf(t, base)
	for _, from := range []string{path, packed} {
		g, err := gguf.Open(from)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		again := t.TempDir()
		if err := modeldir.Write(g, again); err != nil {
			t.Fatal(err)
		}
		sameConfig(t, again, base)
		if from == packed { // byte for byte the tensors of the hub's folder
			back, err := model.OpenFiles(again)
			if err != nil {
				t.Fatal(err)
			}
			defer back.Close()
			for _, x := range files.Shards[0].Tensors() {
				y, err := back.Shards[0].Tensor(x.Name)
				if err != nil || !slices.Equal(x.Shape, y.Shape) || !bytes.Equal(x.Data, y.Data) {
					t.Errorf("%s is another tensor, %v", x.Name, err)
				}
			}
		}
		if c, err := model.LoadConfig(again); err != nil || c.MXFP4 != (from == packed) {
			t.Errorf("%s: in MXFP4 %v, %v", filepath.Base(from), c.MXFP4, err)
		}
		for i, x := range weightsOf(t, again) {
			if !slices.Equal(x.Data, want[i].Data) {
				t.Errorf("%s: %s is another than in the folder", filepath.Base(from), x.Name)
			}
		}
	}
}

// pairsOf are the metadata of a gpt-oss that this program wrote.
func pairsOf(m gguf.Metadata) (list []gguf.Pair) {
	add := func(key string, v any, ok bool, err error) {
		if ok && err == nil {
			list = append(list, gguf.Pair{Key: key, Value: v})
		}
	}
	for _, key := range strings.Fields("general.architecture general.type gpt-oss.rope.scaling.type " +
		"tokenizer.ggml.model tokenizer.ggml.pre") {
		v, ok, err := m.Text(key)
		add(key, v, ok, err)
	}
	for _, key := range strings.Fields("vocab_size context_length embedding_length block_count feed_forward_length " +
		"attention.head_count attention.head_count_kv attention.key_length attention.value_length " +
		"rope.dimension_count attention.sliding_window expert_count expert_used_count expert_feed_forward_length " +
		"rope.scaling.original_context_length") {
		v, ok, err := m.Int("gpt-oss." + key)
		add("gpt-oss."+key, uint32(v), ok, err)
	}
	for _, key := range strings.Fields("attention.layer_norm_rms_epsilon rope.freq_base rope.scaling.factor") {
		v, ok, err := m.Float("gpt-oss." + key)
		add("gpt-oss."+key, float32(v), ok, err)
	}
	for _, key := range []string{"tokenizer.ggml.tokens", "tokenizer.ggml.merges"} {
		v, ok, err := m.Texts(key)
		add(key, v, ok, err)
	}
	types, ok, err := m.Ints("tokenizer.ggml.token_type")
	var kinds []int32
	for _, v := range types {
		kinds = append(kinds, int32(v))
	}
	add("tokenizer.ggml.token_type", kinds, ok, err)
	return list
}

func weightsOf(t *testing.T, dir string) []model.Tensor {
	t.Helper()
	p := kernel.NewPool(2)
	defer p.Close()
	w, err := model.Load(dir, nn.Compute{K: kernels(), P: p})
	if err != nil {
		t.Fatal(err)
	}
	return w.Tensors()
}

// writeMXFP4 writes a stack of experts as blocks of GGUF, from those of the hub's layout.
func writeMXFP4(to io.Writer, files *model.Files, name string) error {
	layer, kind, _ := strings.Cut(strings.TrimPrefix(name, "blk."), ".")
	stack, first, step := "down_proj", 0, 1
	if !strings.HasPrefix(kind, "ffn_down") {
		stack, step = "gate_up_proj", 2
	}
	if strings.HasPrefix(kind, "ffn_up") {
		first = 1
	}
	blocks, _ := files.Tensor("model.layers." + layer + ".mlp.experts." + stack + "_blocks")
	scales, _ := files.Tensor("model.layers." + layer + ".mlp.experts." + stack + "_scales")
	groups := blocks.Shape[2]
	for row := first; row < blocks.Shape[0]*blocks.Shape[1]; row += step {
		for g := row * groups; g < (row+1)*groups; g++ {
			block := make([]byte, 17)
			block[0] = scales.Data[g]
			for column := range 32 {
				code := blocks.Data[g*16+column/2] >> (column % 2 * 4) & 15
				block[1+column%16] |= code << (column / 16 * 4)
			}
			if _, err := to.Write(block); err != nil {
				return err
			}
		}
	}
	return nil
}
