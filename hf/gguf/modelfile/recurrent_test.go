package modelfile

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf/modeldir"
	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
)

// deltaModel is a small Qwen3.5: of two layers the second has attention.
func deltaModel(t *testing.T) Model {
	s := Shape{Family: "qwen3_5_text", Vocab: 960, Dim: 32, Layers: 2, Heads: 2, KVHeads: 1, HeadDim: 16, FF: 48,
		Context: 64, Eps: 1e-6, Theta: 1e7, Tied: true, Rotated: 4, Recurrent: []bool{true, false}, Taps: 4,
		Delta: Delta{Keys: 2, Values: 4, KeyDim: 8, ValueDim: 8}}
	weights := small(s)
	return Model{Name: "x", Shape: s, Dir: folder(t, "qwen2", "{}"), Weights: weights}
}

// Layers of multi-token prediction, which stand behind the others in a file of Qwen3.5, are left out.
func TestPredictedTokens(t *testing.T) {
	f, err := deltaModel(t).Plan(F16)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range f.pairs {
		switch p.Key {
		case "qwen35.block_count":
			f.pairs[i].Value = uint32(3)
		case "qwen35.attention.recurrent_layers":
			f.pairs[i].Value = []bool{true, false, false}
		}
	}
	f.pairs = append(f.pairs, gguf.Pair{Key: "qwen35.nextn_predict_layers", Value: uint32(1)})
	next := tensor{name: "blk.2.nextn.eh_proj.weight", shape: []int64{32, 64}, kind: gguf.F16}
	f.parts = append(f.parts, &part{tensor: next, rows: func(string, int, []float32) error { return nil }})
	dir := t.TempDir()
	if err := modeldir.Write(save(t, f), dir); err != nil {
		t.Fatal(err)
	}
	folder, err := safetensors.Open(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	if got, want := len(folder.Tensors()), len(f.parts)-1; got != want {
		t.Errorf("the folder has %d tensors, want %d", got, want)
	}
}

// A file cannot say that the keys of a delta rule have another width than its values, and its factors would have to be
// reordered.
func TestDeltaRefused(t *testing.T) {
	m := deltaModel(t)
	factor := Factor{A: make([]float32, 32), B: make([]float32, 4)}
	a := Adapter{Name: "x", Shape: m.Shape, Rank: 1, Alpha: 1,
		Factors: map[string]Factor{"model.layers.0.linear_attn.in_proj_a": factor}}
	if _, err := a.Plan(); err == nil || !strings.Contains(err.Error(), "in_proj_a, where llama.cpp takes none") {
		t.Errorf("an adapter: %v", err)
	}
	m.Shape.Delta.ValueDim = 4
	if _, err := m.Plan(F16); err == nil || !strings.Contains(err.Error(), "linear_value_head_dim 4 cannot") {
		t.Errorf("other widths: %v", err)
	}
}

// Files of recurrent models with damaged metadata are refused or become a folder, without a panic.
func TestDamagedRecurrent(t *testing.T) {
	delta := deltaModel(t)
	conv := delta
	conv.Shape.Family, conv.Shape.Rotated, conv.Shape.Taps, conv.Shape.Delta = "lfm2", 0, 3, Delta{}
	conv.Weights = small(conv.Shape)
	r, dir, refused := rand.New(rand.NewPCG(3, 9)), t.TempDir(), 0
	const each = 100
	for _, m := range []Model{delta, conv} {
		f, err := m.Plan(BF16)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := f.Encode(&b); err != nil {
			t.Fatal(err)
		}
		end := bytes.Index(b.Bytes(), []byte("tokenizer.ggml."))
		for range each {
			raw := slices.Clone(b.Bytes())
			for range 1 + r.IntN(3) {
				edges := []uint32{0, 1, 2, 3, 5, 64, 1 << 16, 1<<31 - 1, 1 << 31, 1<<32 - 1, r.Uint32()}
				binary.LittleEndian.PutUint32(raw[24+r.IntN(end-28):], edges[r.IntN(len(edges))])
			}
			g, err := gguf.Read(bytes.NewReader(raw), int64(len(raw)), "x.gguf")
			if err == nil {
				err = modeldir.Write(g, dir)
			}
			if err != nil {
				refused++
			}
		}
	}
	if refused < each/2 || refused == 2*each {
		t.Errorf("%d of %d were refused", refused, 2*each)
	}
}
