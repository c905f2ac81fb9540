package merge

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/cache"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
)

// A merged model gives the logits of the model with its adapter, to the precision of the model's type. Shards and
// dtypes stay the same, and so does a tied embedding unless the adapter is on the head.
func TestMerge(t *testing.T) {
	r := newRunner(t, 2)
	for _, tt := range []struct {
		adapter, base string
		tied          bool
		files         int
	}{
		{"llama32-qv", "llama32", true, 2},
		{"llama31-attn", "llama31", false, 6},
		{"qwen3-head", "qwen3", false, 2},
		{"mistral-rslora", "mistral", false, 5},
		{"phi4mini-all", "phi4mini", true, 2},
		{"lfm2-all", "lfm2", true, 2},
		{"qwen3moe-all", "qwen3moe", false, 2},
	} {
		t.Run(tt.adapter, func(t *testing.T) {
			dir := filepath.Join("..", "model", "testdata", "peft", tt.adapter)
			p, err := model.ReadPEFT(dir)
			if err != nil {
				t.Fatal(err)
			}
			base, out := filepath.Join("..", "model", "testdata", "families", tt.base),
				filepath.Join(t.TempDir(), "merged")
			if err := Write(base, p, out, "", disk.OS(), r.Compute); err != nil {
				t.Fatal(err)
			}
			if files, err := os.ReadDir(out); err != nil || len(files) != tt.files {
				t.Errorf("%d files, %v; want %d: %v", len(files), err, tt.files, files)
			}
			w, err := model.Load(out, r.Compute)
			if err != nil {
				t.Fatal(err)
			}
			c := w.Config
			if c.Tied != tt.tied || !c.BF16 {
				t.Errorf("merged into %+v", c)
			}
			c.BF16 = false // compare the rounding of the weights alone
			if w, err = model.NewWeights(c, w.Tensors(), r.Compute); err != nil {
				t.Fatal(err)
			}
			compareLogits(t, r, w, dir, 0.02)
			if err := Write(base, p, out, "", disk.OS(), r.Compute); err == nil ||
				!strings.Contains(err.Error(), "exists already") {
				t.Errorf("merging into a full folder: %v", err)
			}
		})
	}
	p, err := model.ReadPEFT("../model/testdata/peft/qwen25-all")
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "merged")
	if err := Write("../model/testdata/families/llama32", p, out, "", disk.OS(), r.Compute); err == nil ||
		!strings.Contains(err.Error(), "does not fit") {
		t.Errorf("another model's adapter: %v", err)
	}
	if there(out) || there(out+"~new") {
		t.Error("a failed merge leaves something")
	}
}

