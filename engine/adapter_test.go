package engine

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/model"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// A LoRA on some layers trains them alone, says so in its checkpoint, and a run begun from that or from its PEFT folder
// samples with the same bits.
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
	if err := json.Unmarshal(raw, &said); err != nil || said.Rank != 4 || said.Alpha != 6 || !slices.Equal(said.Targets, []string{"q_proj", "v_proj"}) {
		t.Errorf("%s: %+v, %v", raw, said, err)
	}
	imported, err := e.ImportPEFT(baseName, dir, "elsewhere:train:0", "first")
	if err != nil {
		t.Fatal(err)
	}
	want := logprobs(t, c, mixed...)
	for i, from := range []string{path, imported} {
		again, err := e.CreateModelFromState(ctx, tinker.CreateFromStateRequest{SessionID: "again", ModelSeqID: int64(i), Path: from})
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

func TestImportRefuses(t *testing.T) {
	e := open(t, Options{})
	foreign := filepath.Join("..", "model", "testdata", "peft", "llama32-qv")
	for _, tt := range []struct{ base, dir, want string }{
		{baseName, t.TempDir(), model.PEFTConfigFile},
		{baseName, foreign, "has shape"},
		{"other", foreign, `"other"`},
	} {
		if _, err := e.ImportPEFT(tt.base, tt.dir, "m", "n"); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s on %s: %v, want %q", tt.dir, tt.base, err, tt.want)
		}
	}
	if _, err := e.CreateModel(testContext(t), tinker.CreateModelRequest{BaseModel: baseName, LoRA: tinker.LoRA{Rank: 1, Modules: "q_proj,w_proj"}}); err == nil || !strings.Contains(err.Error(), `"w_proj" is not one of`) {
		t.Errorf("an unknown module: %v", err)
	}
}
