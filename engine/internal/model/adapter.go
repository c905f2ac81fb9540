package model

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// LoRA names the linears that have a low-rank addition, its rank, and its scale Alpha/Rank.
type LoRA struct {
	Rank               int
	Alpha              float64
	Attn, MLP, Unembed bool
	Modules            []string // if not empty, the names of the linears, such as q_proj; the flags are then ignored
}

// ModuleNames returns the names of all linears that can have an addition, in the order of the computation.
func ModuleNames() []string {
	return []string{"q_proj", "k_proj", "v_proj", "qkv_proj", "o_proj", "in_proj", "in_proj_q", "in_proj_k",
		"in_proj_v", "in_proj_z", "out_proj", "in_proj_b", "in_proj_a", "gate_proj", "up_proj", "gate_up_proj",
		"down_proj", "input_linear", "output_linear", "w1", "w3", "w2", "lm_head"}
}

// deltaModules are the linears of a delta rule among ModuleNames. LoRA.Attn means all but the last two.
var deltaModules = []string{"in_proj_q", "in_proj_k", "in_proj_v", "in_proj_z", "out_proj", "in_proj_b", "in_proj_a"}

// Targets returns the names of the linears that have an addition, in models with Llama's linears if the flags count.
func (l LoRA) Targets() []string {
	on := map[string]bool{"q_proj": l.Attn, "k_proj": l.Attn, "v_proj": l.Attn, "o_proj": l.Attn, "gate_proj": l.MLP,
		"up_proj": l.MLP, "down_proj": l.MLP, "lm_head": l.Unembed}
	var list []string
	for _, name := range ModuleNames() {
		if len(l.Modules) == 0 && on[name] || slices.Contains(l.Modules, name) {
			list = append(list, name)
		}
	}
	return list
}

// ModulesOn returns the names of the linears of a model that have an addition. The flags mean what the model has.
func (l LoRA) ModulesOn(c Config) []string {
	if len(l.Modules) > 0 {
		return l.Targets()
	}
	var list []string
	mixer, mlp := c.modules()
	if l.Attn {
		list = slices.DeleteFunc(mixer, func(name string) bool { return slices.Contains(deltaModules[5:], name) })
	}
	if l.MLP {
		list = append(list, mlp...)
	}
	if l.Unembed {
		list = append(list, "lm_head")
	}
	return list
}

// modules returns the names of the linears of a model's layers that can have an addition: of what stands for attention,
// and of the MLP.
func (c Config) modules() (mixer, mlp []string) {
	for l := range c.Layers {
		if l > 0 && c.linear(l) == c.linear(0) {
			continue // of the first layer's kind; there are two at most
		}
		list := targets(c, l) // those of one expert have the names of all, and of an MLP without
		mixer, mlp = list[1].names(list[0].names(mixer)), list[3].names(list[2].names(mlp))
		if l > 0 {
			break
		}
	}
	return mixer, mlp
}

// names adds the names of t's projections to a list that lacks them.
func (t target) names(list []string) []string {
	for _, p := range t.outs {
		if !slices.Contains(list, p.name) {
			list = append(list, p.name)
		}
	}
	return list
}

// allModules returns the names of all linears of a model that can have an addition.
func (c Config) allModules() []string {
	mixer, mlp := c.modules()
	return append(append(mixer, mlp...), "lm_head")
}

// CheckOn returns an error if the LoRA names linears that a model does not have.
func (l LoRA) CheckOn(c Config) error {
	has := c.allModules()
	for _, name := range l.Modules {
		if !slices.Contains(has, name) {
			return fmt.Errorf("LoRA on %q, which %s does not have; its modules are %s", name, c.Arch.Name,
				strings.Join(has, ", "))
		}
	}
	return nil
}

// check returns an error for an invalid LoRA.
func (l LoRA) check() error {
	if l.Rank < 1 {
		return fmt.Errorf("LoRA rank %d, want at least 1", l.Rank)
	}
	for _, name := range l.Modules {
		if !slices.Contains(ModuleNames(), name) {
			return fmt.Errorf("LoRA on %q; the modules are %s", name, strings.Join(ModuleNames(), ", "))
		}
	}
	return nil
}

// Adapter is one immutable version of a LoRA, packed for the kernels. It is safe for concurrent use.
type Adapter struct {
	LoRA    LoRA
	modules []string // that have an addition
	layers  []loraLayer
	head    *nn.LoRA // or nil
}

// loraLayer is the additions of one block in the order of targets; those that are not trained are nil.
type loraLayer []*nn.LoRA

func (l loraLayer) qkv() *nn.LoRA         { return l[0] }
func (l loraLayer) o() *nn.LoRA           { return l[1] }
func (l loraLayer) gateUp(e int) *nn.LoRA { return l[2+2*e] } // of expert e; without experts there is one
func (l loraLayer) down(e int) *nn.LoRA   { return l[3+2*e] }

// target is the additions of one fused linear; name is the module's, or empty for the head.
type target struct {
	at    string
	in    int
	outs  []projection
	bias  bool
	share int // a row passes through that many linears of the kind; 0 is 1
}

