package model

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// Tensor is a trainable or saved array, row-major, by its Hugging Face or PEFT name.
type Tensor struct {
	Name  string
	Shape []int
	Data  []float32
}

func (t Tensor) String() string { return fmt.Sprintf("%s%v", t.Name, t.Shape) }

// Names of the parameters outside the layers.
const (
	EmbedName = "model.embed_tokens.weight"
	HeadName  = "lm_head.weight"
)

// spec is the name and shape of a parameter.
type spec struct {
	name  string
	shape []int
}

func (s spec) len() int {
	n := 1
	for _, d := range s.shape {
		n *= d
	}
	return n
}

// match returns the data of tensors by name. They must match specs, in any order.
func match(specs []spec, tensors []Tensor) (map[string][]float32, error) {
	shapes := make(map[string]spec, len(specs))
	for _, s := range specs {
		shapes[s.name] = s
	}
	data := make(map[string][]float32, len(tensors))
	for _, t := range tensors {
		s, ok := shapes[t.Name]
		if _, twice := data[t.Name]; twice || !ok {
			return nil, fmt.Errorf("tensor %q does not belong to the model, or is given twice", t.Name)
		}
		if !slices.Equal(t.Shape, s.shape) || len(t.Data) != s.len() {
			return nil, fmt.Errorf("tensor %q has shape %v and %d values, want %v", t.Name, t.Shape, len(t.Data),
				s.shape)
		}
		data[t.Name] = t.Data
	}
	for _, s := range specs {
		if _, ok := data[s.name]; !ok {
			return nil, fmt.Errorf("tensor %q is missing", s.name)
		}
	}
	return data, nil
}

// parameters lists the full parameters of a model in the order of its computation.
func parameters(c Config) []spec {
	list := []spec{{EmbedName, []int{c.Vocab, c.Dim}}}
	for l := range c.Layers {
		at := fmt.Sprintf("model.layers.%d.", l)
		add := func(name string, shape ...int) { list = append(list, spec{at + name, shape}) }
		attn, afterAttn, mlp, afterMLP := c.normNames()
		add(attn, c.Dim)
		mixer, all := c.mixer(l), targets(c, l)
		for _, p := range storedInputs(c, l) {
			add(mixer+p.name+".weight", p.out, c.Dim)
			if all[0].bias {
				add(mixer+p.name+".bias", p.out)
			}
		}
		switch {
		case c.linear(l):
			for _, s := range mixerVectors(c) {
				add(s.name, s.shape...)
			}
		case c.Arch.QKNorm:
			query, key := c.headNorms()
			add(query, c.HeadDim)
			add(key, c.HeadDim)
		}
		add(mixer+c.outName(l)+".weight", c.Dim, c.outWidth(l))
		if all[1].bias {
			add(mixer+c.outName(l)+".bias", c.Dim)
		}
		if c.Arch.Sinks {
			add(sinksName, c.Heads)
		}
		if afterAttn != "" {
			add(afterAttn, c.Dim)
		}
		add(mlp, c.Dim)
		if c.sparse(l) {
			add(c.routerName()+".weight", c.Experts.Experts, c.Dim)
			if c.Arch.Bias {
				add(c.routerName()+".bias", c.Experts.Experts)
			}
		}
		for _, t := range all[2:] {
			for _, p := range t.outs {
				list = append(list, spec{t.at + p.name + ".weight", []int{p.out, t.in}})
				if t.bias {
					list = append(list, spec{t.at + p.name + ".bias", []int{p.out}})
				}
			}
		}
		if afterMLP != "" {
			add(afterMLP, c.Dim)
		}
	}
	list = append(list, spec{c.finalNorm(), []int{c.Dim}})
	if !c.Tied {
		list = append(list, spec{HeadName, []int{c.Vocab, c.Dim}})
	}
	return list
}

// projection is one of the matrices fused into a Linear: the columns [col, col+out) of its result.
type projection struct {
	name     string
	out, col int
}

func attnInputs(c Config) []projection {
	if c.Arch.QKV != "" {
		return []projection{{c.Arch.QKV, c.qWidth() + 2*c.KVDim(), 0}}
	}
	return []projection{{"q_proj", c.qWidth(), 0}, {"k_proj", c.KVDim(), c.qWidth()},
		{"v_proj", c.KVDim(), c.qWidth() + c.KVDim()}}
}

// RandomTensors returns the full parameters of an untrained model: matrices are normal with deviation 0.02, those that
// write to the residual stream divided by sqrt(2*Layers); norms are 1 and biases 0. Each tensor is a function of seed
// and its name.
func RandomTensors(c Config, seed uint64) []Tensor {
	var out []Tensor
	for _, s := range parameters(c) {
		t := Tensor{Name: s.name, Shape: s.shape, Data: make([]float32, s.len())}
		std := 0.02
		switch {
		case strings.HasSuffix(s.name, "linear_attn.norm.weight"):
			for i := range t.Data {
				t.Data[i] = 1
			}
			std = 0
		case strings.HasSuffix(s.name, "norm.weight"):
			for i := range t.Data {
				t.Data[i] = 1 - c.normOffset()
			}
			std = 0
		case strings.HasSuffix(s.name, ".bias"):
			std = 0
		case strings.HasSuffix(s.name, "o_proj.weight"), strings.HasSuffix(s.name, "out_proj.weight"),
			strings.HasSuffix(s.name, "down_proj.weight"), strings.HasSuffix(s.name, "output_linear.weight"),
			strings.HasSuffix(s.name, ".w2.weight"):
			std /= math.Sqrt(float64(2 * c.Layers))
		}
		if std > 0 {
			r := stream(seed, s.name)
			for i := range t.Data {
				t.Data[i] = float32(std * r.NormFloat64())
			}
		}
		out = append(out, t)
	}
	return out
}

// stream is the generator of one tensor.
func stream(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
