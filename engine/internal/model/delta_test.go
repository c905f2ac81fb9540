package model

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
)

// deltaGolden is a folder of testdata/families with the gradients of an adapter, by transformers.
type deltaGolden struct {
	w      *Weights
	expect map[string][]float32
	lora   LoRA
	ids    []int32
}

func newDeltaGolden(t *testing.T, k *kernel.Set, name string) deltaGolden {
	t.Helper()
	dir := filepath.Join("testdata", "families", name)
	w, err := Load(dir, alone(k))
	if err != nil {
		t.Fatal(err)
	}
	c := w.Config
	c.BF16 = false
	if w, err = NewWeights(c, w.Tensors(), alone(k)); err != nil {
		t.Fatal(err)
	}
	g := deltaGolden{w: w, expect: readFloats(t, filepath.Join(dir, "expected.safetensors")),
		lora: LoRA{Rank: 2, Alpha: 4, Modules: ModuleNames()}}
	if c.Tied {
		g.lora.Modules = g.lora.Modules[:len(g.lora.Modules)-1]
	}
	for _, v := range g.expect["tokens"] {
		g.ids = append(g.ids, int32(v))
	}
	return g
}

// of returns the golden's tensor of a parameter of the adapter: kind is lora or grad.
func (g deltaGolden) of(kind, name string) []float32 {
	name = strings.TrimPrefix(name, PEFTPrefix)
	name = strings.Replace(strings.Replace(name, ".lora_A.weight", ".A", 1), ".lora_B.weight", ".B", 1)
	return g.expect[kind+"."+name]
}

// Logits, gradients of an adapter on every linear, and the greedy continuation of Qwen3.5 are those of transformers.
func TestQwen35(t *testing.T) {
	r, k := newRunner(t, 2)
	for _, name := range []string{"qwen35", "qwen35-gva"} {
		t.Run(name, func(t *testing.T) {
			g := newDeltaGolden(t, k, name)
			var tensors []Tensor
			for _, s := range g.lora.specs(g.w.Config) {
				tensors = append(tensors, Tensor{s.name, s.shape, g.of("lora", s.name)})
			}
			adapter, err := g.w.NewAdapter(g.lora, tensors, k)
			if err != nil {
				t.Fatal(err)
			}
			grads := NewGrads(tensors)
			_, _, loss := step(t, r, g.w, batch(g.w.Config, adapter, g.ids), [][]float32{g.expect["weights"]},
				r.NewTape(true), grads)
			near(t, "loss", []float32{float32(loss)}, g.expect["lora_loss"], 1e-4)
			for _, x := range grads.T {
				near(t, x.Name, x.Data, g.of("grad", x.Name), 2e-4)
			}
			g.continues(t, r)
		})
	}
}

// continues compares the greedy continuation, one position at a time from the prompt on.
func (g deltaGolden) continues(t *testing.T, r *Runner) {
	n := int(g.expect["prompt"][0])
	s := batch(g.w.Config, nil, g.ids)[0]
	s.Tokens, s.Memory = g.ids[:n], g.w.Config.Memory().New()
	for i, want := range g.expect["greedy"] {
		row := make([]float32, g.w.Config.Vocab)
		hidden := r.Forward(g.w, []Seq{s}, nil)
		if err := r.Err(); err != nil {
			t.Fatal(err)
		}
		r.Logits(g.w, []Seq{s}, hidden, []int{len(s.Tokens) - 1}, row)
		best := 0
		for j, v := range row {
			if v > row[best] {
				best = j
			}
		}
		if best != int(want) && g.expect["margin"][i] > 1e-4 {
			t.Fatalf("token %d of the continuation is %d, want %v", i, best, want)
		}
		s.Pos, s.Tokens = s.Pos+len(s.Tokens), []int32{int32(want)}
	}
}

// The gradients of convolutions, decays and norms are those of transformers, for weights with the adapter in them.
func TestQwen35FullGradients(t *testing.T) {
	r, k := newRunner(t, 2)
	for _, name := range []string{"qwen35", "qwen35-gva"} {
		g := newDeltaGolden(t, k, name)
		c, full := g.w.Config, g.w.Tensors()
		for l := range c.Layers {
			qkv, o, gateUp, down := targets(c, l)
			for _, of := range []target{qkv, o, gateUp, down} {
				g.merge(full, of)
			}
		}
		g.merge(full, headTarget(c))
		w, err := NewWeights(c, full, alone(k))
		if err != nil {
			t.Fatal(err)
		}
		grads := NewGrads(full)
		step(t, r, w, batch(c, nil, g.ids), [][]float32{g.expect["weights"]}, r.NewTape(false), grads)
		for _, x := range grads.T {
			if want := g.expect["full."+x.Name]; want != nil {
				near(t, name+": "+x.Name, x.Data, want, 5e-4)
			}
		}
	}
}

// merge adds the factors of t to the full parameters.
func (g deltaGolden) merge(full []Tensor, t target) {
	for p, out := range t.outs {
		a, b := g.of("lora", t.a(p).name), g.of("lora", t.b(p).name)
		name, at := t.at+out.name+".weight", 0
		for i, part := range []string{"in_proj_q.", "in_proj_k.", "in_proj_v."} {
			if strings.Contains(name, part) {
				name, at = t.at+"in_proj_qkv.weight", t.outs[i].col*t.in
			}
		}
		for _, x := range full {
			if x.Name != name || a == nil {
				continue
			}
			for i := range out.out {
				for r := range 2 {
					for j := range t.in {
						x.Data[at+i*t.in+j] += float32(2 * b[i*2+r] * a[r*t.in+j])
					}
				}
			}
		}
	}
}

// An adapter that Python's peft has put on in_proj_qkv of the model with images is one on its three parts.
func TestFusedInput(t *testing.T) {
	_, k := newRunner(t, 1)
	c := newDeltaGolden(t, k, "qwen35-gva").w.Config
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
		{`"rope_type": "default"`, `"rope_type": "linear", "factor": 2`, "partial_rotary_factor"},
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