// Before rounding the sums give the logits to float32's precision, and Write rounds each of them. A delta rule's are
// too sensitive for TestMerge.
func TestRows(t *testing.T) {
	r := newRunner(t, 2)
	for adapter, base := range map[string]string{"qwen35-all": "qwen35", "lfm2-all": "lfm2"} {
		dir := filepath.Join("..", "model", "testdata", "peft", adapter)
		base, out := filepath.Join("..", "model", "testdata", "families", base), filepath.Join(t.TempDir(), "merged")
		p, err := model.ReadPEFT(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := Write(base, p, out, "", disk.OS(), r.Compute); err != nil {
			t.Fatal(err)
		}
		sums, err := Open(base, &p, r.K)
		if err != nil {
			t.Fatal(err)
		}
		defer sums.Close()
		w, err := model.Load(out, r.Compute)
		if err != nil {
			t.Fatal(err)
		}
		c, tensors := w.Config, w.Tensors()
		for _, x := range tensors {
			sum := make([]float32, len(x.Data))
			if err := sums.Rows(x.Name, 0, sum); err != nil {
				t.Fatal(err)
			}
			want, err := safetensors.FromFloats(x.Name, safetensors.BF16, x.Shape, sum)
			if err != nil || !bytes.Equal(want.Data, safetensors.FromBF16(x.Name, x.Shape, x.Data).Data) {
				t.Fatalf("%s: %s is not the rounded sum (%v)", adapter, x.Name, err)
			}
			copy(x.Data, sum)
		}
		c.BF16 = false
		if w, err = model.NewWeights(c, tensors, r.Compute); err != nil {
			t.Fatal(err)
		}
		compareLogits(t, r, w, dir, 2e-5)
	}
}

// The base's chat templates come along, or the given one in place of all of them.
func TestMergeTemplates(t *testing.T) {
	r := newRunner(t, 1)
	p, err := model.ReadPEFT("../model/testdata/peft/qwen3-head")
	if err != nil {
		t.Fatal(err)
	}
	base := t.TempDir()
	if err := os.CopyFS(base, os.DirFS("../model/testdata/families/qwen3")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(base, tokenizer.TemplatesDir), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"tokenizer_config.json": `{"chat_template": "old"}`,
		model.TemplateFile: "plain", tokenizer.TemplatesDir + "/tool_use.jinja": "tools"} {
		if err := os.WriteFile(filepath.Join(base, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for template, want := range map[string]string{"": "plain tools", "own": "own "} {
		out := filepath.Join(t.TempDir(), "merged")
		if err := Write(base, p, out, template, disk.OS(), r.Compute); err != nil {
			t.Fatal(err)
		}
		c, err := tokenizer.LoadConfig(out)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.ChatTemplate + " " + c.Templates["tool_use"]; got != want {
			t.Errorf("with template %q the model has %q, want %q", template, got, want)
		}
	}
}

// A merge that is stopped anywhere leaves no folder or a complete one.
func TestMergeSurvivesEveryCrash(t *testing.T) {
	r := newRunner(t, 1)
	p, err := model.ReadPEFT("../model/testdata/peft/llama32-qv")
	if err != nil {
		t.Fatal(err)
	}
	for stop := 1; ; stop++ {
		crash := &disktest.Crash{FS: disk.OS(), At: stop}
		out := filepath.Join(t.TempDir(), "merged")
		err := Write("../model/testdata/families/llama32", p, out, "", crash, r.Compute)
		if there(out) {
			if _, err := model.Load(out, r.Compute); err != nil {
				t.Fatalf("stopped at operation %d: %v", stop, err)
			}
		}
		if err == nil {
			if stop < 8 {
				t.Errorf("a merge of %d operations", stop)
			}
			return
		}
	}
}

func newRunner(t *testing.T, workers int) *model.Runner {
	k, _ := kernel.Best(kernel.Native())
	p := kernel.NewPool(workers)
	t.Cleanup(p.Close)
	return model.NewRunner(nn.Compute{K: k, P: p})
}

// compareLogits compares logits with those that Python's peft computed. They may differ by a share of the largest.
func compareLogits(t *testing.T, r *model.Runner, w *model.Weights, dir string, share float64) {
	t.Helper()
	f, err := safetensors.Open(filepath.Join(dir, "expected.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	values := map[string][]float32{}
	for _, x := range f.Tensors() {
		if values[x.Name], err = x.Floats(); err != nil {
			t.Fatal(err)
		}
	}
	var tokens []int32
	for _, v := range values["tokens"] {
		tokens = append(tokens, int32(v))
	}
	var rows []int
	for _, v := range values["rows"] {
		rows = append(rows, int(v))
	}
	pages := cache.New(w.Config.Pages(), w.Config.Memory(), 1<<20).Alloc(cache.PagesFor(len(tokens)), true)
	seq := model.Seq{Tokens: tokens}
	for _, p := range pages {
		seq.Pages = append(seq.Pages, &p.Page)
	}
	hidden := r.Forward(w, []model.Seq{seq}, nil)
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	got, want := make([]float32, len(rows)*w.Config.Vocab), values["logits"]
	r.Logits(w, []model.Seq{seq}, hidden, rows, got)
	if len(got) != len(want) {
		t.Fatalf("%d logits, want %d", len(got), len(want))
	}
	largest := 0.0
	for _, v := range want {
		largest = max(largest, math.Abs(float64(v)))
	}
	for i := range want {
		if d := math.Abs(float64(got[i]) - float64(want[i])); !(d <= share*largest) {
			t.Fatalf("logit %d is %v, want %v", i, got[i], want[i])
		}
	}
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
