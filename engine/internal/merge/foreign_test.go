package merge

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
)

// An adapter on the head of a tied model is exported in the form that peft and tinker-cookbook load: the addition
// under Tinker's name of the head, and the whole head. Read back, it is the same adapter.
func TestTiedPEFT(t *testing.T) {
	base := "../../../examples/tiny/model"
	c, err := model.LoadConfig(base)
	if err != nil {
		t.Fatal(err)
	}
	for name, l := range map[string]model.LoRA{"all": {Rank: 3, Alpha: 6, Attn: true, MLP: true, Unembed: true},
		"the head alone": {Rank: 2, Alpha: 32, Unembed: true}} {
		t.Run(name, func(t *testing.T) {
			a := model.PEFT{Base: "some/base", LoRA: l}
			a.Fill(c)
			for i, x := range a.Tensors {
				for j := range x.Data {
					x.Data[j] = float32(math.Sin(float64(i + j)))
				}
			}
			tied, err := Foreign(a, base)
			if err != nil || tied == nil {
				t.Fatalf("%v, %v", tied, err)
			}
			defer tied.Close()
			dir := t.TempDir()
			var file bytes.Buffer
			if err := tied.Write(&file); err != nil || int64(file.Len()) != tied.Size {
				t.Fatalf("%d bytes of %d, %v", file.Len(), tied.Size, err)
			}
			path := filepath.Join(dir, model.PEFTWeightsFile)
			for path, raw := range map[string][]byte{path: file.Bytes(),
				filepath.Join(dir, model.PEFTConfigFile): tied.Config} {
				if err := os.WriteFile(path, raw, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			checkTiedFile(t, path, base, a)
			var config struct {
				Targets any      `json:"target_modules"`
				Saved   []string `json:"modules_to_save"`
			}
			if err := json.Unmarshal(tied.Config, &config); err != nil ||
				!slices.Equal(config.Saved, []string{"lm_head"}) ||
				strings.Contains(strings.Split(string(tied.Config), "target_modules")[1], "lm_head") ||
				name != "all" && config.Targets != noModules {
				t.Errorf("%s, %v", tied.Config, err)
			}
			back, err := model.ReadPEFT(dir)
			if err != nil || !slices.Equal(back.LoRA.Targets(), l.Targets()) {
				t.Fatalf("read back: %+v, %v", back.LoRA, err)
			}
			back.Fill(c)
			got := map[string][]float32{}
			for _, x := range back.Tensors {
				got[x.Name] = x.Data
			}
			for _, x := range a.Tensors {
				if name := x.Name; !slices.Equal(got[name], x.Data) {
					t.Errorf("%s came back with other values", name)
				}
			}
		})
	}
	attention := model.LoRA{Rank: 2, Alpha: 4, Attn: true}
	if tied, err := Foreign(model.PEFT{LoRA: attention}, base); tied != nil || err != nil {
		t.Errorf("an adapter that leaves the head alone: %v, %v", tied, err)
	}
}

// checkTiedFile checks the names, and the head against embedding and addition.
func checkTiedFile(t *testing.T, path, base string, a model.PEFT) {
	t.Helper()
	f, err := safetensors.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	files, err := model.OpenFiles(base)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	floats := func(x safetensors.Tensor, err error) []float32 {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		v, err := x.Floats()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	embed, _ := files.Tensor(model.EmbedName)
	E := floats(embed, nil)
	head := floats(f.Tensor("base_model.model.lm_head.weight"))
	A, B := floats(f.Tensor("base_model.model.model.unembed_tokens.lora_A.weight")), floats(
		f.Tensor("base_model.model.model.unembed_tokens.lora_B.weight"),
	)
	K, R := embed.Shape[1], a.LoRA.Rank
	for _, at := range []int{0, 1, K, len(E)/2 + 3, len(E) - 1} {
		want := float64(E[at])
		for r := range R {
			want += a.LoRA.Alpha / float64(R) * float64(B[at/K*R+r]) * float64(A[r*K+at%K])
		}
		if math.Abs(float64(head[at])-want) > 1e-4 {
			t.Errorf("head[%d] is %v, want %v", at, head[at], want)
		}
	}
	for _, x := range f.Tensors() {
		if strings.Contains(x.Name, "lm_head.lora") {
			t.Errorf("%s is there under peft's name too, where tinker-cookbook would look for a head of the base model",
				x.Name)
		}
	}
}
