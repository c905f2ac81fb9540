package engine

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// redtype lets config.json of a model folder name another dtype than its weights have; "" leaves the key out.
func redtype(t *testing.T, dir, dtype string) string {
	t.Helper()
	path := filepath.Join(dir, "config.json")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var c map[string]any
	if err := json.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	delete(c, "torch_dtype")
	if dtype != "" {
		c["torch_dtype"] = dtype
	}
	if raw, err = json.Marshal(c); err != nil {
		t.Fatal(err)
	}
	write(t, path, raw)
	return dir
}

// TestStoredDType: a model is computed in the dtype of its weights, whatever config.json says. It samples, trains and
// samples again to the bits of a model whose configuration and weights agree.
func TestStoredDType(t *testing.T) {
	for _, tt := range []struct {
		name string
		bf16 bool
		says string
	}{
		{"bf16 weights, float32 in config.json", true, "float32"},
		{"bf16 weights, no dtype in config.json", true, ""},
		{"f32 weights, bfloat16 in config.json", false, "bfloat16"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			right, odd := writeModel(t, tt.bf16, true), redtype(t, writeModel(t, tt.bf16, true), tt.says)
			e := open(t, Options{Models: map[string]Model{baseName: {Dir: right, Tokens: letters{}},
				"odd": {Dir: odd, Tokens: letters{}}}})
			var logps [2][][]float32
			for i, name := range []string{baseName, "odd"} {
				c, err := e.CreateModel(testContext(t),
					tinker.CreateModelRequest{SessionID: "s", ModelSeqID: int64(i), BaseModel: name, LoRA: lora(4)})
				if err != nil {
					t.Fatal(err)
				}
				train(t, c, 1, mixed...)
				logps[i] = logprobs(t, c, mixed...)
				s := draw(t, samplerOf(t, e, c, "odd"), sampleRequest(2, 40, 7, tokens(3, 70)))
				for _, q := range s.Sequences {
					logps[i] = append(logps[i], q.Logprobs)
				}
			}
			if !allSame(logps[0], logps[1]) {
				t.Error("the log-probabilities differ")
			}
			want := map[bool]string{true: "bfloat16", false: "float32"}[tt.bf16]
			if d, err := Describe(odd); err != nil || d.DType != want {
				t.Errorf("Describe says %q, %v; want %s", d.DType, err, want)
			}
		})
	}
}

// TestRandomInitDType: a run that begins with random weights computes in the dtype of config.json while the folder's
// own weights have another.
func TestRandomInitDType(t *testing.T) {
	dir := redtype(t, writeModel(t, true, true), "float32")
	e := open(t, Options{Models: map[string]Model{baseName: {Dir: dir, Tokens: letters{}}}})
	c, err := e.CreateModel(testContext(t), tinker.CreateModelRequest{SessionID: "s", BaseModel: baseName,
		RandomInit: true, LoRA: tinker.LoRA{}})
	if err != nil {
		t.Fatal(err)
	}
	train(t, c, 1, mixed...)
	base, err := e.SamplingClient(testContext(t), tinker.SamplingClientRequest{BaseModel: baseName})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []tinker.SamplingClient{base, samplerOf(t, e, c, "random"), base} {
		if got := draw(t, s, sampleRequest(1, 5, 7, tokens(3, 40))); len(got.Sequences[0].Tokens) == 0 {
			t.Error("nothing was sampled")
		}
	}
}
