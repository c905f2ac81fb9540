package merge

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// adapterOf writes the adapter of a golden, W + 2·B·A on the matrices that keep accepts, as peft would, and its logits.
func adapterOf(t *testing.T, golden string, keep func(name string) bool) (dir string) {
	t.Helper()
	f, err := safetensors.Open(filepath.Join(golden, "expected.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	factors, expected := map[string]safetensors.Tensor{}, map[string]safetensors.Tensor{}
	for _, x := range f.Tensors() {
		name, isLoRA := strings.CutPrefix(x.Name, "lora.")
		if x.Name = strings.TrimPrefix(x.Name, "lora_"); !isLoRA {
			expected[x.Name] = x // lora_logits in place of logits, which are before them
			continue
		}
		if keep(name) {
			x.Name = model.PEFTPrefix + name[:len(name)-1] + "lora_" + name[len(name)-1:] + ".weight"
			factors[x.Name] = x
		}
	}
	dir = t.TempDir()
	for file, list := range map[string]map[string]safetensors.Tensor{model.PEFTWeightsFile: factors,
		"expected.safetensors": expected} {
		if err := safetensors.Write(filepath.Join(dir, file), slices.Collect(maps.Values(list)), nil); err != nil {
			t.Fatal(err)
		}
	}
	config := []byte(`{"peft_type": "LORA", "r": 2, "lora_alpha": 4, "bias": "none"}`)
	if err := os.WriteFile(filepath.Join(dir, model.PEFTConfigFile), config, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// An adapter on experts in MXFP4 is merged into a folder in bf16, as transformers saves it; the sums are transformers'
// before they are rounded. An adapter on attention leaves the experts as they are.
func TestMergeStacked(t *testing.T) {
	r := newRunner(t, 2)
	base := filepath.Join("..", "model", "testdata", "families", "gptoss")
	for what, keep := range map[string]func(string) bool{"all": func(string) bool { return true },
		"attention": func(name string) bool { return strings.Contains(name, "self_attn") }} {
		dir, out := adapterOf(t, base, keep), filepath.Join(t.TempDir(), "merged")
		p, err := model.ReadPEFT(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := Write(base, p, out, "", disk.OS(), r.Compute); err != nil {
			t.Fatal(err)
		}
		config, err := os.ReadFile(filepath.Join(out, "config.json"))
		if quantised := strings.Contains(string(config), "mxfp4"); err != nil || quantised != (what == "attention") {
			t.Errorf("%s: %v, config.json is\n%s", what, err, config)
		}
		f, err := model.OpenFiles(out)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		const name = "model.layers.1.mlp.experts.gate_up_proj"
		if x, ok := f.Tensor(name); ok != (what == "all") || ok && (!slices.Equal(x.Shape, []int{4, 64, 64}) ||
			x.DType != safetensors.BF16) {
			t.Errorf("%s: %s is there: %v, %s%v", what, name, ok, x.DType, x.Shape)
		}
		merged, err := model.Load(out, r.Compute)
		if err != nil {
			t.Fatal(err)
		}
		sums, err := Open(base, &p, r.K)
		if err != nil {
			t.Fatal(err)
		}
		defer sums.Close()
		c, tensors := merged.Config, merged.Tensors()
		for _, x := range tensors {
			sum := make([]float32, len(x.Data))
			if err := sums.Rows(x.Name, 0, sum); err != nil {
				t.Fatal(err)
			}
			rounded := slices.Clone(sum)
			if r.K.RoundBF16(rounded, rounded); !slices.Equal(rounded, x.Data) {
				t.Errorf("%s: %s is not the rounded sum", what, x.Name)
			}
			copy(x.Data, sum)
		}
		if c.BF16 = false; what == "all" {
			w, err := model.NewWeights(c, tensors, r.Compute)
			if err != nil {
				t.Fatal(err)
			}
			compareLogits(t, r, w, dir, 2e-5)
		}
	}
}
