package model

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
)

// families are the folders of testdata/families: see families.py and gradients.py there. wide ones are stored as f32 or
// f16.
var families = []struct {
	name, arch string
	wide, tied bool
	eos        int // how many
}{
	{"llama2", "LlamaForCausalLM", true, false, 1},
	{"llama31", "LlamaForCausalLM", false, false, 3},
	{"llama32", "LlamaForCausalLM", false, true, 3},
	{"llama-t5", "LlamaForCausalLM", false, false, 2},
	{"qwen25", "Qwen2ForCausalLM", false, true, 1},
	{"qwen2-t5", "Qwen2ForCausalLM", false, false, 0},
	{"qwen3", "Qwen3ForCausalLM", false, true, 1},
	{"qwen3-t5", "Qwen3ForCausalLM", true, true, 0},
	{"mistral", "MistralForCausalLM", false, false, 1},
	{"mistral-t5", "MistralForCausalLM", true, false, 1},
	{"nemo", "MistralForCausalLM", true, false, 1},
	{"gemma3", "Gemma3ForCausalLM", false, true, 1},
	{"gemma3-t5", "Gemma3ForCausalLM", true, true, 1},
	{"qwen35", "Qwen3_5ForCausalLM", false, true, 1},
	{"qwen35-gva", "Qwen3_5ForCausalLM", false, false, 1},
	{"smollm3", "SmolLM3ForCausalLM", false, true, 1},
	{"granite4", "GraniteMoeHybridForCausalLM", false, true, 1},
	{"ministral3", "Ministral3ForCausalLM", false, true, 0},
	{"mistral-window", "MistralForCausalLM", false, false, 1},
	{"ministral", "MinistralForCausalLM", false, false, 1},
	{"granite", "GraniteForCausalLM", false, false, 1},
	{"gemma3-nested", "Gemma3ForCausalLM", false, true, 2},
	{"lfm2", "Lfm2ForCausalLM", false, true, 1},
	{"phi4mini", "Phi3ForCausalLM", false, true, 1},
	{"qwen3moe", "Qwen3MoeForCausalLM", false, false, 0},
	{"qwen3moe-mixed", "Qwen3MoeForCausalLM", false, true, 0},
	{"gptoss", "GptOssForCausalLM", false, false, 0},
}

// Every family, with the configuration keys of its real files, gives the logits of transformers: to float32's
// precision in float32, and to bf16's if the files are bf16.
func TestFamilies(t *testing.T) {
	r, k := newRunner(t, 2)
	for _, tt := range families {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join("testdata", "families", tt.name)
			w, err := Load(dir, alone(k))
			if err != nil {
				t.Fatal(err)
			}
			c := w.Config
			if c.Arch.Name != tt.arch || c.BF16 == tt.wide || c.Tied != tt.tied || len(c.EOS) != tt.eos {
				t.Errorf("loaded as %+v", c)
			}
			tokens, rows, want := expectedLogits(t, dir)
			if c.BF16 {
				within := 0.02
				if c.Arch.Delta { // the state carries the rounding of all positions before
					within = 0.05
				}
				near(t, "bf16 logits", logitsOf(t, r, w, nil, tokens, rows), want, within)
				c.BF16 = false
				if w, err = NewWeights(c, w.Tensors(), alone(k)); err != nil {
					t.Fatal(err)
				}
			}
			near(t, "logits", logitsOf(t, r, w, nil, tokens, rows), want, 2e-5)
		})
	}
	folders, err := os.ReadDir("testdata/families")
	if err != nil || len(folders) != len(families)+2 { // and the scripts
		t.Errorf("testdata/families has %d entries (%v), want %d and two scripts", len(folders), err, len(families))
	}
}

// expectedLogits reads expected.safetensors of a folder.
func expectedLogits(t *testing.T, dir string) (tokens []int32, rows []int, logits []float32) {
	t.Helper()
	for name, data := range readFloats(t, filepath.Join(dir, "expected.safetensors")) {
		switch name {
		case "tokens":
			for _, v := range data {
				tokens = append(tokens, int32(v))
			}
		case "rows":
			for _, v := range data {
				rows = append(rows, int(v))
			}
		case "logits":
			logits = data
		}
	}
	return tokens, rows, logits
}

// readFloats reads all tensors of a safetensors file.
func readFloats(t *testing.T, path string) map[string][]float32 {
	t.Helper()
	f, err := safetensors.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := map[string][]float32{}
	for _, x := range f.Tensors() {
		data, err := x.Floats()
		if err != nil {
			t.Fatal(err)
		}
		all[x.Name] = data
	}
	return all
}

// logitsOf computes the logits of some rows of one sequence.
func logitsOf(t *testing.T, r *Runner, w *Weights, a *Adapter, tokens []int32, rows []int) []float32 {
	t.Helper()
	seqs := batch(w.Config, a, tokens)
	hidden := r.Forward(w, seqs, nil)
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	out := make([]float32, len(rows)*w.Config.Vocab)
	r.Logits(w, seqs, hidden, rows, out)
	return out
}
