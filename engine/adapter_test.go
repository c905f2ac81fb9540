package engine

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// A LoRA on some layers trains only those and names them in its checkpoint. A run begun from the checkpoint or from
// its PEFT folder samples with the same bits.
func TestSomeModules(t *testing.T) {
	e := open(t, Options{})
	c := create(t, e, 0, tinker.LoRA{Rank: 4, Alpha: 6, Seed: lora(4).Seed, Modules: "q_proj,v_proj"})
	train(t, c, 2, mixed...)
	ctx := testContext(t)
	f, err := c.SaveState(ctx, tinker.SaveRequest{Name: "two"})
	path := value(t, f, err).Path
	dir, err := e.Folder(path)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, model.PEFTConfigFile))
	if err != nil {
		t.Fatal(err)
	}
	var said struct {
		Rank    int      `json:"r"`
		Alpha   float64  `json:"lora_alpha"`
		Targets []string `json:"target_modules"`
	}
	if err := json.Unmarshal(raw, &said); err != nil || said.Rank != 4 || said.Alpha != 6 ||
		!slices.Equal(said.Targets, []string{"q_proj", "v_proj"}) {
		t.Errorf("%s: %+v, %v", raw, said, err)
	}
	imported, err := e.ImportPEFT(baseName, dir, "elsewhere:train:0", "first")
	if err != nil {
		t.Fatal(err)
	}
	want := logprobs(t, c, mixed...)
	for i, from := range []string{path, imported} {
		again, err := e.CreateModelFromState(ctx, tinker.CreateFromStateRequest{SessionID: "again",
			ModelSeqID: int64(i), Path: from})
		if err != nil {
			t.Fatal(err)
		}
		info, err := again.Info(ctx)
		if err != nil || info.LoRA.Modules != "q_proj,v_proj" || info.LoRA.Alpha != 6 {
			t.Errorf("%s: %+v, %v", from, info, err)
		}
		for j, got := range logprobs(t, again, mixed...) {
			if !slices.Equal(got, want[j]) {
				t.Errorf("%s: other logprobs", from)
			}
		}
	}
}

// An adapter that PEFT put on some layers is trained on those alone; the other layers add nothing to the checkpoint.
func TestSomeLayers(t *testing.T) {
	c, e := importedCase(t, "llama32", "llama32-layers")
	ctx := testContext(t)
	seq := someTokens()
	before := logprobs(t, c, seq)
	for range 3 {
		f, err := c.ForwardBackward(ctx, batch(seq))
		value(t, f, err)
		o, err := c.OptimStep(ctx, adam(1e-2))
		value(t, o, err)
	}
	if slices.Equal(logprobs(t, c, seq)[0], before[0]) {
		t.Error("training changes nothing")
	}
	f, err := c.SaveWeightsForSampler(ctx, tinker.SaveRequest{Name: "after"})
	dir, err := e.Folder(value(t, f, err).Path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := model.ReadPEFT(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range p.Tensors {
		zero := !slices.ContainsFunc(x.Data, func(v float32) bool { return v != 0 })
		if in := strings.Contains(x.Name, ".layers.1."); in == zero {
			t.Errorf("%s is zero: %v", x.Name, zero)
		}
	}
}

// importedCase begins a run with an adapter of package model's testdata, which PEFT made.
func importedCase(t *testing.T, base, adapter string) (tinker.TrainingClient, *Engine) {
	t.Helper()
	dir := familyDir(t, base)
	e := open(t, Options{Models: map[string]Model{base: {Dir: dir, Tokens: letters{}}}})
	path, err := e.ImportPEFT(base, filepath.Join(dir, "..", "..", "peft", adapter), "start", "adapter")
	if err != nil {
		t.Fatal(err)
	}
	c, err := e.CreateModelFromState(testContext(t), tinker.CreateFromStateRequest{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	return c, e
}

// familyDir is a model folder of package model's testdata.
func familyDir(t *testing.T, base string) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("internal", "model", "testdata", "families", base))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// someTokens is a sequence of the vocabulary of those models.
func someTokens() []int32 {
	seq := slices.Clone(tokens(3, 97))
	for i := range seq {
		seq[i] %= 96
	}
	return seq
}

func TestImportRefuses(t *testing.T) {
	e := open(t, Options{})
	foreign := filepath.Join("internal", "model", "testdata", "peft", "llama32-qv")
	for _, tt := range []struct{ base, dir, want string }{
		{baseName, t.TempDir(), model.PEFTConfigFile},
		{baseName, foreign, "has shape"},
		{"other", foreign, `"other"`},
	} {
		if _, err := e.ImportPEFT(tt.base, tt.dir, "m", "n"); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s on %s: %v, want %q", tt.dir, tt.base, err, tt.want)
		}
	}
	if _, err := e.CreateModel(testContext(t), tinker.CreateModelRequest{BaseModel: baseName,
		LoRA: tinker.LoRA{Rank: 1, Modules: "q_proj,w_proj"}}); err == nil ||
		!strings.Contains(err.Error(), `"w_proj" is not one of`) {
		t.Errorf("an unknown module: %v", err)
	}
}
