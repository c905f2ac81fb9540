package model

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
)

// reference is a model with one adapter in float64, one token at a time, as the papers write it: no pages, no batches,
// no trees.
type reference struct {
	c       Config
	weights map[string][]float64
	scale   float64 // of the adapter's products
}

func newReference(c Config, full, adapter []Tensor, l LoRA) reference {
	r := reference{c: c, weights: map[string][]float64{}, scale: l.Alpha / float64(l.Rank)}
	for _, x := range append(append([]Tensor{}, full...), adapter...) {
		data := make([]float64, len(x.Data))
		for i, v := range x.Data {
			data[i] = float64(v)
		}
		r.weights[x.Name] = data
	}
	return r
}

// times returns W·x.
func times(w, x []float64) []float64 {
	y := make([]float64, len(w)/len(x))
	for i := range y {
		sum, row := 0.0, w[i*len(x):][:len(x)]
		for j, v := range x {
			sum += float64(row[j] * v)
		}
		y[i] = sum
	}
	return y
}

// linear returns the projection name of x, with its bias and its addition.
func (r reference) linear(name, weight string, x []float64) []float64 {
	y := times(r.weights[weight], x)
	for i, b := range r.weights[name+".bias"] {
		y[i] += b
	}
	if a, ok := r.weights[PEFTPrefix+name+".lora_A.weight"]; ok {
		for i, v := range times(r.weights[PEFTPrefix+name+".lora_B.weight"], times(a, x)) {
			y[i] += float64(r.scale * v)
		}
	}
	return y
}

func (r reference) norm(w, x []float64) []float64 {
	y, sum := make([]float64, len(x)), 0.0
	for _, v := range x {
		sum += float64(v * v)
	}
	inverse := 1 / math.Sqrt(sum/float64(len(x))+float64(r.c.Eps))
	for i, v := range x {
		y[i] = v * inverse * w[i]
	}
	return y
}

// heads normalizes each head of x, if the family does, and turns it to its position.
func (r reference) heads(norm string, x []float64, pos int) {
	n := r.c.HeadDim
	for ; len(x) > 0; x = x[n:] {
		if w, ok := r.weights[norm]; ok {
			copy(x, r.norm(w, x[:n]))
		}
		for i := range n / 2 {
			sin, cos := math.Sincos(float64(pos) * math.Pow(r.c.RoPE.Theta, -2*float64(i)/float64(n)))
			a, b := x[i], x[i+n/2]
			x[i], x[i+n/2] = float64(a*cos)-float64(b*sin), float64(b*cos)+float64(a*sin)
		}
	}
}

// attend returns the mean of values that head h of q asks for.
func (r reference) attend(h int, q []float64, keys, values [][]float64) []float64 {
	n, kv := r.c.HeadDim, h/(r.c.Heads/r.c.KVHeads)
	scores, out, sum := make([]float64, len(keys)), make([]float64, n), 0.0
	for t := range keys {
		for i := range n {
			scores[t] += float64(q[h*n+i] * keys[t][kv*n+i])
		}
		scores[t] = math.Exp(scores[t] / math.Sqrt(float64(n)))
		sum += scores[t]
	}
	for t := range values {
		for i := range n {
			out[i] += float64(scores[t] / sum * values[t][kv*n+i])
		}
	}
	return out
}

// loss returns -sum(weights[i] * log p(tokens[i+1] | tokens[:i+1])).
func (r reference) loss(tokens []int32, weights []float32) (loss float64) {
	keys, values := make([][][]float64, r.c.Layers), make([][][]float64, r.c.Layers)
	for t, token := range tokens {
		x := append([]float64{}, r.weights[EmbedName][int(token)*r.c.Dim:][:r.c.Dim]...)
		for l := range r.c.Layers {
			x = r.block(fmt.Sprintf("model.layers.%d.", l), x, t, &keys[l], &values[l])
		}
		if weights[t] != 0 {
			head := HeadName
			if r.c.Tied {
				head = EmbedName
			}
			logits := r.linear("lm_head", head, r.norm(r.weights[r.c.finalNorm()], x))
			sum := 0.0
			for _, v := range logits {
				sum += math.Exp(v)
			}
			loss -= float64(float64(weights[t]) * (logits[tokens[t+1]] - math.Log(sum)))
		}
	}
	return loss
}

