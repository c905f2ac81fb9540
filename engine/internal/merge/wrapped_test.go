package merge

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/cache"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// The text of a model with others around it gets its adapter when it is merged, and the adapter is exported under the
// names that peft has in such a model.
func TestWrapped(t *testing.T) {
	base := "../model/testdata/families/gemma3-nested"
	r := newRunner(t, 1)
	w, err := model.Load(base, r.Compute)
	if err != nil {
		t.Fatal(err)
	}
	c := w.Config
	p := model.PEFT{Base: "some/base", LoRA: model.LoRA{Rank: 2, Alpha: 4, Attn: true, MLP: true}}
	p.Fill(c)
	for i, x := range p.Tensors {
		for j := range x.Data {
			x.Data[j] = float32(math.Sin(float64(i + j)))
		}
	}
	k, _ := kernel.Best(kernel.Native())
	a, err := w.NewAdapter(p.LoRA, p.Tensors, k)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "merged")
	if err := Write(base, p, out, "", disk.OS(), r.Compute); err != nil {
		t.Fatal(err)
	}
	merged, err := model.Load(out, r.Compute)
	if err != nil {
		t.Fatal(err)
	}
	plain, want, got := lastLogits(r, w, nil), lastLogits(r, w, a), lastLogits(r, merged, nil)
	if d, all := distance(got, want), distance(plain, want); !(d < all/20) {
		t.Errorf("merged logits are %v from the adapter's, the base's are %v", d, all)
	}
	exported(t, p, base)
}

func exported(t *testing.T, p model.PEFT, base string) {
	t.Helper()
	f, err := Foreign(p, base)
	if err != nil || f == nil {
		t.Fatalf("%v, %v", f, err)
	}
	defer f.Close()
	var file bytes.Buffer
	if err := f.Write(&file); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(file.String(), model.PEFTPrefix+"model.language_model.layers.0.self_attn.q_proj") {
		t.Errorf("the names of the file: %.200q", file.String())
	}
	dir := t.TempDir()
	for name, raw := range map[string][]byte{model.PEFTWeightsFile: file.Bytes(), model.PEFTConfigFile: f.Config} {
		if err := os.WriteFile(filepath.Join(dir, name), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	back, err := model.ReadPEFT(dir)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string][]float32{}
	for _, x := range back.Tensors {
		values[x.Name] = x.Data
	}
	for _, x := range p.Tensors {
		if !slices.Equal(values[x.Name], x.Data) {
			t.Errorf("%s came back with other values", x.Name)
		}
	}
}

// lastLogits returns the logits after a few tokens, with the adapter unless it is nil.
func lastLogits(r *model.Runner, w *model.Weights, a *model.Adapter) []float32 {
	seq := model.Seq{Tokens: []int32{3, 1, 4, 1, 5, 9, 2, 6}, Adapter: a}
	pages := cache.New(w.Config.Pages(), w.Config.Memory(), 1<<20)
	for _, p := range pages.Alloc(cache.PagesFor(len(seq.Tokens)), true) {
		seq.Pages = append(seq.Pages, &p.Page)
	}
	hidden := r.Forward(w, []model.Seq{seq}, nil)
	out := make([]float32, w.Config.Vocab)
	r.Logits(w, []model.Seq{seq}, hidden, []int{len(seq.Tokens) - 1}, out)
	return out
}

func distance(a, b []float32) (most float64) {
	for i := range a {
		most = max(most, math.Abs(float64(a[i])-float64(b[i])))
	}
	return most
}
