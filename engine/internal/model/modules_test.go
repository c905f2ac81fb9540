package model

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTargets(t *testing.T) {
	for _, tt := range []struct {
		l    LoRA
		want string
	}{
		{LoRA{Attn: true, MLP: true, Unembed: true}, "q_proj k_proj v_proj o_proj gate_proj up_proj down_proj lm_head"},
		{LoRA{MLP: true}, "gate_proj up_proj down_proj"},
		{LoRA{Modules: []string{"v_proj", "q_proj"}}, "q_proj v_proj"},
		{LoRA{Attn: true, Modules: []string{"up_proj"}}, "up_proj"},
		{LoRA{}, ""},
	} {
		if got := strings.Join(tt.l.Targets(), " "); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.l, got, tt.want)
		}
		if g := tt.l.grouped(); !slices.Equal(g.Targets(), tt.l.Targets()) {
			t.Errorf("%+v grouped is %+v", tt.l, g)
		}
	}
}

// The flags mean what a model has, and a name that it lacks is refused beside those that it has.
func TestModulesOfFamilies(t *testing.T) {
	all := LoRA{Attn: true, MLP: true, Unembed: true}
	for name, want := range map[string]string{
		"qwen3":    "q_proj k_proj v_proj o_proj gate_proj up_proj down_proj lm_head",
		"granite4": "q_proj k_proj v_proj o_proj input_linear output_linear lm_head",
		"qwen3moe": "q_proj k_proj v_proj o_proj gate_proj up_proj down_proj lm_head",
		"lfm2":     "in_proj out_proj q_proj k_proj v_proj w1 w3 w2 lm_head",
		"phi4mini": "qkv_proj o_proj gate_up_proj down_proj lm_head",
		"qwen35": "in_proj_q in_proj_k in_proj_v in_proj_z out_proj q_proj k_proj v_proj o_proj gate_proj up_proj " +
			"down_proj lm_head",
	} {
		c, err := LoadConfig(filepath.Join("testdata", "families", name))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(all.ModulesOn(c), " "); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		err = LoRA{Modules: []string{"fc1"}}.CheckOn(c)
		if err == nil || name != "qwen35" && !strings.Contains(err.Error(), strings.ReplaceAll(want, " ", ", ")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An adapter on some modules of a group has the bits of one on the whole group whose other additions are zero, forward
// and backward.
func TestLoRAOnSomeModules(t *testing.T) {
	r, k := newRunner(t, 2)
	g := loadGolden(t, k, "qwen2")
	some := LoRA{Rank: 4, Alpha: 8, Modules: []string{"q_proj", "v_proj", "up_proj"}}
	all := LoRA{Rank: 4, Alpha: 8, Attn: true, MLP: true}
	var few, many []Tensor
	for _, x := range g.tensors {
		module, ok := peftModule(x.Name)
		switch {
		case !ok:
			t.Fatalf("%s has no module", x.Name)
		case slices.Contains(some.Modules, module):
			few, many = append(few, x), append(many, x)
		case module != "lm_head":
			x.Data = slices.Clone(x.Data)
			if !isA(x.Name) {
				clear(x.Data)
			}
			many = append(many, x)
		}
	}
	run := func(l LoRA, tensors []Tensor) ([]float32, *Grads) {
		a, err := g.w.NewAdapter(l, tensors, k)
		if err != nil {
			t.Fatal(err)
		}
		grads := NewGrads(tensors)
		logits, _, _ := step(t, r, g.w, batch(g.w.Config, a, g.tokens...), g.weights, r.NewTape(true), grads)
		return logits, grads
	}
	got, gotGrads := run(some, few)
	want, wantGrads := run(all, many)
	if !slices.Equal(got, want) {
		t.Error("logits differ")
	}
	for _, x := range gotGrads.T {
		if !slices.Equal(x.Data, wantGrads.of(x.Name)) {
			t.Errorf("the gradient of %s differs", x.Name)
		}
	}
	base, _, _ := step(t, r, g.w, batch(g.w.Config, nil, g.tokens...), g.weights, r.NewTape(true),
		NewGrads(g.w.Tensors()))
	if slices.Equal(got, base) {
		t.Error("the adapter changes nothing")
	}
	if _, err := g.w.NewAdapter(LoRA{Rank: 1, Modules: []string{"q"}}, nil, k); err == nil ||
		!strings.Contains(err.Error(), "q_proj, k_proj") {
		t.Errorf("an unknown module: %v", err)
	}
}
