package engine

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

var peftPython = flag.String("peft.python", "",
	"a Python with torch, transformers and peft: checkpoints are loaded there too (make peft)")

// pythonCase is one element of what testdata/peft/check.py of package model reads.
type pythonCase struct {
	Name     string    `json:"name"`
	Base     string    `json:"base"`
	Adapter  string    `json:"adapter"`
	Merged   string    `json:"merged"`
	Tokens   []int32   `json:"tokens"`
	Logprobs []float32 `json:"logprobs"`
	Bound    float64   `json:"bound"`
}

// Python's peft computes the engine's logprobs from a saved adapter, and so does transformers from the merged model.
func TestPython(t *testing.T) {
	if *peftPython == "" {
		t.Skip("no -peft.python; make peft has one")
	}
	var cases []pythonCase
	for _, tt := range []struct {
		base  string
		lora  tinker.LoRA
		bound float64
	}{
		{"nemo", tinker.LoRA{Rank: 4, Alpha: 8, TrainAttn: true}, 1e-4},
		{"nemo", tinker.LoRA{Rank: 4, TrainMLP: true}, 1e-4},
		{"qwen3-t5", tinker.LoRA{Rank: 8, Alpha: 12, TrainAttn: true, TrainMLP: true, TrainUnembed: true}, 1e-4},
		{"qwen3-t5", tinker.LoRA{Rank: 3, Alpha: 9, Modules: "q_proj,v_proj"}, 1e-4},
		{"llama2", tinker.LoRA{Rank: 4, Alpha: 8, TrainAttn: true, TrainMLP: true}, 0.02}, // merged into f16
		{"qwen25", tinker.LoRA{Rank: 4, Alpha: 8, Modules: "up_proj,lm_head"}, 0.2},       // computed in bf16
	} {
		cases = append(cases, trainedCase(t, tt.base, tt.lora, tt.bound))
	}
	for base, adapter := range map[string]string{"llama32": "llama32-layers", "qwen25": "qwen25-some"} { // in bf16
		c, e := importedCase(t, base, adapter)
		cases = append(cases, savedCase(t, e, c, base, "begun with "+adapter, 0.2))
	}
	raw, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "cases.json")
	write(t, file, raw)
	out, err := exec.CommandContext(t.Context(), *peftPython,
		filepath.Join("internal", "model", "testdata", "peft", "check.py"), file).Output()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}

// trainedCase trains an adapter on a family's folder of package model, saves and merges it.
func trainedCase(t *testing.T, base string, l tinker.LoRA, bound float64) pythonCase {
	e := open(t, Options{Models: map[string]Model{base: {Dir: familyDir(t, base), Tokens: letters{}}}})
	l.Seed = lora(1).Seed
	c, err := e.CreateModel(testContext(t), tinker.CreateModelRequest{BaseModel: base, LoRA: l})
	if err != nil {
		t.Fatal(err)
	}
	return savedCase(t, e, c, base, base+" "+describe(l), bound)
}

// savedCase trains what c has, saves and merges it.
func savedCase(t *testing.T, e *Engine, c tinker.TrainingClient, base, name string, bound float64) pythonCase {
	ctx := testContext(t)
	seq := someTokens()
	for range 12 {
		f, err := c.ForwardBackward(ctx, batch(seq))
		value(t, f, err)
		o, err := c.OptimStep(ctx, adam(2e-2))
		value(t, o, err)
	}
	f, err := c.SaveWeightsForSampler(ctx, tinker.SaveRequest{Name: "trained"})
	folder, err := e.Folder(value(t, f, err).Path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := model.ReadPEFT(folder)
	if err != nil {
		t.Fatal(err)
	}
	merged := filepath.Join(t.TempDir(), "merged")
	if err := model.Merge(familyDir(t, base), p, merged, "", disk.OS(), e.compute); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(merged, "config.json")); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	return pythonCase{name, familyDir(t, base), folder, merged, seq, logprobs(t, c, seq)[0], bound}
}
