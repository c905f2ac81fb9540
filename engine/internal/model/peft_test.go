package model

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Adapters saved by Python's peft give peft's logits.
func TestPEFT(t *testing.T) {
	r, k := newRunner(t, 2)
	for _, tt := range []struct {
		name, base string
		want       LoRA
	}{
		{"llama32-qv", "llama32", LoRA{Rank: 4, Alpha: 8, Modules: []string{"q_proj", "v_proj"}}},
		{"llama31-attn", "llama31", LoRA{Rank: 3, Alpha: 5, Attn: true}},
		{"gemma3-all", "gemma3", LoRA{Rank: 4, Alpha: 8, Attn: true, MLP: true}},
		{"qwen25-all", "qwen25", LoRA{Rank: 8, Alpha: 16, Attn: true, MLP: true}},
		{"qwen3-head", "qwen3", LoRA{Rank: 2, Alpha: 6, Modules: []string{"gate_proj", "down_proj", "lm_head"}}},
		{"phi4mini-all", "phi4mini", LoRA{Rank: 3, Alpha: 6, Modules: []string{"qkv_proj", "o_proj", "gate_up_proj",
			"down_proj"}}},
		{"lfm2-all", "lfm2", LoRA{Rank: 3, Alpha: 6, Modules: []string{"q_proj", "k_proj", "v_proj", "in_proj",
			"out_proj", "w1", "w3", "w2"}}},
		{"qwen35-all", "qwen35", LoRA{Rank: 3, Alpha: 6, Modules: []string{"q_proj", "k_proj", "v_proj", "o_proj",
			"in_proj_q", "in_proj_k", "in_proj_v", "in_proj_z", "out_proj", "in_proj_b", "in_proj_a", "gate_proj",
			"up_proj", "down_proj"}}},
		// experts of rank 1, all else of 3
		{"qwen3moe-all", "qwen3moe", LoRA{Rank: 3, Alpha: 2, Attn: true, MLP: true}},
		// ranks of 2, 5, 4 and 1, at scales of 3, 6/5, 5/2, 5/4 and 6
		{"qwen3-pattern", "qwen3", LoRA{Rank: 5, Alpha: 7.5, Modules: []string{"q_proj", "o_proj", "up_proj"}}},
		// of two layers the second
		{"llama32-layers", "llama32", LoRA{Rank: 4, Alpha: 8, Modules: []string{"q_proj", "up_proj"}}},
		// each in one layer
		{"qwen25-some", "qwen25", LoRA{Rank: 2, Alpha: 4, Modules: []string{"q_proj", "v_proj", "down_proj"}}},
		// 4/sqrt(4) = 8/4
		{"mistral-rslora", "mistral", LoRA{Rank: 4, Alpha: 8, Modules: []string{"o_proj", "up_proj"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join("testdata", "peft", tt.name)
			p, err := ReadPEFT(dir)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(p.LoRA.Targets(), tt.want.Targets()) || p.LoRA.Rank != tt.want.Rank ||
				p.LoRA.Alpha != tt.want.Alpha ||
				p.LoRA.Attn != tt.want.Attn || p.Base != tt.base {
				t.Errorf("got %q %+v, want %q %+v", p.Base, p.LoRA, tt.base, tt.want)
			}
			w, err := Load(filepath.Join("testdata", "families", tt.base), alone(k))
			if err != nil {
				t.Fatal(err)
			}
			c := w.Config
			c.BF16 = false
			if w, err = NewWeights(c, w.Tensors(), alone(k)); err != nil {
				t.Fatal(err)
			}
			p.Fill(w.Config)
			a, err := w.NewAdapter(p.LoRA, p.Tensors, k)
			if err != nil {
				t.Fatal(err)
			}
			tokens, rows, want := expectedLogits(t, dir)
			near(t, "logits", logitsOf(t, r, w, a, tokens, rows), want, 2e-5)
		})
	}
}

func TestReadPEFTRefuses(t *testing.T) {
	good, err := os.ReadFile("testdata/peft/llama32-qv/adapter_config.json")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parsePEFT(good); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ old, new, want string }{
		{`"use_dora": false`, `"use_dora": true`, "use_dora = true is not supported; merge"},
		{`"rank_pattern": {}`, `"rank_pattern": {"q_proj": 0}`, `rank_pattern: "q_proj" is 0`},
		{`"rank_pattern": {}`, `"rank_pattern": {"q_(": 1}`, `rank_pattern: "q_("`},
		{`"alpha_pattern": {}`, `"alpha_pattern": {"q_proj": "x"}`, "alpha_pattern"},
		{`"target_parameters": null`, `"target_parameters": ["mlp.experts.down_proj"]`, "target_parameters = "},
		{`"modules_to_save": null`, `"modules_to_save": ["embed_tokens"]`, "modules_to_save"},
		{`"bias": "none"`, `"bias": "all"`, `bias = "all"`},
		{`"peft_type": "LORA"`, `"peft_type": "IA3"`, `peft_type = "IA3"`},
		{`"init_lora_weights": true`, `"init_lora_weights": "pissa"`, `init_lora_weights = "pissa"`},
		{`"r": 4`, `"r": 0`, "rank 0"},
		{`"lora_alpha": 8`, `"lora_alpha": 0`, "lora_alpha = 0"},
		{`{`, `{{`, "invalid character"},
	} {
		bad := strings.Replace(string(good), tt.old, tt.new, 1)
		if bad == string(good) {
			t.Fatalf("the golden has no %s", tt.old)
		}
		if _, err := parsePEFT([]byte(bad)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.new, err, tt.want)
		}
	}
	empty := t.TempDir()
	if _, err := ReadPEFT(empty); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), PEFTConfigFile) {
		t.Errorf("an empty folder: %v", err)
	}
	if err := os.WriteFile(filepath.Join(empty, PEFTConfigFile), good, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadPEFT(empty); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), PEFTWeightsFile) {
		t.Errorf("no weights: %v", err)
	}
}

// FuzzParsePEFT: any bytes give an error or a LoRA with a valid scale.
func FuzzParsePEFT(f *testing.F) {
	for _, name := range []string{"llama32-qv", "qwen3-head", "mistral-rslora"} {
		data, err := os.ReadFile(filepath.Join("testdata", "peft", name, PEFTConfigFile))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := parsePEFT(data); err == nil && (p.LoRA.Rank < 1 || !(p.LoRA.Alpha > 0)) {
			t.Errorf("accepted %+v", p)
		}
	})
}
