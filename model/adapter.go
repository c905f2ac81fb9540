package model

import (
	"fmt"
	"math"

	"github.com/seed-d9ad8ee0/trinity/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/nn"
)

// LoRA says which linears have a low-rank addition, of which rank, and by what it is scaled: Alpha/Rank.
type LoRA struct {
	Rank               int
	Alpha              float64
	Attn, MLP, Unembed bool
}

// Adapter is one immutable version of a LoRA, packed for the kernels. It is safe for concurrent use.
type Adapter struct {
	LoRA   LoRA
	layers []loraLayer
	head   *nn.LoRA // or nil
}

// loraLayer is the additions of one block; those that are not trained are nil.
type loraLayer struct{ qkv, o, gateUp, down *nn.LoRA }

// target is the additions of one fused linear: name is that of the module, or empty for the head.
type target struct {
	at   string
	in   int
	outs []projection
}

// prefix is what PEFT puts before the names of a causal language model's modules.
const prefix = "base_model.model."

func (t target) a(p int) spec { return spec{prefix + t.at + t.outs[p].name + ".lora_A.weight", nil} }
func (t target) b(p int) spec { return spec{prefix + t.at + t.outs[p].name + ".lora_B.weight", nil} }

// specs lists A and B of each projection.
func (t target) specs(rank int) []spec {
	var list []spec
	for p, out := range t.outs {
		a, b := t.a(p), t.b(p)
		a.shape, b.shape = []int{rank, t.in}, []int{out.out, rank}
		list = append(list, a, b)
	}
	return list
}

// targets returns the fused linears of layer l in the order qkv, o, gateUp, down.
func targets(c Config, l int) (qkv, o, gateUp, down target) {
	at := fmt.Sprintf("model.layers.%d.", l)
	qkv = target{at + "self_attn.", c.Dim, attnInputs(c)}
	o = target{at + "self_attn.", c.QDim(), []projection{{"o_proj", c.Dim}}}
	gateUp = target{at + "mlp.", c.Dim, []projection{{"gate_proj", c.FF}, {"up_proj", c.FF}}}
	down = target{at + "mlp.", c.FF, []projection{{"down_proj", c.Dim}}}
	return qkv, o, gateUp, down
}

func headTarget(c Config) target {
	return target{"", c.Dim, []projection{{"lm_head", c.Vocab}}}
}

// specs lists the tensors of an adapter on a model.
func (l LoRA) specs(c Config) []spec {
	var list []spec
	for i := range c.Layers {
		qkv, o, gateUp, down := targets(c, i)
		if l.Attn {
			list = append(list, qkv.specs(l.Rank)...)
			list = append(list, o.specs(l.Rank)...)
		}
		if l.MLP {
			list = append(list, gateUp.specs(l.Rank)...)
			list = append(list, down.specs(l.Rank)...)
		}
	}
	if l.Unembed {
		list = append(list, headTarget(c).specs(l.Rank)...)
	}
	return list
}

// NewLoRA returns the tensors of a fresh adapter: A uniform in ±1/sqrt(inputs), B zero, so that it adds nothing yet. Each
// tensor is a function of seed and its name.
func (w *Weights) NewLoRA(l LoRA, seed uint64) []Tensor {
	var out []Tensor
	for _, s := range l.specs(w.Config) {
		t := Tensor{Name: s.name, Shape: s.shape, Data: make([]float32, s.len())}
		if s.shape[0] == l.Rank && isA(s.name) {
			bound := 1 / math.Sqrt(float64(s.shape[1]))
			r := stream(seed, s.name)
			for i := range t.Data {
				t.Data[i] = float32(bound * (2*r.Float64() - 1))
			}
		}
		out = append(out, t)
	}
	return out
}

func isA(name string) bool {
	const suffix = ".lora_A.weight"
	return len(name) > len(suffix) && name[len(name)-len(suffix):] == suffix
}

// NewAdapter packs the tensors of an adapter. A missing tensor, one of another shape and one too many are errors.
func (w *Weights) NewAdapter(l LoRA, tensors []Tensor, k *kernel.Set) (*Adapter, error) {
	if l.Rank < 1 {
		return nil, fmt.Errorf("model: LoRA rank %d, want at least 1", l.Rank)
	}
	data, err := match(l.specs(w.Config), tensors)
	if err != nil {
		return nil, fmt.Errorf("model: LoRA %+v: %w", l, err)
	}
	scale := float32(l.Alpha / float64(l.Rank))
	pack := func(on bool, t target) *nn.LoRA {
		if !on {
			return nil
		}
		var A, B [][]float32
		for p := range t.outs {
			A, B = append(A, data[t.a(p).name]), append(B, data[t.b(p).name])
		}
		return nn.NewLoRA(k, l.Rank, scale, t.in, A, B)
	}
	a := &Adapter{LoRA: l, head: pack(l.Unembed, headTarget(w.Config))}
	for i := range w.Config.Layers {
		qkv, o, gateUp, down := targets(w.Config, i)
		a.layers = append(a.layers, loraLayer{pack(l.Attn, qkv), pack(l.Attn, o), pack(l.MLP, gateUp), pack(l.MLP, down)})
	}
	return a, nil
}
