package model

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// An adapter that Python's peft has put on in_proj_qkv of the model with images is one on its three parts.
func TestFusedInput(t *testing.T) {
	_, k := newRunner(t, 1)
	c := newFolderGolden(t, k, "qwen35-gva").w.Config
	const at = PEFTPrefix + "model.layers.0.linear_attn.in_proj_qkv.lora_"
	rows := 0
	for _, p := range deltaInputs(c)[:3] {
		rows += p.out
	}
	b := make([]float32, rows*2)
	for i := range b {
		b[i] = float32(i)
	}
	a := PEFT{LoRA: LoRA{Rank: 2, Alpha: 4, Modules: []string{"in_proj_q", "in_proj_k", "in_proj_v"}},
		Tensors: []Tensor{{at + "A.weight", []int{2, c.Dim}, make([]float32, 2*c.Dim)},
			{at + "B.weight", []int{rows, 2}, b}}}
	a.Fill(c)
	data, err := match(a.LoRA.specs(c), a.Tensors)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range deltaInputs(c)[:3] {
		got := data[PEFTPrefix+"model.layers.0.linear_attn."+p.name+".lora_B.weight"]
		if len(got) != 2*p.out || got[0] != float32(2*p.col) {
			t.Errorf("%s: %d values from %v on, want %d from %d", p.name, len(got), got[0], 2*p.out, 2*p.col)
		}
	}
}

// What Qwen3.5's config.json may say that would be computed wrongly is refused by its key.
func TestQwen35Refusals(t *testing.T) {
	data, err := os.ReadFile("testdata/families/qwen35/config.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckConfig(data); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ old, by, want string }{
		{`"attn_output_gate": true`, `"attn_output_gate": false`, "attn_output_gate"},
		{`"attention_bias": false`, `"attention_bias": true`, "attention_bias"},
		{`"full_attention"`, `"sliding_attention"`, "layer_types"},
		{`"linear_num_value_heads": 2`, `"linear_num_value_heads": 3`, "linear_num_value_heads = 3"},
		{`"rope_type": "default"`, `"rope_type": "linear", "factor": 2`, "a scaled rotation"},
		{`"partial_rotary_factor": 0.25`, `"partial_rotary_factor": 2`, "partial_rotary_factor"},
		{`"tie_word_embeddings": true`, `"tie_word_embeddings": false`, "tie_word_embeddings"},
	} {
		changed := strings.Replace(string(data), tt.old, tt.by, 1)
		if changed == string(data) {
			t.Fatalf("config.json has no %s", tt.old)
		}
		if err := CheckConfig([]byte(changed)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want an error about %s", tt.by, err, tt.want)
		}
	}
}

// A backward leaves out a sequence that continues another one and teaches nothing.
func TestUntaughtBranch(t *testing.T) {
	r, k := newRunner(t, 1)
	m := newExact(t, k, false, slices.IndexFunc(architectures, func(a Arch) bool { return a.Delta }))
	trunk := taught{tokens: m.tokens("trunk", 43), weights: make([]float32, 43)}
	trunk.weights[5] = 1
	longer := taught{append(slices.Clone(trunk.tokens), 22, 2), append(slices.Clone(trunk.weights), 0, 0)}
	_, want := m.teach(t, r, r.NewTape(false), 1, []taught{trunk, trunk}, 1<<20)
	_, got := m.teach(t, r, r.NewTape(false), 1, []taught{trunk, longer}, 1<<20)
	for i, x := range want.T {
		sameBits(t, x.Name, got.T[i].Data, x.Data)
	}
}
