package model

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
)

// A merged model gives the logits of the model with its adapter, to the precision of the model's type. Shards and
// dtypes stay the same, and so does a tied embedding unless the adapter is on the head.
func TestMerge(t *testing.T) {
	r, k := newRunner(t, 2)
	for _, tt := range []struct {
		adapter, base string
		tied          bool
		files         int
	}{
		{"llama32-qv", "llama32", true, 2},
		{"llama31-attn", "llama31", false, 6},
		{"qwen3-head", "qwen3", false, 2},
		{"mistral-rslora", "mistral", false, 5},
	} {
		t.Run(tt.adapter, func(t *testing.T) {
			dir := filepath.Join("testdata", "peft", tt.adapter)
			p, err := ReadPEFT(dir)
			if err != nil {
				t.Fatal(err)
			}
			base, out := filepath.Join("testdata", "families", tt.base), filepath.Join(t.TempDir(), "merged")
			if err := Merge(base, p, out, "", disk.OS(), r.Compute); err != nil {
				t.Fatal(err)
			}
			if files, err := os.ReadDir(out); err != nil || len(files) != tt.files {
				t.Errorf("%d files, %v; want %d: %v", len(files), err, tt.files, files)
			}
			w, err := Load(out, r.Compute)
			if err != nil {
				t.Fatal(err)
			}
			c := w.Config
			if c.Tied != tt.tied || !c.BF16 {
				t.Errorf("merged into %+v", c)
			}
			c.BF16 = false // compare the rounding of the weights alone
			if w, err = NewWeights(c, w.Tensors(), alone(k)); err != nil {
				t.Fatal(err)
			}
			tokens, rows, want := expectedLogits(t, dir)
			near(t, "logits", logitsOf(t, r, w, nil, tokens, rows), want, 0.02)
			if err := Merge(base, p, out, "", disk.OS(), r.Compute); err == nil ||
				!strings.Contains(err.Error(), "exists already") {
				t.Errorf("merging into a full folder: %v", err)
			}
		})
	}
	p, err := ReadPEFT("testdata/peft/qwen25-all")
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "merged")
	if err := Merge("testdata/families/llama32", p, out, "", disk.OS(), r.Compute); err == nil ||
		!strings.Contains(err.Error(), "does not fit") {
		t.Errorf("another model's adapter: %v", err)
	}
	if exists(out) || exists(out+"~new") {
		t.Error("a failed merge leaves something")
	}
}

// The base's chat templates come along, or the given one in place of all of them.
func TestMergeTemplates(t *testing.T) {
	r, _ := newRunner(t, 1)
	p, err := ReadPEFT("testdata/peft/qwen3-head")
	if err != nil {
		t.Fatal(err)
	}
	base := t.TempDir()
	if err := os.CopyFS(base, os.DirFS("testdata/families/qwen3")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(base, tokenizer.TemplatesDir), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"tokenizer_config.json": `{"chat_template": "old"}`,
		TemplateFile: "plain", tokenizer.TemplatesDir + "/tool_use.jinja": "tools"} {
		if err := os.WriteFile(filepath.Join(base, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for template, want := range map[string]string{"": "plain tools", "own": "own "} {
		out := filepath.Join(t.TempDir(), "merged")
		if err := Merge(base, p, out, template, disk.OS(), r.Compute); err != nil {
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
	r, _ := newRunner(t, 1)
	p, err := ReadPEFT("testdata/peft/llama32-qv")
	if err != nil {
		t.Fatal(err)
	}
	for stop := 1; ; stop++ {
		crash := &disktest.Crash{FS: disk.OS(), At: stop}
		out := filepath.Join(t.TempDir(), "merged")
		err := Merge("testdata/families/llama32", p, out, "", crash, r.Compute)
		if exists(out) {
			if _, err := Load(out, r.Compute); err != nil {
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