// block is one layer for the token at pos.
func (r reference) block(at string, x []float64, pos int, keys, values *[][]float64) []float64 {
	linear := func(name string, x []float64) []float64 { return r.linear(at+name, at+name+".weight", x) }
	in := r.norm(r.weights[at+"input_layernorm.weight"], x)
	q, k, v := linear("self_attn.q_proj", in), linear("self_attn.k_proj", in), linear("self_attn.v_proj", in)
	r.heads(at+"self_attn.q_norm.weight", q, pos)
	r.heads(at+"self_attn.k_norm.weight", k, pos)
	*keys, *values = append(*keys, k), append(*values, v)
	var all []float64
	for h := range r.c.Heads {
		all = append(all, r.attend(h, q, *keys, *values)...)
	}
	x = sum(x, linear("self_attn.o_proj", all))
	in = r.norm(r.weights[at+"post_attention_layernorm.weight"], x)
	gate, up := linear("mlp.gate_proj", in), linear("mlp.up_proj", in)
	for i, g := range gate {
		gate[i] = g / (1 + math.Exp(-g)) * up[i]
	}
	return sum(x, linear("mlp.down_proj", gate))
}

func sum(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] + b[i]
	}
	return out
}

// A gradient through shared rows is as near to the differences of a float64 model as the gradient of each sequence
// apart: for sequences that part at every place of a page, nest, repeat, and are masked. Gemma is of another block; its
// gradients are PyTorch's in TestGolden.
func TestTreesAgainstFloat64(t *testing.T) {
	k, err := kernel.Best(kernel.Blocked)
	if err != nil {
		t.Fatal(err)
	}
	r := runnerOn(t, k, 2)
	for i, of := range []struct {
		arch   int
		bf16   bool
		within float64
	}{{0, false, 1e-4}, {1, false, 1e-4}, {2, false, 1e-4}, {0, true, 0.4}} {
		m := newExact(t, k, of.bf16, of.arch)
		shared, apart := m.errors(t, r, uint64(i))
		t.Logf("%s, bf16 %v: shared %.2g, apart %.2g", m.c.Arch.Type, of.bf16, shared, apart)
		if shared > of.within || shared > 1.25*apart+1e-6 {
			t.Errorf("%s, bf16 %v: the gradient differs by %v of its norm from float64's, %v without sharing",
				m.c.Arch.Type, of.bf16, shared, apart)
		}
	}
}

// errors returns the distances of the gradients of a tree, with shared rows and without, to central differences in
// float64, along some directions.
func (m exact) errors(t *testing.T, r *Runner, seed uint64) (shared, apart float64) {
	list, norm := m.parting(seed), 0.0
	_, alone := m.teach(t, r, r.NewTape(false), 1, list, 0)
	_, tree := m.teach(t, r, r.NewTape(false), 1, list, 1<<20)
	ref := newReference(m.c, m.w.Tensors(), m.tensors[0], m.loras[0])
	for i := range 2 {
		var want, inTree, inAlone float64
		const step = 1e-6
		for _, by := range []float64{step, -step} {
			moved := newReference(m.c, nil, m.tensors[0], m.loras[0])
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			inTree, inAlone = 0, 0
			for j, x := range tree.T {
				for at := range x.Data {
					v := random.NormFloat64()
					moved.weights[x.Name][at] += float64(by * v)
					inTree += float64(v * float64(x.Data[at]))
					inAlone += float64(v * float64(alone.T[j].Data[at]))
				}
			}
			maps.Copy(ref.weights, moved.weights)
			for _, s := range list {
				want += ref.loss(s.tokens, s.weights) / (2 * by)
			}
		}
		norm += want * want
		shared += (inTree - want) * (inTree - want)
		apart += (inAlone - want) * (inAlone - want)
	}
	return math.Sqrt(shared / norm), math.Sqrt(apart / norm)
}

// parting returns sequences that leave a trunk at eight places of a page, which seed chooses, one that repeats another,
// one that ends in the trunk, and one that leaves a branch; weights are 0 at some tokens.
func (m exact) parting(seed uint64) (list []taught) {
	random := rand.New(rand.NewPCG(seed, 6))
	trunk := m.tokens("trunk", 2*kernel.PageLen+3)
	add := func(tokens []int32) {
		s := taught{tokens, make([]float32, len(tokens))}
		for i := range len(tokens) - 1 {
			s.weights[i] = float32(random.IntN(4)) - 1
		}
		list = append(list, s)
	}
	for i := range 8 {
		at := kernel.PageLen + (int(seed)+4*i)%kernel.PageLen
		add(append(append([]int32{}, trunk[:at]...), m.tokens(fmt.Sprint("branch", i), 3)...))
	}
	add(list[0].tokens)
	add(trunk[:kernel.PageLen+7])
	last := list[1].tokens
	add(append(append([]int32{}, last[:len(last)-2]...), m.tokens("twig", 2)...))
	return list
}