// rank is that of an addition to t. The experts of a row have the rank of the whole LoRA together, but each at least 1
// (Schulman et al., LoRA Without Regret, 2025).
func (t target) rank(whole int) int { return max(1, whole/max(1, t.share)) }

// PEFTPrefix is PEFT's prefix of the names of a causal language model's modules.
const PEFTPrefix = "base_model.model."

func (t target) a(p int) spec {
	return spec{PEFTPrefix + t.at + t.outs[p].name + ".lora_A.weight", nil}
}
func (t target) b(p int) spec {
	return spec{PEFTPrefix + t.at + t.outs[p].name + ".lora_B.weight", nil}
}

// of returns the projections of t that have an addition.
func (t target) of(modules []string) target {
	var outs []projection
	for _, p := range t.outs {
		if slices.Contains(modules, p.name) {
			outs = append(outs, p)
		}
	}
	t.outs = outs
	return t
}

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

// targets returns the fused linears of layer l in the order qkv, o, gateUp, down; with experts, gateUp and down of
// each of them.
func targets(c Config, l int) []target {
	at := fmt.Sprintf("model.layers.%d.", l)
	list := []target{{at: at + c.mixer(l), in: c.Dim, outs: c.mixerInputs(l), bias: c.Arch.QKVBias},
		{at: at + c.mixer(l), in: c.outWidth(l), outs: []projection{{c.outName(l), c.Dim, 0}}, bias: c.Arch.Bias}}
	if c.sparse(l) {
		return append(list, expertTargets(c, at)...)
	}
	first, names, second, last := c.Arch.mlpNames()
	gateUp := target{at: at + first, in: c.Dim}
	for i, name := range names {
		out := 2 * c.FF / len(names)
		gateUp.outs = append(gateUp.outs, projection{name, out, i * out})
	}
	return append(list, gateUp, target{at: at + second, in: c.FF, outs: []projection{{last, c.Dim, 0}}})
}

func headTarget(c Config) target {
	return target{in: c.Dim, outs: []projection{{"lm_head", c.Vocab, 0}}}
}

// specs lists the tensors of an adapter on a model.
func (l LoRA) specs(c Config) []spec {
	var list []spec
	for _, t := range l.targets(c) {
		list = append(list, t.specs(t.rank(l.Rank))...)
	}
	return list
}

// NewLoRA returns the tensors of a new adapter: A uniform in ±1/sqrt(inputs) and B zero, so that the adapter adds
// nothing. Each tensor is a function of seed and its name.
func (w *Weights) NewLoRA(l LoRA, seed uint64) []Tensor {
	var out []Tensor
	for _, s := range l.specs(w.Config) {
		t := Tensor{Name: s.name, Shape: s.shape, Data: make([]float32, s.len())}
		if isA(s.name) {
			bound := 1 / math.Sqrt(float64(s.shape[1]))
			r := stream(seed, s.name)
			for i := range t.Data {
				t.Data[i] = float32(bound * (float64(2*float64(r.Float64())) - 1))
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
	if err := l.check(); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	data, err := match(l.specs(w.Config), tensors)
	if err != nil {
		return nil, fmt.Errorf("model: LoRA %+v: %w", l, err)
	}
	modules := l.ModulesOn(w.Config)
	pack := func(t target) *nn.LoRA {
		t = t.of(modules)
		if len(t.outs) == 0 {
			return nil
		}
		var cols []int
		var A, B [][]float32
		for p, out := range t.outs {
			cols, A, B = append(cols, out.col), append(A, data[t.a(p).name]), append(B, data[t.b(p).name])
		}
		rank := t.rank(l.Rank)
		return nn.NewLoRA(k, rank, float32(l.Alpha/float64(rank)), t.in, w.Config.BF16, cols, A, B)
	}
	a := &Adapter{LoRA: l, modules: modules, head: pack(headTarget(w.Config))}
	for i := range w.Config.Layers {
		var layer loraLayer
		for _, t := range targets(w.Config, i) {
			layer = append(layer, pack(t))
		}
		a.layers = append(a.layers, layer)
	}
	return a, nil
}

// Tensors returns the tensors of the adapter as float32, sorted by name. The values are the packed ones, so NewAdapter
// of them gives the same adapter.
func (a *Adapter) Tensors(c Config) []Tensor {
	var out []Tensor
	unpack := func(t target, l *nn.LoRA) {
		if l == nil {
			return
		}
		t = t.of(a.modules)
		A, B := l.Unpack()
		for p, s := range t.specs(l.Rank) {
			data := [][]float32{A[p/2], B[p/2]}[p%2]
			out = append(out, Tensor{Name: s.name, Shape: s.shape, Data: data})
		}
	}
	for i, l := range a.layers {
		for j, t := range targets(c, i) {
			unpack(t, l[j])
		}
	}
	unpack(headTarget(c), a.head)
	slices.SortFunc(out, func(a, b Tensor) int { return strings.Compare(a.Name, b.Name) })
	return out
}
